"""Several workers that train one model together, each on its part of every batch.

After every step all have the same weights. Either one process holds all of them, each on a device of its own, or each
is a process. Which it is says the backend's file.
"""

from typing import Any, Dict, FrozenSet, List, Optional

from kbench_guest.arrays import leaves, mapped
from kbench_guest.frameworks.workers import Workers
from kbench_guest.protocol import Refused
from kbench_workers.shares import Shares


class Several(Workers):
    """Workers in this process, and in others."""

    def start(self, about: Dict[str, Any], device: str) -> None:
        """Called once before the framework computes. about: of the spec; device: 'cpu' or 'gpu'."""
        self.count, self.rank = about["count"], about["rank"]
        self.here = self.count // about["processes"]

    def shares(self, images: bool) -> Shares:
        return Shares(self, images)

    def means(self, values: Dict[str, float]) -> Dict[str, float]:
        """The means of these values over all processes."""
        return values

    def of_epoch(self, steps: FrozenSet[int]) -> None:
        """An epoch begins; the parts of these steps' batches are kept, the first is 0."""

    def step(self, number: int, model: Any) -> None:
        """Called before each step of the epoch."""

    def parts_seen(self) -> Dict[int, List[Any]]:
        """{step: [the part of its batch, (inputs, targets), of each worker in this process]} of the steps to be kept,
        as far as the framework shows it."""
        return {}

    def counted(self) -> Optional[List[int]]:
        """How many samples each worker in this process has counted in this epoch; None if none counts."""
        return None

    def communication_seconds(self) -> Optional[float]:
        """What this process spent on gradients of the others since it was asked before; None if nothing says so."""
        return None

    def cut(self, batch: Any) -> List[Any]:
        """The parts of a batch, that this process was given, for the workers in it."""
        size = len(leaves(batch[0])[0]) // self.here
        return [mapped(lambda one, at=number * size: one[at : at + size], list(batch)) for number in range(self.here)]


class Devices(Several):
    """All workers are in this process."""

    def start(self, about: Dict[str, Any], device: str) -> None:
        super().start(about, device)
        if self.here != self.count:
            raise Refused("unsupported", "its engine holds all workers in one process")
