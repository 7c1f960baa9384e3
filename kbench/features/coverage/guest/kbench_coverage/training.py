"""What a case of Keras's public names computes, and its gradients: by a step of training, and by differences."""

from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence

import numpy as np

from kbench_guest import arrays

if TYPE_CHECKING:
    from kbench_guest.frameworks.keras_models import KerasModels

TARGET = 0.3  # of every output
RANDOM = 1e-4  # if two steps from the same weights differ by more, the layer draws numbers
DIFFERENCES = (1e-6, 1e-4)  # of a weight, to both sides: in float64
KINK = 1e-3  # how far the slopes by these may be apart, of the largest or of SMALL
SMALL = 1e-2

Arrays = List[np.ndarray]


def dtype_of(value: np.ndarray) -> str:
    """As Keras names it."""
    return "string" if value.dtype.kind == "U" else str(value.dtype)


class Subject:
    """What a case computes: called with arrays, it gives its outputs."""

    in_graph = False  # whether a model can have it
    is_symbolic = False  # whether Keras can say its shapes without numbers
    is_layer = False
    kept: "Optional[Callable[[], Subject]]" = None  # makes the same out of its configuration
    made: Any = None  # of an object: its module, and what makes another one

    def __call__(self, values: Arrays) -> Arrays:
        raise NotImplementedError

    def shape(self, of: Sequence[int]) -> Optional[Sequence[int]]:
        """That of its output for an input of this one, as a layer says it; None if it does not."""
        return None

    def is_batched(self, given: Arrays) -> bool:
        """Whether the first axis may be one of samples, of which there may be any number."""
        return True

    def of(self, tensors: Sequence[Any]) -> Any:
        """Its outputs for the inputs of a model."""
        raise NotImplementedError

    def symbolic(self, tensors: Sequence[Any]) -> List[Any]:
        """Tensors without numbers, for such ones."""
        return arrays.leaves(self.of(tensors))

    def fed(self, values: Arrays) -> Arrays:
        """Arrays as a model takes them, with an axis for samples."""
        return list(values)

    def unfed(self, values: Arrays) -> Arrays:
        """The same back."""
        return list(values)

    def model(self, fed: Arrays, before: Sequence[Any] = ()) -> Any:
        """A model of it for inputs like these, with a layer or None before each of them."""
        import keras

        tensors = [keras.layers.Input(one.shape[1:], dtype=dtype_of(one)) for one in fed]
        behind = [layer(one) if layer else one for layer, one in zip(before, tensors)] if before else tensors
        return keras.models.Model(tensors, self.of(behind))


class Training:
    """A model in which each input goes through weights that leave it as it is. A step of plain SGD changes all
    weights by their gradients.
    """

    def __init__(self, framework: "KerasModels", subject: Subject, given: Arrays, outputs: Arrays) -> None:
        import keras

        self._framework = framework
        fed = subject.fed(given)
        before = [keras.layers.Dense(one.shape[-1], use_bias=False) if one.dtype.kind == "f" else None for one in fed]
        self._model = subject.model(fed, before)
        targets = [np.full(one.shape, TARGET, "float32") for one in subject.fed(outputs)]
        self._x, self._y = (one[0] if len(one) == 1 else one for one in (fed, targets))
        self._compile(eagerly=True)
        self._initial = framework.all_weights(self._model)
        for dense in before:
            for number, weight in enumerate(self._model.weights):
                if dense is not None and any(weight is one for one in dense.weights):
                    self._initial[number] = np.eye(len(self._initial[number]), dtype="float32")

    def _compile(self, eagerly: bool) -> None:
        import keras

        how = {"run_eagerly": True} if eagerly and self._framework.supports_run_eagerly else {}
        self._model.compile(loss="mse", optimizer=keras.optimizers.SGD(1.0), **how)

    def gradients(self) -> Arrays:
        """Those of weights and inputs, by an eager step if that can be; none of them if they are random."""
        first, again = (self._changes(self._model.train_on_batch) for _ in range(2))
        return [] if max(distance(*pair) for pair in zip(first, again)) > RANDOM else first

    def in_fit(self) -> Arrays:
        """The same by `fit`, compiled as the backend does by default."""
        self._compile(eagerly=False)
        how: Dict[str, Any] = {"batch_size": len(arrays.leaves(self._x)[0]), "shuffle": False, "verbose": 0}
        return self._changes(lambda x, y: self._model.fit(x, y, **how))

    def _changes(self, step: Callable[[Any, Any], Any]) -> Arrays:
        self._framework.set_values(self._model.weights, self._initial)
        start = self._values()
        step(self._x, self._y)
        return [one - other for one, other in zip(start, self._values())]

    def _values(self) -> Arrays:
        return [value for _, values in self._framework.weights(self._model) for value in values]

    def slopes(self) -> List[Optional[float]]:
        """The slope of the loss along `direction` of each of those arrays, by finite differences; None of what is not
        trained, has a kink there, or was computed in float32 on its way.
        """
        model = self._model
        weights = [weight for layer, _ in self._framework.own_weights(model) for weight in layer.weights]
        trained = [any(one is other for other in model.trainable_weights) for one in weights]
        found = [self._slopes(one, number) if trained[number] else [] for number, one in enumerate(weights)]
        largest = max([abs(one[0]) for one in found if one] + [SMALL])
        return [one[0] if one and max(one) - min(one) <= KINK * largest else None for one in found]

    def _slopes(self, weight: Any, number: int) -> List[float]:
        """To both sides, to each side, and the same from further away; empty if one is no number."""
        self._framework.set_values(self._model.weights, self._initial)
        (value,) = self._framework.values([weight])
        along = direction(number, value.shape)

        def loss(size: float) -> float:
            self._framework.set_values(self._model.weights, self._initial)  # also what a step changes by itself
            self._framework.set_values([weight], [value + size * along])
            return self._loss()

        near, far = ((loss(-size), loss(size)) for size in DIFFERENCES)
        here, (step, further) = loss(0.0), DIFFERENCES
        sides = [(here - near[0]) / step, (near[1] - here) / step]
        found = [sum(sides) / 2, *sides, (far[1] - far[0]) / 2 / further]
        return found if np.isfinite(found).all() else []

    def _loss(self) -> float:
        y_pred = self._model(self._x, training=True)
        return float(self._model.compute_loss(x=self._x, y=self._y, y_pred=y_pred, training=True))


def direction(number: int, shape: Sequence[int]) -> np.ndarray:
    """The direction of length 1 in which the slope of the `number`-th array is taken."""
    found = np.random.RandomState(number).uniform(-1, 1, shape)
    return found / np.sqrt((found**2).sum())


def along(changes: Arrays) -> List[float]:
    """The slope along its direction, of each gradient."""
    return [float((direction(number, one.shape) * one).sum()) for number, one in enumerate(changes)]


def distance(value: Any, other: Any) -> float:
    """The largest deviation, of the largest number where that is above 1; of finite numbers alone."""
    value, other = np.asarray(value, "complex128"), np.asarray(other, "complex128")
    if value.shape != other.shape:
        return 0.0
    finite = np.isfinite(value) & np.isfinite(other)
    if not finite.any():
        return 0.0
    return float(np.abs(value - other)[finite].max() / max(1.0, np.abs(other[finite]).max()))
