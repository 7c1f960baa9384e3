"""Gives turns to guests that run side by side: one computes at a time, and the others are stopped.

A guest computes until it reports on its socket that its turn is over (see `kbench_guest.turns`). Then it is stopped,
with all its threads and children. In each round every guest has one turn, in a new random order, and those whose turn
other programs disturbed have another one at its end.
"""

from __future__ import annotations

import contextlib
import os
import random
import selectors
import signal
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import psutil

from kbench.cells import processor_time
from kbench.cells.orphans import signal_group
from kbench.machine import host

VARIABLE = "KBENCH_TURNS"  # as kbench_guest.turns reads it
LOST = 1 << 31  # as there: with the number of a round, if the guest's last turn was disturbed
# A turn in which other programs used more than this share of the cores' time does not count.
DISTURBED = 0.1
LEAST_MIB = 2048.0  # must be free before another guest is started


@dataclass(frozen=True)
class Look:
    """What the machine's clock and processor show at a time, in seconds."""

    clock: float
    busy: float  # of all cores that cells may use
    used: processor_time.Times  # of these by a guest


@dataclass(eq=False)
class ProcessTurn:
    """The turns of one guest."""

    ours: socket.socket
    guests: socket.socket
    pids: tuple[int, ...] = ()  # of its processes; the first one takes turns
    held: bool = False
    was_held: bool = False  # it has started, and was held
    stepped: bool = False  # it has had a turn for its first step
    again: bool = False  # its last turn was disturbed, and is taken again
    # Rounds in which other programs took much of the time, and those in which they did when it was taken again.
    disturbed: list[int] = field(default_factory=list)
    disturbed_again: list[int] = field(default_factory=list)
    _lost: bool = False  # its last turn was disturbed
    _held_seconds: float = 0.0  # up to the last hold
    _since: float = 0.0
    _round: int = 0  # the current one; 0 during the first turn
    _before: Look | None = None  # of its turn

    def started(self, pids: tuple[int, ...]) -> None:
        """Its processes have started."""
        self.pids = pids
        self.guests.close()

    def hold(self) -> None:
        """Stop the guest: its turn is over."""
        for pid in self.pids:
            signal_group(pid, signal.SIGSTOP)
        self.held = self.was_held = True
        self._since = time.monotonic()
        self._lost = self.judge(share_of_others(self._before, look(self.pids)) if self._before else 0.0)
        self.again = self._lost and not self.again  # once: if the machine stays busy, a third would be no better

    def judge(self, others: float) -> bool:
        """Whether other programs took much of its turn, by the share of the cores' time that they used; notes it."""
        if disturbed := self._round > 0 and others > DISTURBED:
            (self.disturbed_again if self.again else self.disturbed).append(self._round)
        return disturbed

    def go_on(self, number: int) -> None:
        """Start its turn in the round `number`: another one if that is the round of its last turn."""
        self._held_seconds = self.held_seconds
        self.held, self._round, self._before = False, number, look(self.pids)
        for pid in self.pids:
            signal_group(pid, signal.SIGCONT)
        with contextlib.suppress(OSError):  # it has ended
            self.ours.send(struct.pack("!I", number | (LOST if self._lost else 0)))

    @property
    def held_seconds(self) -> float:
        """The seconds in which it was held so far."""
        return self._held_seconds + (time.monotonic() - self._since if self.held else 0.0)


class TurnScheduler:
    """All guests that take turns. `seed` is for the random order of the rounds."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)
        self._selector = selectors.DefaultSelector()
        self._turns: list[ProcessTurn] = []
        self._left: list[ProcessTurn] = []  # of this round
        self._round = 0

    def join(self, stepping: bool = True) -> ProcessTurn:
        """Add a guest that is about to start. It computes until its first step is done, or with stepping=False until
        that may begin.
        """
        turn = ProcessTurn(*socket.socketpair(), stepped=stepping)
        self._turns.append(turn)
        self._selector.register(turn.ours, selectors.EVENT_READ, turn)
        return turn

    def leave(self, turn: ProcessTurn) -> None:
        """Its process has ended."""
        self._forget(turn)
        turn.ours.close()
        turn.guests.close()
        self._turns.remove(turn)

    def room(self) -> bool:
        """Whether there is memory for another guest, assuming 1.5 times that of the largest one."""
        held = [sum(map(_resident_mib, turn.pids)) for turn in self._turns]
        return not held or host.available_mib() > max(LEAST_MIB, 1.5 * max(held))

    @property
    def starting(self) -> int:
        """How many guests have not been held yet."""
        return sum(not turn.was_held for turn in self._turns)

    @property
    def all_held(self) -> bool:
        return all(turn.held for turn in self._turns)

    def next(self) -> ProcessTurn:
        """Start the next turn, while all guests are held; returns its guest. First steps come first, in round 0."""
        if first := [turn for turn in self._turns if not turn.stepped]:
            first[0].stepped = True
            first[0].go_on(0)
            return first[0]
        self._left = [turn for turn in self._left if turn in self._turns]
        if not self._left:
            self._round += 1
            self._left = self._random.sample(self._turns, len(self._turns))
        turn = self._left.pop()
        turn.go_on(self._round)
        return turn

    def wait(self, seconds: float) -> list[ProcessTurn]:
        """Wait until a turn or a process ends, at most this long; returns the guests whose process has ended."""
        ended = []
        for key, _ in self._selector.select(seconds):
            turn: ProcessTurn = key.data
            try:
                report = turn.ours.recv(16)
            except OSError:
                report = b""
            if report:
                turn.hold()
                if turn.again:
                    self._left.insert(0, turn)
            else:
                self._forget(turn)
                ended.append(turn)
        return ended

    def close(self) -> None:
        for turn in list(self._turns):
            self.leave(turn)
        self._selector.close()

    def _forget(self, turn: ProcessTurn) -> None:
        with contextlib.suppress(KeyError):
            self._selector.unregister(turn.ours)


def look(pids: Sequence[int]) -> Look:
    """At the machine, and at these processes with all below them."""
    return Look(time.monotonic(), _busy_seconds(), processor_time.used(pids))


def share_of_others(before: Look, after: Look) -> float:
    """Of the cores' time from one look to the other, what other programs used."""
    others = max(0.0, after.busy - before.busy - processor_time.between(before.used, after.used))
    return others / max(1e-9, (after.clock - before.clock) * len(os.sched_getaffinity(0)))


def _busy_seconds() -> float:
    """Of all cores that cells may use."""
    cores = psutil.cpu_times(percpu=True)
    may_use = [cores[number] for number in os.sched_getaffinity(0) if number < len(cores)]
    return float(sum(sum(one) - one.idle - one.iowait - one.guest - one.guest_nice for one in may_use))


def _resident_mib(pid: int) -> float:
    with contextlib.suppress(psutil.Error):
        return float(psutil.Process(pid).memory_info().rss / 2**20)
    return 0.0
