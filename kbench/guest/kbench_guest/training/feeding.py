"""What an example's model is trained on: batches drawn from the data, or those that the example's file makes."""

import hashlib
import itertools
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Union

import numpy as np

from kbench_guest import arrays, scores
from kbench_guest.protocol import Refused
from kbench_guest.training.received import described, of_samples

if TYPE_CHECKING:
    from kbench_guest.arrays import Part


def feed(example: Any, spec: Dict[str, Any], part: "Part", targets: Any) -> Union["FromArrays", "FromFile"]:
    """The batches of all epochs. Raises Refused if the example's `batches` gives too few."""
    made = FromFile if callable(getattr(example, "batches", None)) else FromArrays
    return made(example, spec, part, targets)


class FromArrays:
    """The same batches in the same order on every backend; a last, partial batch is left out."""

    def __init__(self, example: Any, spec: Dict[str, Any], part: "Part", targets: Any) -> None:
        self._example, self._spec, self._part, self._targets = example, spec, part, targets
        self._batch_size, self._seed = spec["batch_size"], spec["seed"]
        self.steps = part.samples // self._batch_size  # of an epoch
        self.samples = self.steps * self._batch_size
        self.order_sha256 = arrays.order_sha256(part.samples, self.samples, self._seed, spec["epochs"])
        self._own = own_samples(spec, self.samples)
        self._buffer: Optional[arrays.Buffer] = None

    def first_inputs(self) -> Any:
        """A batch that is not shuffled, of what the model takes in."""
        return self._filled(range(self._batch_size)).model_inputs()

    def of_epoch(self, epoch: int) -> Dict[str, Any]:
        """Arguments of `fit` for the epoch."""
        if self._buffer is None:
            self._buffer = arrays.Buffer(self._part, len(self._own), self._targets)
        buffer = self._filled_of(epoch, self._own, self._buffer)
        size = len(self._own) // self.steps
        given = {"x": buffer.model_inputs(), "y": buffer.model_targets(), "batch_size": size}
        return dict(given, shuffle=False, **buffer.weighted())

    def whole(self, epoch: int) -> Iterator[Any]:
        """(inputs, targets) of each of the epoch's batches, for all workers."""
        buffer = arrays.Buffer(self._part, self._batch_size, self._targets)
        for batch in np.arange(self.samples).reshape(self.steps, -1):
            self._filled_of(epoch, batch, buffer)
            yield buffer.model_inputs(), buffer.model_targets()

    def _filled_of(self, epoch: int, places: np.ndarray, buffer: arrays.Buffer) -> arrays.Buffer:
        """places: in the order of the epoch's samples."""
        buffer.fill(arrays.epoch_order(self._part.samples, self.samples, self._seed, epoch)[places])
        if self._spec["augment"]:
            first = self._spec["image_data_format"] == "channels_first"
            asked = self._example.AUGMENTATION
            arrays.augment(buffer.inputs[0], asked, first, self._seed, epoch, places, self.samples)
        return buffer

    def about(self) -> Dict[str, Any]:
        """What must be equal of the order and the samples of its batches, as fields of the event."""
        return {"sha256": self.order_sha256}

    def batch(self, number: int) -> arrays.Buffer:
        """A batch of the first epoch, from the front again where there are no more; the first is number 0."""
        return self._filled(self._samples(number))

    def loss_of_first(self) -> Optional[Callable[[np.ndarray], Optional[float]]]:
        """What computes the first batch's loss from its outputs; None where kbench cannot."""
        asked = getattr(self._example, "LOSS", None)
        of_keras: Any = scores.LOSSES.get(asked) if isinstance(asked, str) else None
        targets = arrays.class_numbers(self._part, asked)
        if targets is None and arrays.zeros_and_ones(self._part, asked) and self._part.weights is None:
            targets = self._part.targets[0]
        if of_keras is None or targets is None:
            return None
        right = targets[:][self._samples(0)]

        def loss(outputs: np.ndarray) -> Optional[float]:
            fits = asked != "binary_crossentropy" or outputs.size == right.size
            return of_keras(outputs, right) if fits else None

        return loss

    def _filled(self, samples: Sequence[int]) -> arrays.Buffer:
        buffer = arrays.Buffer(self._part, self._batch_size, self._targets)
        buffer.fill(samples)
        return buffer

    def _samples(self, number: int) -> Any:
        order = arrays.epoch_order(self._part.samples, self.samples, self._seed, 1)
        start = number * self._batch_size % len(order)
        return order[start : start + self._batch_size]


