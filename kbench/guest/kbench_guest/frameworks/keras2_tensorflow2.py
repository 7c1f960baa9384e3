"""Keras 2 on TensorFlow 2, `tf.keras` as it was up to TensorFlow 2.15 and as tf-keras goes on with it.

Keras 3 came out of it: what is not said here is as in Keras 3 on TensorFlow.
"""

import contextlib
import sys
from typing import Any, Callable, Dict, Iterator, List, Sequence, Tuple

import keras
import numpy as np

from kbench_guest.frameworks import keras3_tensorflow
from kbench_guest.frameworks.layers import every_layer
from kbench_guest.frameworks.trials import DRAWN, Trial, random_states, replaced


class TensorFlow2(keras3_tensorflow.TensorFlow2):
    holds_metrics = "compiled_metrics"

    def optimizers(self) -> Any:
        # Up to 2.12 `keras.optimizers` has older ones of the same names, and no schedules.
        return self.module.keras.optimizers

    def set_policy(self, policy: str) -> None:
        keras.mixed_precision.set_global_policy(policy)

    def set_jit(self, model: Any, on: bool) -> None:
        model._jit_compile = on  # which 2.11 has no property for
        model.train_function = model.test_function = model.predict_function = None

    def settings_of_model(self, model: Any) -> Dict[str, Any]:
        found = {layer.compute_dtype for layer in every_layer(model)}
        return {"jit": "on" if getattr(model, "_jit_compile", None) else "off", "computes_in": sorted(found)}

    def initial_learning_rate(self, config: Dict[str, Any]) -> Tuple[Any, Any]:
        # How it updates, which Keras 3 leaves to the model.
        for name in ("jit_compile", "is_legacy_optimizer"):
            config.pop(name, None)
        return super().initial_learning_rate(config)

    def steps_of_a_call(self, model: Any) -> int:
        held = getattr(model, "_steps_per_execution", None)  # a variable
        return 1 if held is None else int(held.numpy())

    def made_by_fit(self) -> Any:
        return getattr(_engine("data_adapter"), "DataHandler", None)

    def trial(self, model: Any, example: Any, device: str) -> Trial:
        return OnTrial(self, model, _engine("base_layer").backend.RandomGenerator)

    def optimizer_variables(self, optimizer: Any) -> List[Any]:
        """All variables that a step or a callback changes besides the weights."""
        held = optimizer.variables() if callable(optimizer.variables) else optimizer.variables
        inner = getattr(optimizer, "inner_optimizer", None)  # of a loss that is scaled, in float16
        rate = [optimizer.learning_rate] if hasattr(optimizer.learning_rate, "assign") else []  # no schedule
        return list(held) + rate + [optimizer.iterations] + ([] if inner is None else self.optimizer_variables(inner))

    def device(self, model: Any) -> str:
        return "gpu" if "GPU" in model.weights[0].device else "cpu"

    def dtype_of(self, weight: Any) -> str:
        return str(self.module.as_dtype(weight.dtype).name)

    def values(self, weights: Sequence[Any]) -> List[Any]:
        return [np.array(weight.numpy()) for weight in weights]


def _engine(name: str) -> Any:
    """A module of the folder with Keras's own Layer, whose place differs from version to version."""
    return sys.modules.get(keras.layers.Layer.__module__.rpartition(".")[0] + "." + name)


class OnTrial(Trial):
    """The very model, run eagerly. generator: the class of which each random layer has one."""

    def __init__(self, framework: Any, model: Any, generator: Any) -> None:
        super().__init__(framework, model)
        self._generator = generator

    @contextlib.contextmanager
    def steps(self, samples: int) -> Iterator[None]:
        """A context in which the model may train on batches of so many samples."""
        model = self.model
        eager, function, steps = model.run_eagerly, model.train_function, self._framework.steps_of_a_call(model)
        functions = fixed_noise(lambda: self.level, self.asked)
        build = getattr(model.optimizer, "build", None)
        if build is not None:  # otherwise its first step makes its variables, which are zeros
            build(model.trainable_variables)
        self._keep(model.weights + self._framework.optimizer_variables(model.optimizer))
        model.run_eagerly, model.train_function = True, None
        if steps > 1:
            model._steps_per_execution.assign(1)
        try:
            with replaced(self._generator, functions), random_states():
                yield
        finally:
            model.run_eagerly, model.train_function = eager, function
            if steps > 1:
                model._steps_per_execution.assign(steps)
            self.restart(0.0)


def fixed_noise(level: Callable[..., Any], asked: List[str]) -> Dict[str, Callable[..., Any]]:
    """{a method of RandomGenerator: its replacement}. level(): the number, at once; asked: a list of calls."""

    def dropout(generator: Any, inputs: Any, rate: Any, noise_shape: Any = None) -> Any:
        asked.append("dropout")
        return inputs * (1.0 - level() * rate)

    def normal(
        generator: Any, shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, nonce: Any = None
    ) -> Any:
        asked.append("normal")
        return full(shape, level() * stddev + mean, dtype)

    def uniform(
        generator: Any, shape: Any, minval: Any = 0.0, maxval: Any = None, dtype: Any = None, nonce: Any = None
    ) -> Any:
        asked.append("uniform")
        share = level() * (DRAWN[1] - DRAWN[0]) + DRAWN[0]
        return full(shape, share * ((1.0 if maxval is None else maxval) - minval) + minval, dtype)

    def full(shape: Any, value: Any, dtype: Any) -> Any:
        return keras.backend.zeros_like(keras.backend.ones(shape), dtype) + value

    return {
        "dropout": dropout,
        "random_normal": normal,
        "truncated_normal": normal,
        "random_uniform": uniform,
    }


INTERFACE = TensorFlow2
