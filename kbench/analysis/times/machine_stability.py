"""Whether other programs kept the machine busy during a run."""

from __future__ import annotations

from collections.abc import Sequence

from kbench.records.values import INTERRUPTED, OK, Measured
from kbench.summary import Summary

SHARE = 0.1  # of the time, or of the cores; more is reported


def disturbed_turns(measured: Sequence[Measured]) -> list[bool]:
    """For each turn, whether other programs took much of its time."""
    return [
        one.outcome.disturbed(number, again)
        for one in measured
        for number, again in {(turn.round, turn.again) for epoch in one.epochs for turn in epoch.rounds}
    ]


def _disturbed(measured: Sequence[Measured]) -> list[bool]:
    """The same; without turns for each process, whether others used the processor while it ran."""
    return disturbed_turns(measured) or [(one.outcome.others or 0.0) > SHARE for one in measured]


def mostly_disturbed(measured: Sequence[Measured]) -> bool:
    """Whether other programs disturbed most of these: their times show the machine then."""
    parts = _disturbed(measured)
    return 2 * sum(parts) > len(parts)


def disturbs(*rows: Summary) -> bool:
    """The same of what these rows' times are from."""
    turns = 2 * sum(row.disturbed_turns for row in rows) > sum(row.turns for row in rows)
    return turns or any(not row.turns and (row.others or 0.0) > SHARE for row in rows)


def is_busy(measured: Sequence[Measured]) -> bool:
    """Whether they disturbed many of these."""
    return sum(_disturbed(measured)) > SHARE * len(_disturbed(measured))


def remark(measured: Sequence[Measured]) -> str:
    """A sentence on it, with advice; none if it is not so, nor of a run that was interrupted, or measured none."""
    statuses, parts = {one.outcome.status for one in measured}, _disturbed(measured)
    if OK not in statuses or INTERRUPTED in statuses or not is_busy(measured):
        return ""
    what = "turns, which are left out" if disturbed_turns(measured) else "processes"
    return f"Other programs used the processor in {sum(parts)} of {len(parts)} {what}. End them and measure again."
