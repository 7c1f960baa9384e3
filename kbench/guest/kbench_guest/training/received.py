"""What the training of an epoch was really given: all of its batches, as fingerprints, and its steps."""

import contextlib
import functools
import hashlib
import random
import traceback
import zlib
from typing import TYPE_CHECKING, Any, Callable, Dict, FrozenSet, Iterator, List, Optional, Tuple, Type

import numpy as np

from kbench_guest.arrays import images_first, leaves, mapped

if TYPE_CHECKING:
    from kbench_guest.frameworks.interface import Framework

LOOKED_AT = 4  # batches that are looked at in the step itself, where they are also known before
MOST_NUMBERS = 1 << 20  # of an array of a batch that are hashed


def guarded(do: Callable[..., Any], *args: Any) -> Any:
    """What `do` returns; None if it raises, for another Keras may be made otherwise, and the cell must not fail."""
    try:
        return do(*args)
    except Exception:
        traceback.print_exc()
        return None


class ReceivedData:
    """steps: of an epoch, as asked for. shared: what `Workers.shares` returns.

    Arrays that a whole epoch is cut from are fingerprinted after its time ended, batches of a generator as they come.
    """

    def __init__(
        self,
        framework: "Framework",
        model: Any,
        spec: Dict[str, Any],
        steps: int,
        shared: Any = None,
    ) -> None:
        self._framework, self._model, self._spec, self._steps = framework, model, spec, steps
        self._shared = shared
        self._chosen: FrozenSet[int] = frozenset()
        self._batches: Dict[int, Any] = {}  # number: (inputs, targets, weights of the samples)
        self._seen: Dict[int, Tuple[int, int]] = {}  # number: (samples, fingerprint)
        self._arrays: Optional[Dict[str, Any]] = None  # of the whole epoch, where batches are made of them
        self._fits = 0

    @contextlib.contextmanager
    def of_epoch(self, epoch: int, given: Optional[Dict[str, Any]] = None) -> Iterator[None]:
        """While it is open, the epoch is trained. given: the arguments of fit."""
        # Not by the seed: no program knows which steps are looked at.
        drawn = random.SystemRandom().sample(range(self._steps), min(LOOKED_AT, self._steps))
        self._chosen = frozenset(drawn)
        if self._shared:
            self._shared.begin(self._chosen)
        self._batches, self._seen, self._fits = {}, {}, 0
        self._arrays = given if given is not None and given.get("x") is not None else None
        with self._framework.data_of_fit(lambda given: guarded(self._fit, given)):
            yield

    def step(self, number: int, args: Tuple[Any, ...]) -> None:
        """Called before each step, the first is 0, with what the compiled function is given."""
        if self._shared:
            self._shared.step(number, self._model)
        if self._arrays is not None and number not in self._chosen:
            return
        found = guarded(self._framework.data_of_step, self._model, args)
        if found is None:
            return
        if self._arrays is None:
            self._look(number, found)
        else:
            self._batches[number] = found

    def _look(self, number: int, batch: Any) -> None:
        if number < self._steps:  # backends ask generators for a few more
            images = images_first(self._spec)
            found = guarded(fingerprint, batch, images)
            if found is not None:
                self._seen[number] = _size(batch), found
                if self._shared:
                    self._shared.look(number, batch)

    def _fit(self, given: Dict[str, Any]) -> None:
        """Called with the arguments that Keras makes its batches of; may put there an `x` that gives the same."""
        self._fits += 1
        if self._fits > 1:  # a callback's own
            return
        x = given["x"]
        if isinstance(x, (list, tuple, dict)) or hasattr(x, "shape"):
            self._arrays = given
        elif hasattr(x, "__next__"):
            given["x"] = self._passed_on(x)
        elif hasattr(x, "__getitem__") and hasattr(x, "__len__"):
            x.__class__ = self._looked_into(x.__class__)

    def _passed_on(self, generator: Any) -> Iterator[Any]:
        for number, batch in enumerate(generator):
            self._keep(number, batch)
            yield batch

    def _looked_into(self, kind: Type[Any]) -> Type[Any]:
        keep = self._keep

        def get(dataset: Any, number: int) -> Any:
            batch = kind.__getitem__(dataset, number)
            keep(number, batch)
            return batch

        return type(kind.__name__, (kind,), {"__getitem__": get, "__module__": kind.__module__})

    def _keep(self, number: int, batch: Any) -> None:
        if isinstance(batch, (tuple, list)):
            self._look(number, (list(batch) + [None, None])[:3])

    def found(self, calls: Optional[int]) -> Dict[str, Any]:
        """{"steps", "samples", "sha256"} of the epoch that is over, as far as they are known.

        calls: how often the compiled function was called, each for `steps_per_execution` steps; None if that is
        not known.
        """
        steps = min(self._steps, calls * self._framework.steps_of_a_call(self._model)) if calls else 0
        found = dict(guarded(self._of_batches, self._steps if calls is None else steps) or {}, steps=steps)
        if calls is None:
            found = {name: value for name, value in found.items() if name == "sha256"}
        self._batches, self._seen, self._arrays = {}, {}, None
        return found

    def _of_batches(self, steps: int) -> Dict[str, Any]:
        batches = dict(enumerate(cut(self._arrays)[: self._steps])) if self._arrays else {}
        batches.update(self._batches)
        for number, batch in sorted(batches.items()):
            self._look(number, batch)
        if not self._seen:
            return {}
        size = self._seen[min(self._seen)][0]
        found: Dict[str, Any] = {"samples": steps * size}
        if steps:
            found["samples"] -= size - self._seen.get(steps - 1, (size, 0))[0]  # the last batch may have fewer
        if self._arrays is not None and self._arrays.get("shuffle"):
            found["sha256"] = "shuffled by fit"
        elif all(number in self._seen for number in range(steps)):
            each = [self._seen[number][1] for number in range(steps)]
            found["sha256"] = hashlib.sha256(repr(each).encode("ascii")).hexdigest()
        return found


