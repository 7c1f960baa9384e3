"""The guest's data: prepared arrays, opened without a copy and handed out epoch by epoch."""

import collections
import hashlib
import os
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence

import numpy as np

# inputs, targets: a memory-mapped array for each of the model's; weights: of the samples, or None; names: of inputs
# and targets that go by name
Part = collections.namedtuple("Part", "inputs targets weights samples divisor input_names target_names")


def open_part(data: Dict[str, Any], role: str, samples: int) -> Part:
    """The first `samples` of the part 'train' or 'validation'. Nothing is read before it is used."""

    def opened(name: str) -> np.ndarray:
        return np.load(os.path.join(data["folder"], name), mmap_mode="r")[:samples]

    return Part(
        [opened(name) for name in data[role]],
        [opened(name) for name in data[role + "_targets"]],
        opened(data[role + "_weights"]) if data[role + "_weights"] else None,
        samples,
        data["divisor"],
        data["input_names"],
        data["target_names"],
    )


def class_numbers(part: Part, loss: Any = None) -> Optional[np.ndarray]:
    """The part's targets if they are class numbers, else None: one a sample or, for the sparse cross-entropy as its
    loss, one for each of its steps."""
    if len(part.targets) != 1 or part.target_names:
        return None
    found = part.targets[0]
    of_steps = loss == "sparse_categorical_crossentropy" and found.ndim == 2 and found.shape[1] != 1
    return found if found.dtype.kind in "iu" and (found.ndim == 1 or of_steps) else None


def zeros_and_ones(part: Part, loss: Any = None) -> bool:
    """Whether the part's targets are those of a binary cross-entropy with one number a sample, or a step."""
    if loss != "binary_crossentropy" or len(part.targets) != 1 or part.target_names:
        return False
    return part.targets[0].ndim == 1 or part.targets[0].shape[-1] == 1


def structured(values: Sequence[Any], names: Optional[Sequence[str]]) -> Any:
    """Arrays as a model takes them: a dict if they have names, a single array, or a list."""
    if names:
        return dict(zip(names, values))
    return values[0] if len(values) == 1 else list(values)


def one_hot(labels: Any, num_classes: int) -> np.ndarray:
    """Class numbers of shape (n,) as float32 rows of shape (n, num_classes)."""
    rows = np.zeros((len(labels), num_classes), dtype="float32")
    rows[np.arange(len(labels)), labels] = 1.0
    return rows


class Buffer:
    """Arrays as the model takes them, for a fixed number of samples: the guest's only copy in memory."""

    def __init__(self, part: Part, samples: int, targets: Sequence[Any] = ()) -> None:
        self._part = part
        self.samples = samples
        self.inputs = [np.empty((samples,) + x.shape[1:], dtype=_dtype(x, part.divisor)) for x in part.inputs]
        weights = [] if part.weights is None or not len(targets) else [part.weights]
        self._copied = list(targets) + weights
        copies = [np.empty((samples,) + x.shape[1:], dtype=_dtype(x, 1)) for x in self._copied]
        self.targets, self._weights = copies[: len(targets)], copies[len(targets) :]

    def fill(self, order: Any) -> None:
        """Copy the samples with these numbers into the buffer, in this order; scale images to 0..1."""
        for start in range(0, self.samples, 1024):
            rows = order[start : start + 1024]
            for source, target in zip(self._part.inputs, self.inputs):
                chunk = target[start : start + len(rows)]
                chunk[...] = source[rows]
                if self._part.divisor != 1:
                    chunk /= np.float32(self._part.divisor)
            for source, target in zip(self._copied, self.targets + self._weights):
                target[start : start + len(rows)] = source[rows]

    def model_inputs(self) -> Any:
        """What `fit` and `predict` take: an array, a list of them, or a dict."""
        return structured(self.inputs, self._part.input_names)

    def model_targets(self) -> Any:
        """What `fit` takes as its targets."""
        return structured(self.targets, self._part.target_names)

    def weighted(self) -> Dict[str, Any]:
        """{"sample_weight": ...} if the samples have weights."""
        return {"sample_weight": self._weights[0]} if self._weights else {}


