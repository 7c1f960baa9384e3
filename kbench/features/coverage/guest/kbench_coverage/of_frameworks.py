"""What only the cases of public names ask of a framework: tensors of arrays, numbers of tensors, and to forget.

Keras is imported by functions alone: the phase `import` is timed.
"""

import functools
from typing import TYPE_CHECKING, Any, List, Tuple

import numpy as np

if TYPE_CHECKING:
    from kbench_guest.frameworks.keras_models import KerasModels

OFTEN = 100  # cases, after which JAX drops what it has compiled


def constant(framework: "KerasModels", value: np.ndarray) -> Any:
    """An array as a tensor of the framework."""
    import keras

    if not framework.eager:
        return keras.backend.variable(value, dtype=str(value.dtype))
    return keras.ops.convert_to_tensor(value) if hasattr(keras, "ops") else framework.module.constant(value)


def evaluated(framework: "KerasModels", tensor: Any) -> np.ndarray:
    """The numbers of a tensor, or of what a function gave instead of one."""
    import keras

    if isinstance(tensor, int) and not isinstance(tensor, bool):
        return np.asarray(tensor, "int32")  # as Keras has it
    if isinstance(tensor, (bool, float, np.ndarray)) or (framework.eager and isinstance(tensor, np.generic)):
        return np.asarray(tensor)
    return framework.values([tensor])[0] if framework.eager else np.asarray(keras.backend.eval(tensor))


def values_of(framework: "KerasModels", model: Any) -> List[Any]:
    """The values of all of its weights."""
    import keras

    if keras.backend.backend() == "mxnet":  # it reads what the last model that was compiled has trained
        from keras.backend import mxnet_backend

        mxnet_backend.set_model(model)
    return framework.values(model.weights)


def file_formats() -> Tuple[str, ...]:
    """In which Keras saves models, its own first."""
    import keras

    return (".keras", ".h5") if hasattr(keras, "ops") else (".h5",)


def compile_quickly(framework: "KerasModels") -> None:
    """Called before many small things are compiled that are computed once."""
    import keras

    if keras.backend.backend() == "jax":
        framework.module.config.update("jax_disable_most_optimizations", True)  # a third of the time


def order_all_updates(framework: "KerasModels") -> None:
    """Let every optimizer that is made from now on order its updates."""
    import keras

    initialize = keras.optimizers.Optimizer.__init__

    @functools.wraps(initialize)
    def ordered(optimizer: Any, *args: Any, **kwargs: Any) -> None:
        initialize(optimizer, *args, **kwargs)
        framework.order_updates(optimizer)

    keras.optimizers.Optimizer.__init__ = ordered


class Forgetting:
    """Drops the models of earlier cases, if they share a graph: one that cannot be run would stop the others, too."""

    _cases = 0

    def forget(self, framework: "KerasModels") -> None:
        """Called before each try of a case. On JAX what was compiled stays in memory: megabytes of each model."""
        import keras

        self._cases += 1
        if keras.backend.backend() == "jax" and self._cases % OFTEN == 0:
            framework.module.clear_caches()
        elif not framework.eager and hasattr(keras.backend, "clear_session"):  # that is, on TensorFlow
            keras.backend.clear_session()
