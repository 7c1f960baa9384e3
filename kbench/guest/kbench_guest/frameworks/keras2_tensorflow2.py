"""Keras 2 on TensorFlow 2, `tf.keras` as it was up to TensorFlow 2.15 and as tf-keras goes on with it.

Keras 3 came out of it: what is not said here is as in Keras 3 on TensorFlow.
"""

import sys
from typing import Any, Dict, List, Sequence, Tuple

import keras
import numpy as np

from kbench_guest.frameworks import keras3, trials
from kbench_guest.frameworks.layers import every_layer


class TensorFlow2(keras3.TensorFlow2):
    holds_metrics = "compiled_metrics"
    file_formats = (".h5",)

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

    def trial(self, model: Any, example: Any, device: str) -> trials.Trial:
        return trials.Keras2OnTensorFlow2Trial(self, model, _engine("base_layer").backend.RandomGenerator)

    def optimizer_variables(self, optimizer: Any) -> List[Any]:
        """All variables that a step or a callback changes besides the weights."""
        held = optimizer.variables() if callable(optimizer.variables) else optimizer.variables
        inner = getattr(optimizer, "inner_optimizer", None)  # of a loss that is scaled, in float16
        rate = [optimizer.learning_rate] if hasattr(optimizer.learning_rate, "assign") else []  # no schedule
        return list(held) + rate + [optimizer.iterations] + ([] if inner is None else self.optimizer_variables(inner))

    def transfer(self, model: Any, arrays: List[Any]) -> None:
        copied = [self.module.convert_to_tensor(one) for one in arrays + [np.float32(1)]]
        self.wait(model, copied)
        copied[-1].numpy()

    def device(self, model: Any) -> str:
        return "gpu" if "GPU" in model.weights[0].device else "cpu"

    def dtype_of(self, weight: Any) -> str:
        return str(self.module.as_dtype(weight.dtype).name)

    def constant(self, value: np.ndarray) -> Any:
        return self.module.constant(value)

    def values(self, weights: Sequence[Any]) -> List[Any]:
        return [np.array(weight.numpy()) for weight in weights]


def _engine(name: str) -> Any:
    """A module of the folder with Keras's own Layer, whose place differs from version to version."""
    return sys.modules.get(keras.layers.Layer.__module__.rpartition(".")[0] + "." + name)
