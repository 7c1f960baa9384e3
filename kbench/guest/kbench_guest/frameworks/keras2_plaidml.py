"""Keras 2 on PlaidML, which makes updates one after another, and gradients of some sums too large."""

import functools
from typing import Any, Callable, Optional, Sequence, Set, Tuple

from keras import backend as K

from kbench_guest.device import Pending
from kbench_guest.frameworks import keras2, recurrent


class PlaidML(keras2.Keras2):
    def __init__(self) -> None:
        import plaidml  # Keras names a module below it

        self.module = plaidml

    def order_updates(self, made: Any) -> None:
        """Let a training function compute all new values before any variable has one.

        PlaidML updates in place, and what it computes later reads the new value: beside a metric, gradients of first
        layers that of kernels above them, and Adam always the count of the next step.
        """
        if not hasattr(K.function, "__wrapped__"):
            K.function = in_two(K.function)

    def order_of_updates(self, ordered: bool) -> str:
        return "in order" if ordered else "in no stated order"

    def correct_normalization(self) -> None:
        """Let nothing be used both broadcast and by itself: the latter's gradient counts once for each repetition.

        Of images Keras's function reshapes the mean, which its variance takes as it is, and gamma and beta, which
        prediction takes as they are.
        """

        def normalize_batch_in_training(
            x: Any, gamma: Any, beta: Any, reduction_axes: Sequence[int], epsilon: float = 1e-3
        ) -> Tuple[Any, Any, Any]:
            axes, rank = list(reduction_axes), K.ndim(x)
            mean, variance = (of(x, axis=axes, keepdims=True) for of in (K.mean, K.var))
            if rank - 1 in axes:  # then prediction reshapes them, too
                shape = [1 if axis in axes else K.int_shape(x)[axis] for axis in range(rank)]
                gamma, beta = (one if one is None else K.reshape(one, shape) for one in (gamma, beta))
            normalized = K.batch_normalization(x, mean, variance, beta, gamma, epsilon=epsilon)
            return normalized, K.squeeze(mean), K.squeeze(variance)

        K.normalize_batch_in_training = normalize_batch_in_training

    def device(self, model: Any) -> str:
        return "cpu" if all("cpu" in name for name in self.module.settings.device_ids) else "gpu"

    def wait(self, model: Any, outputs: Any = None) -> None:
        for weight in list(model.trainable_weights) or list(model.weights):
            with weight.var.mmap_current():
                pass

    def pending(self, outputs: Any) -> Optional[Pending]:
        return None

    def kernels_compiled(self, model: Any) -> Set[str]:
        return {recurrent.UNROLLED}  # a loop of Python makes its graph


def in_two(shipped: Callable[..., Any]) -> Callable[..., Any]:
    """`K.function` that computes new values into variables of their own, and then copies them."""

    @functools.wraps(shipped)
    def function(inputs: Any, outputs: Any, updates: Any = None, **more: Any) -> Any:
        if not updates:
            return shipped(inputs, outputs, updates, **more)
        new = [K.variable(K.get_value(variable), dtype=K.dtype(variable)) for variable, _ in updates]
        compute = shipped(inputs, outputs, [(one, value) for one, (_, value) in zip(new, updates)], **more)
        copy = shipped([], [], [(variable, K.identity(one)) for one, (variable, _) in zip(new, updates)])

        def both(given: Any) -> Any:
            found = compute(given)
            copy([])
            return found

        return both

    return function


INTERFACE = PlaidML
