"""What each of several workers read of an epoch: a number that adds up, over the workers, to that of all samples."""

from typing import TYPE_CHECKING, Any, Dict, FrozenSet, Iterable, Iterator, List, Tuple

import numpy as np

from kbench_guest import process
from kbench_guest.arrays import leaves
from kbench_guest.training.received import guarded, sums

if TYPE_CHECKING:
    from kbench_guest.protocol import Events
    from kbench_workers.several import Several

MODULUS = 1 << 64
ODD = 0x9E3779B97F4A7C15  # 2 ** 64 divided by the golden ratio
Read = Tuple[int, int]  # samples, their number


class Shares:
    """Of the workers in this process, epoch by epoch. images: whether the channels of images come first."""

    def __init__(self, workers: "Several", images: bool) -> None:
        self.workers, self._images = workers, images
        self._read: Dict[int, List[Read]] = {}  # of each step, for each worker

    def begin(self, steps: FrozenSet[int]) -> None:
        """An epoch begins; the parts of these steps' batches are looked at, the first is 0."""
        self._read = {}
        guarded(self.workers.of_epoch, steps)

    def step(self, number: int, model: Any) -> None:
        """Called before each step."""
        guarded(self.workers.step, number, model)

    def look(self, number: int, batch: Any) -> None:
        """At what this process has been given for a step."""
        self._read[number] = [self._of(number, part) for part in self.workers.cut(batch)]

    def _of(self, number: int, batch: Any) -> Read:
        return len(leaves(batch[0])[0]), number_of(number, batch, self._images)

    def together(
        self, epoch: int, feed: Any, logs: Dict[str, float], found: Dict[str, Any], events: "Events"
    ) -> Dict[str, float]:
        """Report what the workers in this process did in an epoch; returns the logs of all workers.

        found: what this process received, which becomes what all did.
        """
        for told in self.found(epoch, feed.whole(epoch), loss=logs.get("loss")):
            events.write("worker", **told)
        if self.workers.here < self.workers.count:
            found.pop("sha256", None)
            found["samples"] = feed.samples
        return self.workers.means(logs)

    def found(self, epoch: int, batches: Iterable[Any], **local: Any) -> Iterator[Dict[str, Any]]:
        """The fields of an event for each worker in this process, after an epoch.

        batches: those of all workers. local: more fields, if the process has one worker.
        """
        workers = self.workers
        for number, parts in (guarded(workers.parts_seen) or {}).items():
            self._read[number] = [self._of(number, part) for part in parts]
        counted = guarded(workers.counted)
        whole = sum(number_of(number, batch, self._images) for number, batch in enumerate(batches)) % MODULUS
        spent = guarded(workers.communication_seconds)
        if spent is not None:
            local["communication_seconds"] = spent
        for place in range(workers.here):
            read = [parts[place] for parts in self._read.values()]
            told = {
                "samples": counted[place] if counted else sum(samples for samples, _ in read),
                "batch_size": max((samples for samples, _ in read), default=None),
                "read": _hexadecimal(sum(number for _, number in read)),
                "read_of_all": _hexadecimal(whole),
            }
            if place == 0:  # others in the same process have no memory of their own
                told["peak_mib"] = process.peak_memory_mib()
            yield dict(told, epoch=epoch, rank=workers.rank + place, **(local if workers.here == 1 else {}))


def number_of(step: int, batch: Any, images: bool) -> int:
    """64 bits of the samples of a step, (inputs, targets), in whatever order.

    Those of the parts of a batch add up to those of the batch, modulo 2 ** 64; a sample in another step counts
    otherwise. images: whether the channels of images come first.
    """
    parts = [[np.asarray(one) for one in leaves(part)] for part in list(batch)[:2]]
    each = np.zeros(len(parts[0][0]), dtype="uint64")
    if not len(each):  # a worker that was given nothing
        return 0
    for place, arrays in enumerate(parts):
        # In which order several inputs come is the backend's business.
        of_part = sum(mixed(np.uint64(ODD) + sums(array, images)) for array in arrays)
        each = mixed(each + of_part + np.uint64((place + 1) * ODD % MODULUS))
    return int(each.sum(dtype="uint64")) * (2 * step * ODD + 1) % MODULUS


def mixed(numbers: np.ndarray) -> np.ndarray:
    """The finalizer of SplitMix64 (Steele et al. 2014): 64 bits of which each depends on all that are given."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def _hexadecimal(number: int) -> str:
    return f"{number % MODULUS:016x}"
