"""Steps on trial in Keras 3: those of the very model, which reads what its layers do when it makes its function."""

import contextlib
import functools
import sys
from typing import Any, Callable, Dict, Iterator, List

import keras

from kbench_guest.frameworks.trials import DRAWN, Trial, random_states, replaced


class Keras3Trial(Trial):
    """The very model: whatever its layers do is read anew when its training function is made."""

    @contextlib.contextmanager
    def steps(self, samples: int) -> Iterator[None]:
        """A context in which the model may train on batches of so many samples."""
        model = self.model
        as_it_was = {name: getattr(model, name) for name in ("run_eagerly", "train_function", "steps_per_execution")}
        backend = sys.modules["keras.src.backend"]
        functions = fixed_noise(lambda: self._framework.when_run(lambda: self.level), self.asked)
        if not model.optimizer.built:
            model.optimizer.build(model.trainable_variables)
        self._keep(model.weights + model.optimizer.variables)
        seeds = [variable for variable in model.variables if id(variable) not in self._state] + _global_seed()
        of_seeds = self._framework.values(seeds)
        model.train_function, model.steps_per_execution = None, 1
        try:
            with contextlib.ExitStack() as stack:
                stack.enter_context(replaced(backend.random, functions))
                stack.enter_context(self._framework.cheap_steps(model))
                stack.enter_context(self._framework.random_state(model))
                stack.enter_context(random_states())
                stack.enter_context(_traced_anew(model))
                yield
        finally:
            for name, value in as_it_was.items():
                setattr(model, name, value)
            self.restart(0.0)
            self._framework.set_values(seeds, of_seeds)


@contextlib.contextmanager
def _traced_anew(model: Any) -> Iterator[None]:
    """A context in which the model's step is another function for JAX, which keeps what it traced of the same one for
    batches of the same shape: with the random numbers of then.
    """
    own, step = vars(model).get("train_step"), model.train_step

    @functools.wraps(step)
    def anew(*args: Any, **kwargs: Any) -> Any:
        return step(*args, **kwargs)

    vars(model)["train_step"] = anew
    try:
        yield
    finally:
        del vars(model)["train_step"]
        if own is not None:
            vars(model)["train_step"] = own


def _global_seed() -> List[Any]:
    """The state from which keras.random draws where it is given no seed, if there is one yet."""
    from keras.src.backend.common import global_state

    made = global_state.get_global_attribute("global_seed_generator")
    return [] if made is None else [made.state]


def fixed_noise(level: Callable[..., Any], asked: List[str]) -> Dict[str, Callable[..., Any]]:
    """{a function of keras.random: its replacement}. level(): the number when a step runs; asked: a list of calls."""
    ops = keras.ops

    def dropout(inputs: Any, rate: Any, noise_shape: Any = None, seed: Any = None) -> Any:
        asked.append("dropout")
        return inputs * ops.cast(1.0 - level() * rate, inputs.dtype)

    def normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Any = None) -> Any:
        asked.append("normal")
        return ops.full(shape, level() * stddev + mean, dtype=dtype)

    def uniform(shape: Any, minval: Any = 0.0, maxval: Any = 1.0, dtype: Any = None, seed: Any = None) -> Any:
        asked.append("uniform")
        share = level() * (DRAWN[1] - DRAWN[0]) + DRAWN[0]
        return ops.full(shape, share * (maxval - minval) + minval, dtype=dtype)

    def randint(shape: Any, minval: Any, maxval: Any, dtype: Any = "int32", seed: Any = None) -> Any:
        asked.append("randint")
        return ops.full(shape, minval, dtype=dtype)

    return {
        "dropout": dropout,
        "normal": normal,
        "truncated_normal": normal,
        "uniform": uniform,
        "randint": randint,
    }
