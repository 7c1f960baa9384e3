"""Test helper: processes of two backends that took turns, whole ones and short ones."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fake_runs import cell, replace

from kbench.analysis import summaries
from kbench.records.epochs import Epoch, Turn
from kbench.records.values import OK, Measured, Outcome
from kbench.summary import Summary

STEPS = 10  # of a turn; a whole process has two turns in an epoch


def whole(backend: str, pace: float, repeat: int = 1, extra: float = 0.0, **outcome: object) -> Measured:
    """A process of a first epoch and eight steady ones, with steps of `pace` seconds; `extra`: once an epoch."""
    epochs = [Epoch(1, 99.0, 20)]
    for number in range(1, 16, 2):
        steps = (*[_step(pace, number)] * STEPS, *[_step(pace, number + 1)] * STEPS)
        turns = (Turn(number, 0, STEPS), Turn(number + 1, STEPS, 2 * STEPS))
        epochs.append(Epoch(len(epochs) + 1, sum(steps) + extra, 20, step_seconds=steps, rounds=turns))
    made = replace(cell("a", backend), repeat=repeat, epochs=len(epochs), samples=20)
    return Measured(made, Outcome(OK, **outcome), tuple(epochs))  # type: ignore[arg-type]


def short(
    backend: str,
    pace: float,
    timing: int = 1,
    repeat: int = 2,
    first: float = 9.0,
    status: str = OK,
    swing: float = 0.0,
    **outcome: object,
) -> Measured:
    """A process of six turns, the first of which is `first` times as slow; before it there is a step in round 0.

    swing: by how much its turns are slower and faster in turn, as the logarithm of a factor.
    """
    paces = [first * _step(pace, 1)]
    paces += [_step(pace, number) * math.exp(swing * (-1) ** number) for number in range(2, 7)]
    steps = (5.0, *(one for each in paces for one in [each] * STEPS))
    turns = (Turn(0, 0, 1), *(Turn(n + 1, 1 + n * STEPS, 1 + (n + 1) * STEPS) for n in range(6)))
    made = replace(cell("a", backend), repeat=repeat, timing=timing, samples=20)
    epoch = Epoch(1, sum(steps), 61, step_seconds=steps, rounds=turns)
    return Measured(made, Outcome(status, **outcome), (epoch,))  # type: ignore[arg-type]


def _step(pace: float, number: int) -> float:
    return pace * (1 + 0.002 * math.sin(number + 100 * pace))


def rows(measured: Sequence[Measured], further: Sequence[Measured] = ()) -> dict[str, Summary]:
    return {row.backend: row for row in summaries.summarise(measured, short=further)}


X, Y = ("x", 0.1), ("y", 0.12)
WHOLE = [whole(*X), whole(*Y)]
SHORT = [short(*one, timing=number) for one in (X, Y) for number in (1, 2)]
