"""Inside a backend's Python: a cell that passes on in some of its epochs and computes through the others alone.

    BACKEND_PYTHON benchmarks/turns_pairs.py SPEC     started by turns.py in the place of kbench/guest

The cell is the real one and so are its turns: half an epoch, and 0.25 seconds at least. But none of them ends
in an epoch that is to be left alone, so that all other cells stay stopped through it. Beyond the first epoch, which
compiles, two and two are a pair, in random order.
"""

import json
import os
import random
import sys
import time
from typing import Any

FIRST = 2  # the first epoch of the first pair
A_EPOCH = 2  # turns at most, so that quick cells and slow ones end at nearly the same time


def in_turns(epoch: int) -> bool:
    """Whether that epoch, the first of which is 1, is in turns."""
    pair, second = divmod(epoch - FIRST, 2)
    return epoch < FIRST or (random.Random(pair).random() < 0.5) != bool(second)


def in_pairs(turns: Any, steps: int) -> Any:
    """The class of the turns of a cell whose epochs have so many steps. turns: the guest's module."""
    client: Any = turns.TurnClient

    class InPairs(client):  # type: ignore[misc]
        def __init__(self, _: Any) -> None:
            super(InPairs, self).__init__(turns.TURNS * steps // A_EPOCH)
            self._asked = 0
            self._in_turns = True  # whether this epoch is
            self._was_slow = False

        def is_over(self) -> bool:
            # It is asked before each step but an epoch's first.
            now_in_turns = in_turns(self._asked // (steps - 1) + 1)
            self._asked += 1
            if now_in_turns and not self._in_turns:  # a turn that began with the last epoch would be over at once
                self._began = time.perf_counter() - random.random() * turns.LEAST_SECONDS
            self._in_turns = now_in_turns
            self.slow = self._was_slow and now_in_turns  # who runs alone may run ahead
            return bool(super(InPairs, self).is_over()) and now_in_turns

        def yield_turn(self) -> Any:
            passed = super(InPairs, self).yield_turn()
            self._was_slow = self.slow
            return passed

    return InPairs


def main(path: str) -> int:
    """Run the cell; returns its exit status."""
    checkout = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path.insert(0, os.path.join(checkout, "kbench", "guest"))
    from kbench_guest import cell, turns

    guests: Any = turns
    with open(path, encoding="utf-8") as file:
        spec = json.load(file)
    guests.TurnClient = in_pairs(guests, spec["samples"] // spec["batch_size"])
    return cell.main(path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
