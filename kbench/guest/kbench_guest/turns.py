"""The turns of this process among cells that run side by side: one computes, the others are stopped.

A turn ends between two steps: this process writes a byte to the socket from the host and waits there for the number
of its next round, or of the same one if that turn is taken again. Meanwhile the host stops the whole process.
"""

import os
import struct
import time
from typing import Optional, Tuple

VARIABLE = "KBENCH_TURNS"  # holds the number of the socket; not set if the cell runs alone
SLOW_SECONDS = 0.02  # of a step
LEAST_SECONDS, MOST_SECONDS = 0.25, 2.0  # of a turn, without its last step
TURNS = 20  # at least, unless they would be shorter than LEAST_SECONDS
# Of a process that only times steps: a turn, and how many turns and seconds settle its time. Its first turn warms up.
SHORT_SECONDS, SETTLED_TURNS, SETTLED_SECONDS = 0.3, 5, 1.5
FEWEST_TURNS, MANY_SECONDS = 3, 4.0  # where steps are slow, so many turns are enough once they took so long
LONG_STEP = 0.5  # seconds; a turn may be a single one
# With the number of a round: other programs disturbed the last turn. It does not count, but for this often.
LOST = 1 << 31
MOST_LOST = 10

_held = [0.0]  # seconds between turns, in all


def held_seconds() -> float:
    """Seconds that this process was held between its turns."""
    return _held[0]


class Call:
    """A call of fit or predict. When it ends, TensorFlow waits for the threads that read its data, for up to a share
    of the time since it began. That time goes on while the process is held, so the wait is longer by the same share.
    """

    def __init__(self) -> None:
        self._began, self._held = time.perf_counter(), held_seconds()

    def added(self, waited: float) -> float:
        """Of the seconds that it waited at its end, those that being held has added."""
        return waited * (held_seconds() - self._held) / max(time.perf_counter() - self._began, 1e-9)


def leave_out(seconds: float) -> None:
    """Count them as if this process had been held."""
    _held[0] += seconds


class Settled(Exception):
    """A process that only times steps has timed enough of them."""


class TurnClient:
    """steps: how many steps this process takes in total; None if it ends as soon as its time is settled."""

    def __init__(self, steps: Optional[int]) -> None:
        number = os.environ.get(VARIABLE)
        self._socket = None if number is None else int(number)
        self._short = steps is None
        self._least_seconds = SHORT_SECONDS if self._short else LEAST_SECONDS
        self._most_steps = max(2, (steps or 0) // TURNS)
        self._turns, self._seconds = 0, 0.0  # after the first turn
        self._last, self._lost = 0.0, 0  # seconds of the last turn; turns that do not count
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

    def ready(self) -> None:
        """Wait until the first step may begin: other processes are starting meanwhile, and steps are taken alone."""
        if self:
            ended = time.perf_counter()
            self._go_on()
            _held[0] += time.perf_counter() - ended

    def is_over(self) -> bool:
        """Whether the turn is over. Call it once before each step except the very first."""
        self._steps += 1
        seconds = time.perf_counter() - self._began
        enough_steps = self._steps > self._most_steps or seconds > LONG_STEP * self._steps
        its_part = seconds >= self._least_seconds and enough_steps
        return self.round == 0 or seconds >= MOST_SECONDS or its_part

    def is_settled(self) -> bool:
        """Whether a process that only times steps has timed enough of them. Call it once when a turn is over."""
        if not self._short or not self.round:
            return False
        self._last = time.perf_counter() - self._began if self._turns else 0.0
        self._seconds += self._last
        self._turns += 1
        slow = self._turns > FEWEST_TURNS and self._seconds >= MANY_SECONDS
        return slow or (self._turns > SETTLED_TURNS and self._seconds >= SETTLED_SECONDS)

    def _go_on(self) -> Optional[int]:
        """Wait to be told to go on; returns what the host tells, None if it has gone."""
        try:
            os.write(self._socket, b".")
            number = os.read(self._socket, 4)
        except OSError:
            number = b""
        if len(number) < 4:
            self._socket = None
            return None
        return int(struct.unpack("!I", number)[0])

    def yield_turn(self) -> Tuple[float, float]:
        """Return (when this turn ended, when the next one began). Without the host there are no more turns."""
        ended = time.perf_counter()
        self.slow = self.round > 0 and ended - self._began > SLOW_SECONDS * self._steps
        told = self._go_on()
        if told is not None:
            last = self.round
            self.round = told % LOST
            self.again = int(self.round == last)
            if told >= LOST and self._turns and self._lost < MOST_LOST:
                self._turns, self._seconds, self._lost = self._turns - 1, self._seconds - self._last, self._lost + 1
        self._began, self._steps = time.perf_counter(), 0
        _held[0] += self._began - ended
        return ended, self._began
