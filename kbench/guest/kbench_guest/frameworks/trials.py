"""Steps on trial: a model trains on a batch through Keras's own training function, and is then as it was before.

The random numbers of its layers are fixed ones (fixed_noise.py), so that the step is the same on every backend.
"""

import contextlib
import functools
import random
import sys
import tempfile
from typing import Any, Dict, Iterable, Iterator, List, Tuple

import keras
import numpy as np

from kbench_guest.frameworks import fixed_noise
from kbench_guest.frameworks.layers import layers

MOST_NUMBERS = 10**8  # of a state that is put away: 400 MB


class Trial:
    """asked: grows when a layer asks for a random number. model: what trains, with the weights of that on trial."""

    level = 0.0

    def __init__(self, framework: Any, model: Any) -> None:
        self._framework, self.model = framework, model
        self.asked: List[str] = []
        # id of a variable -> (the variable, its value before the first step)
        self._state: Dict[int, Tuple[Any, Any]] = {}
        self._away: Any = None  # the file that has the values meanwhile

    def put_away(self) -> bool:
        """Keep the state in a file, and no longer in memory; returns whether it is small enough for that.

        `steps` takes it back, so that the first step can be taken again. It is not where the disk is full, either.
        """
        if sum(np.size(value) for _, value in self._state.values()) > MOST_NUMBERS:
            return False
        away = tempfile.TemporaryFile()  # noqa: SIM115  # until training has ended
        try:
            for _, value in self._state.values():
                np.save(away, value)
        except OSError:
            away.close()
            return False
        self._away = away
        self._state = {place: (variable, None) for place, (variable, _) in self._state.items()}
        return True

    def _take_back(self) -> None:
        if self._away is not None:
            self._away.seek(0)
            for place, (variable, _) in self._state.items():
                self._state[place] = variable, np.load(self._away)
            self._away.close()
            self._away = None

    def _keep(self, variables: Iterable[Any]) -> None:
        self._take_back()
        new = [variable for variable in variables if id(variable) not in self._state]
        for variable, value in zip(new, self._framework.values(new)):
            self._state[id(variable)] = (variable, value)

    def notes(self) -> List[str]:
        """Sentences on what was made equal for the step, and is not in training."""
        return []

    def restart(self, level: float) -> None:
        """Everything but random states is as before the first step; what is random is fixed at this level."""
        self.level = level
        kept = list(self._state.values())
        self._framework.set_values([variable for variable, _ in kept], [value for _, value in kept])
        if getattr(self.model, "stateful", False):  # in Keras 2, whose weights are without the states
            self.model.reset_states()


@contextlib.contextmanager
def random_states() -> Iterator[None]:
    """A context after which Python's and numpy's random states are as before."""
    of_python, of_numpy = random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        random.setstate(of_python)
        np.random.set_state(of_numpy)


class Keras3Trial(Trial):
    """The very model: whatever its layers do is read anew when its training function is made."""

    @contextlib.contextmanager
    def steps(self, samples: int) -> Iterator[None]:
        """A context in which the model may train on batches of so many samples."""
        model = self.model
        as_it_was = {name: getattr(model, name) for name in ("run_eagerly", "train_function", "steps_per_execution")}
        backend = sys.modules["keras.src.backend"]
        functions = fixed_noise.keras3(lambda: self._framework.when_run(lambda: self.level), self.asked)
        if not model.optimizer.built:
            model.optimizer.build(model.trainable_variables)
        self._keep(model.weights + model.optimizer.variables)
        seeds = [variable for variable in model.variables if id(variable) not in self._state] + _global_seed()
        of_seeds = self._framework.values(seeds)
        model.train_function, model.steps_per_execution = None, 1
        try:
            with contextlib.ExitStack() as stack:
                stack.enter_context(fixed_noise.replaced(backend.random, functions))
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
            model.reset_metrics()


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


class Keras2OnTensorFlow2Trial(Trial):
    """The very model, run eagerly. generator: the class of which each random layer has one."""

    def __init__(self, framework: Any, model: Any, generator: Any) -> None:
        super().__init__(framework, model)
        self._generator = generator

    @contextlib.contextmanager
    def steps(self, samples: int) -> Iterator[None]:
        """A context in which the model may train on batches of so many samples."""
        model = self.model
        eager, function, steps = model.run_eagerly, model.train_function, self._framework.steps_of_a_call(model)
        functions = fixed_noise.random_generator(lambda: self.level, self.asked)
        build = getattr(model.optimizer, "build", None)
        if build is not None:  # otherwise its first step makes its variables, which are zeros
            build(model.trainable_variables)
        self._keep(model.weights + self._framework.optimizer_variables(model.optimizer))
        model.run_eagerly, model.train_function = True, None
        if steps > 1:
            model._steps_per_execution.assign(1)
        try:
            with fixed_noise.replaced(self._generator, functions), random_states():
                yield
        finally:
            model.run_eagerly, model.train_function = eager, function
            if steps > 1:
                model._steps_per_execution.assign(steps)
            self.restart(0.0)
            model.reset_metrics()


