"""Where the steps on trial are taken: near the model's weights and data, at a point without ties.

At zeros, and at numbers that occur more than once, backends may rightly take other gradients: of relu at 0, of the
maximum of equal numbers. So what is 0 or 1 in weights and every float input are moved by noise, drawn alike
everywhere, and an embedding looks up different rows. Elsewhere gradients are those of the formulas.

Of a million maxima two numbers may still be so near that rounding decides. So there are several points, numbered from
0, of which each but the first has other weights, too: what differs at one alone may be such a tie.
"""

import itertools
from typing import Any, Dict, List, Sequence, Tuple

import numpy as np

from kbench_guest import arrays
from kbench_guest.frameworks.layers import layers

OF_WEIGHTS = 0.1  # the most that is added to a weight
OF_INPUTS = 0.1  # the most that is added to an input, in its standard deviations
OF_WHOLE = 0.5  # the same of whole numbers, which a layer may cut off
SPREAD = 0.2  # by how much a weight is larger or smaller at most, at further points

Vocabulary = Tuple[List[int], bool]  # the rows of each embedding that an input may index; whether zeros are masked


def weight(value: np.ndarray, seed: int, layer: int, position: int, point: int = 0) -> np.ndarray:
    """A weight, in the layout that all backends share, with noise on its zeros and ones; numbers as in `stream`.

    What is added is positive, and no number changes its sign, so that a variance stays one.
    """
    if value.dtype.kind != "f":
        return value
    random = _random(seed, layer, position, 1, point)
    noise = random.uniform(0.0, OF_WEIGHTS, value.shape)
    found = np.where((value == 0) | (value == 1), value + noise, value)
    if point:
        found = found * random.uniform(1.0 - SPREAD, 1.0 + SPREAD, value.shape)
    return found.astype(value.dtype)


def _random(*numbers: int) -> np.random.RandomState:
    """What draws alike everywhere; the last number is that of the point."""
    return np.random.RandomState(numbers if numbers[-1] else numbers[:-1])


def float_input(x: np.ndarray, random: np.random.RandomState, masked: Sequence[float] = ()) -> np.ndarray:
    """An input of shape (samples, ..., features) with positive noise, small for each feature.

    Steps of a sequence all of whose numbers are one of `masked`, as in a layer Masking, stay.
    """
    x = np.ascontiguousarray(x)
    spread = np.std(x.reshape(-1, x.shape[-1] if x.ndim > 1 else 1).astype("float64"), axis=0)
    spread[spread == 0] = np.median(spread[spread > 0]) if (spread > 0).any() else 1.0
    most = OF_INPUTS * spread
    if (x == np.round(x)).all():
        most = np.minimum(most, OF_WHOLE)
    noise = random.uniform(size=x.shape) * (most if x.ndim > 1 else most[0])
    for value in masked if x.ndim > 2 else ():
        noise[(x == value).all(axis=-1)] = 0.0
    return (x + noise).astype(x.dtype)


class GenericInputs:
    """The inputs of the first samples of a batch, as the steps on trial take them.

    found: {an input's name, or its place: its vocabulary}. masked: as in `float_input`. images_first: whether inputs
    of rank 4 are images in the layout channels_first. point: the number of the generic point.
    """

    def __init__(
        self,
        seed: int,
        found: Dict[Any, Vocabulary],
        masked: Sequence[float] = (),
        images_first: bool = False,
        point: int = 0,
    ) -> None:
        self._seed, self._found, self._masked, self._images_first = seed, found, masked, images_first
        self.point = point

    def most_samples(self, x: Any, most: int) -> int:
        """Up to `most`, or as few as have row numbers that all differ, where two have such."""
        each = [_fitting(array, self._found[key]) for key, array in _keyed(x) if key in self._found]
        return min([most] + [number for number in each if number > 1])

    def with_noise(self, x: Any) -> Any:
        """x: the samples, as the model takes them."""
        places = itertools.count()
        keys = [key for key, _ in _keyed(x)]
        return arrays.mapped(lambda array: self._moved(keys, next(places), np.asarray(array)), x)

    def _moved(self, keys: Sequence[Any], place: int, x: np.ndarray) -> np.ndarray:
        random = _random(self._seed, place, 2, self.point)
        if x.dtype.kind == "f":
            last = self._images_first and x.ndim == 4
            found = float_input(np.moveaxis(x, 1, -1) if last else x, random, self._masked)
            return np.moveaxis(found, -1, 1) if last else found
        vocabulary = self._found.get(keys[place])
        return rows(x, vocabulary, random) if vocabulary and _size(x, vocabulary) > 1 else x

    @staticmethod
    def repeat(x: Any) -> bool:
        """Whether an input of whole numbers has one more than once."""
        return any(one.dtype.kind in "iu" and np.unique(one).size < one.size for _, one in _keyed(x))


