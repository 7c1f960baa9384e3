"""The turns of this process among cells that run side by side: one computes, the others are stopped.

A turn ends between two steps: this process writes a byte to the socket from the host and waits there for the number
of its next round, or of the same one if that turn is taken again. Meanwhile the host stops the whole process.
"""

import os
import struct
import time
from typing import Tuple

VARIABLE = "KBENCH_TURNS"  # holds the number of the socket; not set if the cell runs alone
SLOW_SECONDS = 0.02  # of a step
LEAST_SECONDS, MOST_SECONDS = 0.25, 2.0  # of a turn, without its last step
TURNS = 20  # at least, unless they would be shorter than LEAST_SECONDS

_held = [0.0]  # seconds between turns, in all


def held_seconds() -> float:
    """Seconds that this process was held between its turns."""
    return _held[0]


class TurnClient:
    """steps: how many steps this process takes in total."""

    def __init__(self, steps: int) -> None:
        number = os.environ.get(VARIABLE)
        self._socket = None if number is None else int(number)
        self._most_steps = max(2, steps // TURNS)
        self._steps = 0  # of this turn
        self._began = 0.0
        self.slow = False  # whether the last turn's steps were
        self.round = 0  # in which everything up to the first step is done
        self.again = 0  # whether the turn of this round was disturbed, and this one is in its place

    def __bool__(self) -> bool:
        """Whether this process takes turns with others."""
        return self._socket is not None

    @property
    def turn(self) -> Tuple[int, int]:
        """(round, again) of this turn."""
        return self.round, self.again

    def is_over(self) -> bool:
        """Whether the turn is over. Call it once before each step except the very first."""
        self._steps += 1
        seconds = time.perf_counter() - self._began
        its_part = seconds >= LEAST_SECONDS and self._steps > self._most_steps
        return self.round == 0 or seconds >= MOST_SECONDS or its_part

    def yield_turn(self) -> Tuple[float, float]:
        """Return (when this turn ended, when the next one began). Without the host there are no more turns."""
        ended = time.perf_counter()
        self.slow = self.round > 0 and ended - self._began > SLOW_SECONDS * self._steps
        try:
            os.write(self._socket, b".")
            number = os.read(self._socket, 4)
        except OSError:
            number = b""
        if len(number) == 4:
            last = self.round
            (self.round,) = struct.unpack("!I", number)
            self.again = int(self.round == last)
        else:
            self._socket = None
        self._began, self._steps = time.perf_counter(), 0
        _held[0] += self._began - ended
        return ended, self._began