def mapped(do: Callable[..., Any], value: Any) -> Any:
    """do(array) for each array in `value`, which may be one, a list or a dict of them, or None."""
    if value is None:
        return None
    if isinstance(value, dict):
        return {name: mapped(do, one) for name, one in value.items()}
    return [mapped(do, one) for one in value] if isinstance(value, (list, tuple)) else do(value)


def leaves(value: Any) -> List[Any]:
    """The arrays in `value`, as for `mapped`; those of a dict in the order of their names."""
    if isinstance(value, dict):
        value = [value[name] for name in sorted(value)]
    if not isinstance(value, (list, tuple)):
        return [] if value is None else [value]
    return [array for one in value for array in leaves(one)]


def batches(value: Any, size: int) -> Iterator[Any]:
    """`value`, as for `mapped`, in parts of so many samples, of which the last may have fewer."""
    for start in range(0, len(leaves(value)[0]), size):
        yield mapped(lambda one, at=start: one[at : at + size], value)


def epoch_order(samples: int, used: int, seed: int, epoch: int) -> np.ndarray:
    """The numbers of the `used` samples that an epoch sees, in order: the same on every backend and Python."""
    return np.random.RandomState([seed, epoch]).permutation(samples)[:used]


def order_sha256(samples: int, used: int, seed: int, epochs: int) -> str:
    """A hash of the order of all epochs, for the proof that two cells saw the same batches."""
    digest = hashlib.sha256()
    for epoch in range(1, epochs + 1):
        digest.update(epoch_order(samples, used, seed, epoch).astype("<i8").tobytes())
    return digest.hexdigest()


def augment(
    images: np.ndarray,
    settings: Dict[str, Any],
    channels_first: bool,
    seed: int,
    epoch: int,
    places: Optional[np.ndarray] = None,
    of: int = 0,
) -> None:
    """Shift and flip images in place, at random but the same on every backend; edges are repeated.

    images: float32 of shape (n, height, width, channels), or (n, channels, height, width).
    settings: width_shift and height_shift as fractions of the size, horizontal_flip as a truth value.
    places: which of an epoch's images they are, that has so many (`of`); None for all.
    """
    random = np.random.RandomState([seed, epoch, 1])
    places, of = (np.arange(len(images)), len(images)) if places is None else (places, of)
    rows, columns = (2, 3) if channels_first else (1, 2)
    height, width = images.shape[rows], images.shape[columns]
    most_down, most_right = int(settings["height_shift"] * height), int(settings["width_shift"] * width)
    down = random.randint(-most_down, most_down + 1, size=of)[places]
    right = random.randint(-most_right, most_right + 1, size=of)[places]
    flip = random.randint(0, 2, size=of)[places] * bool(settings["horizontal_flip"])
    for number in range(len(images)):
        image = images[number]
        image = np.take(image, np.clip(np.arange(height) - down[number], 0, height - 1), axis=rows - 1)
        image = np.take(image, np.clip(np.arange(width) - right[number], 0, width - 1), axis=columns - 1)
        images[number] = np.flip(image, columns - 1) if flip[number] else image


def _dtype(array: Any, divisor: float) -> Any:
    return "float32" if divisor != 1 or array.dtype.kind == "f" else array.dtype


def each(made: Any) -> Iterable[Any]:
    """The batches of a generator or Sequence, in order."""
    indexed = hasattr(made, "__getitem__") and hasattr(made, "__len__")
    return (made[number] for number in range(len(made))) if indexed else iter(made)


def images_first(spec: Dict[str, Any]) -> bool:
    """Whether inputs of rank 4 are images in the layout channels_first."""
    return bool(spec["input"] == "image" and spec["image_data_format"] == "channels_first")


def perturb_by_one_ulp(value: np.ndarray) -> np.ndarray:
    """About half of the numbers of a weight, drawn alike everywhere, moved by one unit in the last place."""
    if value.dtype.kind != "f":
        return value
    chosen = np.random.RandomState(0).rand(*value.shape) < 0.5
    return np.where(chosen, np.nextafter(value, np.inf, dtype=value.dtype), value)
