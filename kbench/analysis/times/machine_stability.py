"""Whether other programs kept the machine busy during a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kbench.records.values import Measured
from kbench.summary import Summary

SHARE = 0.1  # of the time, or of the cores; more is reported


def disturbed_turns(measured: Sequence[Measured]) -> list[bool]:
    """For each turn, whether other programs took much of its time."""
    return [
        one.outcome.disturbed(number, again)
        for one in measured
        for number, again in {(turn.round, turn.again) for epoch in one.epochs for turn in epoch.rounds}
    ]


def mostly_disturbed(measured: Sequence[Measured]) -> bool:
    """Whether other programs disturbed most turns of these: their times show the machine then. The same of processes
    that have no turns, if others used the processor while most of them ran.
    """
    turns = disturbed_turns(measured) or [(one.outcome.others or 0.0) > SHARE for one in measured]
    return 2 * sum(turns) > len(turns)


def disturbs(*rows: Summary) -> bool:
    """The same of what these rows' times are from."""
    turns = 2 * sum(row.disturbed_turns for row in rows) > sum(row.turns for row in rows)
    return turns or any(not row.turns and (row.others or 0.0) > SHARE for row in rows)


def is_busy(measured: Sequence[Measured], provenance: Mapping[str, Any]) -> bool:
    """Whether other programs kept it busy when the run began, or during many of its turns."""
    return bool(remarks(measured, provenance))


def remarks(measured: Sequence[Measured], provenance: Mapping[str, Any]) -> list[str]:
    """Sentences on a machine that other programs kept busy, with advice."""
    sentences = []
    cpu = provenance.get("cpu")
    cpu = cpu if isinstance(cpu, Mapping) else {}
    busy, cores = cpu.get("busy"), cpu.get("visible")
    if isinstance(busy, int | float) and isinstance(cores, int | float) and busy > SHARE * cores:
        cores = cores if busy <= cores else cpu.get("threads", cores)  # earlier runs counted all of the machine's
        sentences.append(
            f"Other programs kept {busy:.1f} of {cores:g} cores busy when the run began. End them and measure again."
        )
    turns = disturbed_turns(measured)
    if sum(turns) > SHARE * len(turns):
        sentences.append(
            f"Other programs kept the processor busy during {sum(turns)} of {len(turns)} turns, which are left out. "
            "End them and measure again."
        )
    return sentences