class Keras2Trial(Trial):
    """A model of the same layers, called anew: in Keras 2 what they do at random is fixed in the model's graph."""

    def __init__(self, framework: Any, model: Any, example: Any, device: str) -> None:
        super().__init__(framework, model)
        self._of, self._example, self._device = model, example, device
        self._levels: List[Any] = []  # variables

    def notes(self) -> List[str]:
        if not of_activities(self._of):
            return []
        return ["Keras 2 sums activity regularizers over the samples of a batch, where Keras 3 takes their mean"]

    def _level(self, rank: int) -> Any:
        self._levels.append(self._framework.one_number(rank))
        return self._levels[-1]

    def restart(self, level: float) -> None:
        super().restart(level)
        shapes = [self._framework.shape_of(variable) for variable in self._levels]
        self._framework.set_values(self._levels, [np.full(shape, level, "float32") for shape in shapes])
        self._framework.restart_optimizer(self.model)

    @contextlib.contextmanager
    def steps(self, samples: int) -> Iterator[None]:
        """A context in which the model may train on batches of so many samples."""
        of = self._of
        self._keep(list(of.weights) + self._framework.rates(of.optimizer))
        super().restart(0.0)
        optimizer = self._framework.optimizer_on_trial(of)
        try:
            functions = fixed_noise.keras2(self._level, self.asked)
            with fixed_noise.replaced(keras.backend, functions), means_of_activities(of, samples):
                inputs, outputs = called_again(of)
            self.model = keras.models.Model(inputs, outputs)
            options = self._framework.compile_options(self._device)
            if getattr(self._example, "LOSS_WEIGHTS", None):
                options["loss_weights"] = self._example.LOSS_WEIGHTS
            # With its metrics: a framework may order a step otherwise for them.
            options["metrics"] = self._framework.metrics_of(of)
            self.model.compile(loss=self._example.LOSS, optimizer=optimizer, **options)
            with random_states():
                self.model._make_train_function()
                self._keep(self._framework.optimizer_variables(optimizer))
                yield
        finally:
            super().restart(0.0)
            self._framework.end_trial(of)
            self.model = of  # the other one, with all that is compiled for it, is made anew for further steps


def of_activities(model: Any) -> List[Any]:
    """Its layers with an activity regularizer."""
    return [layer for layer, _ in layers(model) if getattr(layer, "activity_regularizer", None) is not None]


@contextlib.contextmanager
def means_of_activities(model: Any, samples: int) -> Iterator[None]:
    """A context in which activity regularizers are means over the samples, as in Keras 3; Keras 2 sums them."""
    regularized = [(layer, layer.activity_regularizer) for layer in of_activities(model)]
    for layer, regularizer in regularized:
        layer.activity_regularizer = lambda x, sum_of=regularizer: sum_of(x) * (1.0 / samples)
    try:
        yield
    finally:
        for layer, regularizer in regularized:
            layer.activity_regularizer = regularizer


def called_again(model: Any) -> Tuple[Any, Any]:
    """(inputs, outputs) of the model's layers called once more, in the same order, on new inputs."""
    K = keras.backend
    inputs = [
        keras.layers.Input(batch_shape=K.int_shape(tensor), dtype=K.dtype(tensor), name=name)
        for tensor, name in zip(model.inputs, model.input_names)  # data may go by name
    ]
    if not getattr(model, "_is_graph_network", False):  # Python code
        outputs = model(inputs[0] if len(inputs) == 1 else inputs)
        return inputs, outputs
    made = {id(tensor): new for tensor, new in zip(model.inputs, inputs)}
    for depth in sorted(model._nodes_by_depth, reverse=True):
        for node in model._nodes_by_depth[depth]:
            if id(node.output_tensors[0]) in made:
                continue
            taken = [made[id(tensor)] for tensor in node.input_tensors]
            given = node.outbound_layer(taken[0] if len(taken) == 1 else taken, **(node.arguments or {}))
            given = given if isinstance(given, (list, tuple)) else [given]
            made.update((id(tensor), new) for tensor, new in zip(node.output_tensors, given))
    return inputs, [made[id(tensor)] for tensor in model.outputs]