def own_samples(spec: Dict[str, Any], samples: int) -> np.ndarray:
    """Which of so many samples, that fill batches, this process is given for its workers."""
    about = spec.get("workers") or {"processes": 1, "rank": 0}
    if about["processes"] == 1 or about.get("whole"):  # the framework divides the batches
        return np.arange(samples)
    batches = np.arange(samples).reshape(-1, about["processes"], spec["batch_size"] // about["processes"])
    return batches[:, about["rank"]].reshape(-1)


def _hash(samples: Set[bytes]) -> str:
    return hashlib.sha256(b"".join(sorted(samples))).hexdigest()


KEPT = 10  # batches


class FromFile:
    """What the example's `batches(x, y, batch_size, seed)` gives: a generator, or a Sequence of Keras."""

    def __init__(self, example: Any, spec: Dict[str, Any], part: "Part", targets: Any) -> None:
        self._example, self._batch_size, self._seed = example, spec["batch_size"], spec["seed"]
        own = own_samples(spec, self._batch_size)
        self._own = own if len(own) < self._batch_size else None
        whole = arrays.Buffer(part, part.samples, targets)
        whole.fill(range(part.samples))
        self._x, self._y = whole.model_inputs(), whole.model_targets()
        self.steps = part.samples // self._batch_size
        self.samples = self.steps * self._batch_size
        self._first: List[Batch] = []  # batches of the first epoch
        images = arrays.images_first(spec)
        digest, given = hashlib.sha256(), 0  # of all that the first epoch sees
        samples: Set[bytes] = set()
        weighted: Set[bytes] = set()
        for batch in itertools.islice(arrays.each(self._made(1)), self.steps):
            if not isinstance(batch, (tuple, list)) or len(batch) not in (2, 3):
                raise Refused("example", "batches of the example must give (x, y) or (x, y, sample_weight)")
            whole_batch = (list(batch) + [None])[:3]
            digest.update(described(whole_batch, images))
            samples.update(of_samples([*whole_batch[:2], None], images))
            weighted.update(of_samples(whole_batch, images))
            if given < KEPT:
                self._first.append(Batch(*batch))
            given += 1
        if given < self.steps:
            few = "batches of the example gives %d batches, but an epoch needs %d"
            raise Refused("example", few % (given, self.steps))
        self.order_sha256 = digest.hexdigest()
        self._samples_sha256 = _hash(samples)
        self._sample_weights = "none" if weighted == samples else _hash(weighted)
        self._different_samples = len(samples)

    def about(self) -> Dict[str, Any]:
        """As above."""
        found = {"samples_sha256": self._samples_sha256, "different_samples": self._different_samples}
        return dict(found, sha256=self.order_sha256, sample_weights=self._sample_weights)

    def _made(self, epoch: int) -> Any:
        return self._example.batches(self._x, self._y, self._batch_size, self._seed + epoch)

    def first_inputs(self) -> Any:
        return self._first[0].model_inputs()

    def of_epoch(self, epoch: int) -> Dict[str, Any]:
        made = self._made(epoch)
        if self._own is not None:
            made = (arrays.mapped(lambda one: one[self._own], batch) for batch in arrays.each(made))
        return {"generator": made, "steps_per_epoch": self.steps, "shuffle": False}

    def whole(self, epoch: int) -> Iterator[Any]:
        """As above."""
        return itertools.islice(arrays.each(self._made(epoch)), self.steps)

    def loss_of_first(self) -> None:
        """What is right is not known: batches may have made the targets."""

    def batch(self, number: int) -> "Batch":
        return self._first[number % len(self._first)]


class Batch:
    """The arrays of a batch of the user's. names: the order of named inputs."""

    def __init__(self, x: Any, y: Any, sample_weight: Any = None, names: Optional[Sequence[str]] = None) -> None:
        self._x, self._y, self._weights = x, y, sample_weight
        if isinstance(x, dict):
            x = [x[name] for name in names or x]
        self.inputs = list(x) if isinstance(x, (list, tuple)) else [x]

    def model_inputs(self) -> Any:
        return self._x

    def model_targets(self) -> Any:
        return self._y

    def weighted(self) -> Dict[str, Any]:
        return {} if self._weights is None else {"sample_weight": self._weights}
