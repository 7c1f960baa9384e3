"""How a training runs between two of its steps: the threads of its framework, and the cores that it may use."""

import os
import random
from typing import TYPE_CHECKING, Any, Dict

from kbench_guest import process

if TYPE_CHECKING:
    from kbench_guest.device import Device


class WithinSteps:
    """Looks once an epoch, before a step that no program knows: what is set at both ends need not be set between."""

    def __init__(self, framework: "Device", steps: int) -> None:
        self._framework, self._steps = framework, steps
        self.found: Dict[str, Any] = {}  # {"threads", "cores"} of this epoch
        self.next_epoch()

    def next_epoch(self) -> None:
        self.found = {}
        self._number = random.SystemRandom().randrange(max(1, self._steps))

    def step(self, number: int) -> None:
        """Called before each step, the first is 0."""
        if number == self._number:
            self.found = {"threads": process.threads(self._framework), "cores": cores()}


def cores() -> int:
    """On how many cores the calling thread may run."""
    return len(os.sched_getaffinity(0))