def _keyed(x: Any) -> List[Tuple[Any, np.ndarray]]:
    """[(name, or place, array)] of a batch's inputs."""
    listed = list(x.items()) if isinstance(x, dict) else list(enumerate(x if isinstance(x, (list, tuple)) else [x]))
    return [(key, np.asarray(array)) for key, array in listed]


def rows(x: np.ndarray, vocabulary: Vocabulary, random: np.random.RandomState) -> np.ndarray:
    """Row numbers but 0, which may mask: each once, or about equally often if x has more places than there are."""
    number = _size(x, vocabulary) - 1
    drawn = np.concatenate([1 + random.permutation(number) for _ in range(0, x.size, number)])
    drawn = drawn[: x.size].reshape(x.shape).astype(x.dtype)
    return np.where(x == 0, x, drawn) if vocabulary[1] else drawn


def _fitting(x: np.ndarray, vocabulary: Vocabulary) -> int:
    """Of how many samples of x all row numbers can differ; 0 if it is not clear which embedding x indexes."""
    return max(0, _size(x, vocabulary) - 1) // max(1, int(np.prod(x.shape[1:]))) if x.dtype.kind in "iu" else 0


def _size(x: np.ndarray, vocabulary: Vocabulary) -> int:
    """The rows of the only embedding that has as many as x needs."""
    enough = {size for size in vocabulary[0] if size > x.max()}
    return enough.pop() if len(enough) == 1 else 0


def vocabularies(model: Any) -> Dict[Any, Vocabulary]:
    """Of a Keras model of one input that one layer alone takes, by the input's name and its place."""
    from kbench_guest.frameworks import graph

    try:
        nodes, inputs = graph.nodes(model, False), graph.ends(model)[0]
        own = {layer.name: layer for layer in model.layers}
    except Exception:  # it is no graph of layers
        return {}
    # One embedding may serve several inputs; and a twin without Keras does not say which takes which.
    if len(inputs) > 1 or any(node.inbound is None for node in nodes.values()):
        return {}
    found: Dict[Any, Vocabulary] = {}
    for place, name in enumerate(inputs):
        takers = [node.name for node in nodes.values() if name in node.inbound]
        takers = takers if nodes[name].class_name == "InputLayer" else [name]
        if len(takers) == 1 and takers[0] in own:
            found[name] = found[place] = _vocabulary(own[takers[0]])
    return found


def _vocabulary(layer: Any) -> Vocabulary:
    """Of the embedding that the layer is, or of those that it holds."""
    parts = [*vars(layer).values(), *getattr(layer, "_modules", {}).values()]  # the latter on PyTorch
    named = [(one, {kind.__name__ for kind in type(one).__mro__}) for one in [layer, *parts]]
    held = [one for one, kinds in named if "Embedding" in kinds and hasattr(one, "input_dim")]
    return [int(one.input_dim) for one in held], any(bool(getattr(one, "mask_zero", False)) for one in held)


def masks(model: Any) -> List[float]:
    """What the model's layers take for a step that is not there."""
    return [float(layer.mask_value) for layer, _ in layers(model) if layer.__class__.__name__ == "Masking"]
