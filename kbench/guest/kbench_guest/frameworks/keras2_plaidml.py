"""Keras 2 on PlaidML, which makes updates one after another, and gradients of some sums too large."""

from typing import Any, Optional, Sequence, Set, Tuple

from keras import backend as K

from kbench_guest.device import Pending
from kbench_guest.frameworks import keras2, recurrent


class PlaidML(keras2.Keras2):
    def __init__(self) -> None:
        import plaidml  # Keras names a module below it

        self.module = plaidml

    def order_updates(self, made: Any) -> None:
        """Let an optimizer change weights after its own variables, for which it needs all gradients, and count last.

        PlaidML updates one after another, and computes what each needs then: a gradient, if the model has metrics, by
        kernels of the next step; and Adam always begins with step 2.
        """
        updates = made.get_updates

        def get_updates(loss: Any, params: Any) -> Any:
            count, *others = updates(loss=loss, params=params)
            held = {id(one) for one in params}
            made.updates = sorted(others, key=lambda pair: id(pair[0]) in held) + [count]
            return made.updates

        made.get_updates = get_updates

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


INTERFACE = PlaidML
