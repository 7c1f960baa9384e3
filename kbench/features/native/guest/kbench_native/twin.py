"""A twin: an example's model in a framework's own API, as its file builds, trains and runs it.

Its five functions take and give numpy arrays; what a model and an optimizer are is the framework's own business.
"""

import hashlib
from typing import Any, Dict, List, Optional, Tuple, Type

import numpy as np

from kbench_guest import arrays
from kbench_guest.proof import initializers
from kbench_guest.protocol import Refused
from kbench_guest.training.example_file import load

# Keras's own initializers of a layer's weights, in their order; a twin's INITIALIZERS has others, also with settings:
# ("RandomNormal", {"stddev": 0.01}), and by a layer's place in LAYERS, or -1 for the last, those of a single layer.
KERNEL_AND_BIAS = ("GlorotUniform", "Zeros")
INITIALIZERS = {
    "Dense": KERNEL_AND_BIAS,
    "Conv1D": KERNEL_AND_BIAS,
    "Conv2D": KERNEL_AND_BIAS,
    "Conv2DTranspose": KERNEL_AND_BIAS,
    "DepthwiseConv2D": KERNEL_AND_BIAS,
    "Embedding": ("RandomUniform",),
    "SimpleRNN": ("GlorotUniform", "Orthogonal", "Zeros"),
    "GRU": ("GlorotUniform", "Orthogonal", "Zeros"),
    "LSTM": ("GlorotUniform", "Orthogonal", "OpenForgetGate"),
    "BatchNormalization": ("Ones", "Zeros", "Zeros", "Ones"),
    "LayerNormalization": ("Ones", "Zeros"),
    "MultiHeadAttention": KERNEL_AND_BIAS * 4,
    "TokenAndPositionEmbedding": ("RandomUniform", "RandomUniform"),
}

NAMES = {
    "BatchNormalization": ("gamma", "beta", "moving_mean", "moving_variance"),
    "Embedding": ("embeddings",),
}


def weight_names(kind: str, count: int) -> List[str]:
    """What Keras calls the weights of a layer of this class that has so many."""
    names = NAMES.get(kind, ("kernel", "recurrent_kernel", "bias") if count == 3 else ("kernel", "bias"))
    return [names[number] if number < len(names) else f"weight {number}" for number in range(count)]


class Twin:
    """A model of a twin's file, with the methods that kbench calls of a Keras model."""

    def __init__(self, path: str, dropout: bool, seed: int, seed_of_dropout: Optional[int] = None) -> None:
        self._file = load(path)
        self._dropout, self._seed = dropout, seed
        self._seed_of_dropout = seed if seed_of_dropout is None else seed_of_dropout
        self.layers = list(self._file.LAYERS)
        self.train_function, self.predict_function = self._step, self._predict_batch

    def drawn(self) -> List[np.ndarray]:
        """The common initial weights, as the Keras layers have them. Raises Refused for a layer that has none."""
        found = []
        known = {**INITIALIZERS, **getattr(self._file, "INITIALIZERS", {})}
        for number, layer in enumerate(self.layers):
            kinds = next((known[key] for key in (number, number - len(self.layers), layer[0]) if key in known), ())
            if len(kinds) != len(layer) - 1:
                raise Refused("example", f"LAYERS of the twin has {layer!r}: Keras has other weights there")
            for position, (kind, shape) in enumerate(zip(kinds, layer[1:])):
                stream = initializers.stream(self._seed, number, position)
                kind, config = (kind, {}) if isinstance(kind, str) else kind
                if kind == "OpenForgetGate":
                    value = initializers.open_forget_gate(shape, shape[-1] // 4)
                else:
                    value = initializers.draw(kind, config, shape, stream)
                found.append(np.asarray(value, dtype="float32", order="C"))
        return found

    def build(self, weights: List[np.ndarray]) -> None:
        """Make the model with these weights. Raises Refused if it does not have them afterwards, bit by bit."""
        self._optimizer = None
        self._model = self._file.build([value.copy() for value in weights], self._dropout, self._seed_of_dropout)
        for position, (given, held) in enumerate(zip(weights, self.weights())):
            if given.shape != held.shape or given.tobytes() != held.tobytes():
                raise Refused("example", f"the twin's weight {position + 1} is not the one that build was given")

    def compile(self, settings: Dict[str, Any], loss: str) -> None:
        """Make the optimizer. settings, loss: those of the example. Raises Refused if it wants others."""
        self.loss = loss
        named = {name: value for name, value in settings.items() if name != "class_name" and value is not None}
        try:
            self._optimizer = self._file.optimizer(self._model, **named)
        except TypeError as error:
            why = f"the twin's optimizer is not made for the example's OPTIMIZER: {error}"
            raise Refused("example", why) from error

    def weights(self) -> List[np.ndarray]:
        """Its weights as they are now, in the order and the layout of the Keras layers."""
        return [np.array(value, dtype="float32", order="C") for value in self._file.weights(self._model)]

    def by_layer(self) -> List[Tuple[str, Dict[str, np.ndarray]]]:
        """[(layer's class, its weights by name)]."""
        left = iter(self.weights())
        return [
            (kind, {name: next(left) for name in weight_names(kind, len(shapes))}) for kind, *shapes in self.layers
        ]

    def sha256(self) -> str:
        """The hash of its weights that a Keras model with the same ones has."""
        digest = hashlib.sha256()
        for number, (_, named) in enumerate(self.by_layer()):
            for position, value in enumerate(named.values()):
                initializers.add_to_hash(digest, number, position, value)
        return digest.hexdigest()

    def state(self) -> Tuple[Any, Any]:
        """The model and its optimizer, whatever they are."""
        return self._model, self._optimizer

    def train_on(self, model: Any, optimizer: Any) -> None:
        """With another model and optimizer, of the same values."""
        self._model, self._optimizer = model, optimizer

    def set_in_file(self, name: str, value: Any) -> None:
        """Give a variable of the twin's file this value. Raises Refused if it has none of that name."""
        if not hasattr(self._file, name):
            raise Refused("unsupported", f"the twin has no {name}, which its workers would be")
        setattr(self._file, name, value)

    def inside(self, kind: Type[Any]) -> List[Any]:
        """The values of that class that the model is, holds or lists as its own."""
        held = [self._model, *(vars(self._model).values() if hasattr(self._model, "__dict__") else ())]
        for listed in ("parameters", "trainable_variables", "values"):
            own = getattr(self._model, listed, ())
            held.extend(own() if callable(own) else own)
        return [value for value in held if isinstance(value, kind)]

    def predict(self, inputs: Any, batch_size: int, verbose: int = 0) -> np.ndarray:
        """Outputs for all inputs, which fill whole batches, as one array."""
        outputs = [np.array(self.predict_function(batch)) for batch in arrays.batches(inputs, batch_size)]
        return np.concatenate(outputs)

    def predict_on_batch(self, inputs: Any) -> np.ndarray:
        """Outputs for one batch."""
        return np.array(self.predict_function(inputs))

    def _step(self, x: Any, y: Any) -> Any:
        return self._file.step(self._model, self._optimizer, x, y)

    def _predict_batch(self, x: Any) -> Any:
        return self._file.predict(self._model, x)
