"""The changes that a new optimizer makes to weights in ten steps, for gradients that are given."""

from typing import TYPE_CHECKING, Any, Callable, List

import numpy as np

from kbench_coverage.of_frameworks import values_of
from kbench_coverage.training import Arrays, Subject

if TYPE_CHECKING:
    from kbench_guest.frameworks.keras_models import KerasModels

ROWS = 4  # of an embedding, of which a batch of whole numbers repeats some
SIZES = np.array([[1.0], [0.01], [10.0], [0.1]])  # of the rows of its weights
ULPS = 4 * float(np.finfo("float32").eps)  # of a weight, less than which no change of it can tell
FLOOR = 0.01  # of the largest change of a step: a smaller one may be rounded away


def product(y_true: Any, y_pred: Any) -> Any:
    """A loss whose gradient is what is given as right."""
    import keras

    of = getattr(keras, "ops", keras.backend)
    return of.sum(y_true * y_pred, -1)


class Steps(Subject):
    """The changes of a small model's weights in each step, below the weights that it began with."""

    def __init__(
        self,
        framework: "KerasModels",
        make: Callable[[], Any],
        give_weights: Callable[[Any], None],
        module: Any,
        trains: bool,
    ) -> None:
        self._framework, self._make, self._give_weights, self._trains = framework, make, give_weights, trains
        self.made = module, make

    def __call__(self, values: Arrays, eagerly: bool = True) -> Arrays:
        return self.steps(self.model_of(values, eagerly), values)

    def model_of(self, values: Arrays, eagerly: bool = True) -> Any:
        """A new one."""
        import keras

        first = values[0][0]
        layer: Any = keras.layers.Dense(values[-1].shape[-1], input_shape=(len(first),))
        if first.dtype.kind == "i":
            layer = keras.layers.Embedding(ROWS, values[-1].shape[-1], input_shape=first.shape[1:])
        model = keras.models.Sequential([layer])
        self._give_weights(model)
        weights = values_of(self._framework, model)
        scaled = [one * SIZES.astype(one.dtype) if len(one) == ROWS else one for one in weights]
        self._framework.set_values(model.weights, scaled)
        how = {"run_eagerly": True} if eagerly and self._framework.supports_run_eagerly else {}
        model.compile(loss=product, optimizer=self._make(), **how)
        return model

    def steps(self, model: Any, values: Arrays) -> Arrays:
        """What it gives for further steps."""
        found = [self._values(model)]
        for given in zip(*values):
            x, y = given if len(given) > 1 else (np.eye(len(given[0]), dtype=given[0].dtype), given[0])
            if self._trains:
                model.train_on_batch(x, y)
            else:
                self._apply(model, x, y)
            found.append(self._values(model))
        return [np.stack([of[0]] + [one - other for one, other in zip(of[1:], of)]) for of in zip(*found)]

    def _values(self, model: Any) -> List[Any]:
        return [np.array(one, "float64") for one in values_of(self._framework, model)]

    def _apply(self, model: Any, x: Any, y: Any) -> None:
        """A step where nothing is differentiated: the gradients of the mean of `product`, by hand."""
        share = y / (y.size // y.shape[-1])
        gradients = [x.T.dot(share), share.sum(0)]
        if x.dtype.kind == "i":
            gradients = [np.zeros((ROWS, y.shape[-1]), y.dtype)]
            np.add.at(gradients[0], x, share)
        optimizer = model.optimizer
        optimizer.apply([optimizer.scale_loss(one) for one in gradients], model.trainable_weights)


def of_changes(found: Arrays, right: Arrays) -> float:
    """How far changes are apart, each relative to itself, beyond what a weight of float32 can tell."""
    furthest = 0.0
    for own, other in zip(found, right):
        own, other = np.asarray(own, "float64"), np.asarray(other, "float64")
        if own.shape != other.shape or not np.array_equal(np.isfinite(own), np.isfinite(other)):
            return float("inf")
        off = np.abs(own - other) - ULPS * np.abs(np.cumsum(other, 0))
        sizes = np.abs(other)
        least = FLOOR * sizes.reshape(len(sizes), -1).max(1).reshape((-1,) + (1,) * (sizes.ndim - 1))
        furthest = max(furthest, float(np.nan_to_num(off / np.maximum(np.maximum(sizes, least), 1e-30)).max()))
    return furthest