def fingerprint(batch: Any, images: bool) -> int:
    """32 bits that are the same for the same (inputs, targets, weights) on every backend.

    images: whether the channels of images come first.
    """
    parts = [sorted(_sums(np.asarray(one), images) for one in part) for part in _in_common(batch)]
    return zlib.crc32(b"".join(b"%d" % len(part) + b"".join(part) for part in parts))


def _sums(array: np.ndarray, images: bool) -> bytes:
    if array.dtype.kind not in "fiub":
        return _described(array, images).encode("ascii")
    return str(_comparable(array, images).shape).encode("ascii") + sums(array, images).tobytes()


def sums(array: np.ndarray, images: bool) -> np.ndarray:
    """For each sample the sum of the bits of its numbers, each times a number of its place: quicker than a hash.

    images: whether the channels of images come first.
    """
    if array.dtype.kind not in "fiub":
        return np.array([zlib.crc32(row) for row in _rows(array, images)], dtype="uint32")
    rows = np.ascontiguousarray(array.reshape(len(array), -1), dtype="float32").view("uint32")
    return np.einsum("ij,j->i", rows, _factors(array.shape[1:], images and array.ndim == 4))


@functools.lru_cache(maxsize=None)
def _factors(shape: Tuple[int, ...], first: bool) -> np.ndarray:
    """Odd numbers for each place of a sample of this shape; first: whether its channels come first."""
    common = shape[1:] + shape[:1] if first else shape
    drawn = np.random.RandomState(0).randint(1, 1 << 32, size=common, dtype="uint32") | np.uint32(1)
    return np.ascontiguousarray(np.moveaxis(drawn, -1, 0) if first else drawn).reshape(-1)


def described(batch: Any, images: bool) -> bytes:
    """Bytes that are the same for the same (inputs, targets, weights) on every backend.

    images: whether the channels of images come first.
    """
    # Sorted: in which order several inputs come is the backend's business.
    parts = [sorted(_described(one, images) for one in part) for part in _in_common(batch)]
    return "".join(map(repr, parts)).encode("ascii")


def _size(batch: Any) -> int:
    """The number of its samples."""
    return len(leaves(batch[0])[0])


def of_samples(batch: Any, images: bool) -> List[bytes]:
    """For each sample of (inputs, targets, weights) bytes that are the same on every backend, wherever it stands.

    images: whether the channels of images come first.
    """
    parts = [[_rows(np.asarray(one), images) for one in part] for part in _in_common(batch)]
    count = min(len(rows) for part in parts for rows in part)
    return [b"".join(b"".join(sorted(rows[number] for rows in part)) for part in parts) for number in range(count)]


def _rows(array: np.ndarray, images: bool) -> List[bytes]:
    array = _comparable(array, images)
    kind = "float32" if array.dtype.kind == "f" else "int64" if array.dtype.kind in "iub" else "U"
    rows = np.ascontiguousarray(array.reshape(len(array), -1).astype(kind))
    return [hashlib.blake2b(row.tobytes(), digest_size=16).digest() for row in rows]


def _comparable(array: np.ndarray, images: bool) -> np.ndarray:
    """The same with the channels of images last."""
    return np.moveaxis(array, 1, -1) if images and array.ndim == 4 else array


def cut(given: Dict[str, Any]) -> List[Any]:
    """The batches that Keras makes of the arrays, (inputs, targets, weights of the samples) each."""
    size = given.get("batch_size") or 32
    whole = [given["x"], given.get("y"), given.get("sample_weight")]
    if given.get("class_weight"):
        whole[2] = of_classes(given["y"], given["class_weight"])
    count = -(-len(leaves(whole[0])[0]) // size)
    return [mapped(lambda one, at=number * size: one[at : at + size], whole) for number in range(count)]


def of_classes(targets: Any, class_weight: Dict[int, float]) -> np.ndarray:
    """The weights of samples that have these weights of classes."""
    numbers = np.asarray(_classes(np.asarray(leaves(targets)[0])))
    return np.array([class_weight.get(int(number), 1.0) for number in numbers], dtype="float32")


def _in_common(batch: Any) -> Tuple[List[Any], List[Any], List[Any]]:
    """Inputs, targets and weights in a form that is the same in both generations and for twins."""
    x, y, weights = (leaves(part) for part in batch)
    weights = [np.asarray(one, dtype="float32").reshape(len(one), -1) for one in weights]
    distinct = {one.tobytes(): one for one in weights if (one != 1).any()}  # Keras 2 makes ones, for each output
    return x, [_classes(np.asarray(one)) for one in y], list(distinct.values())


def _classes(targets: np.ndarray) -> np.ndarray:
    """Class numbers instead of rows with a single one in them."""
    if targets.ndim == 2 and targets.shape[1] == 1:
        return targets[:, 0]
    if targets.ndim == 2 and ((targets == 0) | (targets == 1)).all() and (targets.sum(axis=1) == 1).all():
        return targets.argmax(axis=1)
    return targets


def _described(array: Any, images: bool) -> str:
    """Its shape and a hash of its numbers, whatever their dtype; images: whether their channels come first."""
    array = _comparable(np.asarray(array), images)
    shape = array.shape
    array = array.reshape(len(array), -1)
    array = array[:: max(1, array.size // MOST_NUMBERS)]
    if array.dtype.kind == "f":
        array = array.astype("float32")
    values = np.ascontiguousarray(array.astype("float64")) if array.dtype.kind in "fiub" else array.astype("U")
    return f"{shape} {hashlib.sha256(values.tobytes()).hexdigest()}"
