"""Whether the machine stayed the same during a run: a fixed computation before each cell, and other programs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import geometric_mean, median
from typing import Any

from kbench.analysis import intervals
from kbench.values import Measured

ENOUGH_CELLS = 6  # so that a third of them is two or more: one odd moment is no drift
ENOUGH_TOGETHER = 3
SHARE = 0.1  # of the time, or of the cores; more is reported


def between_process_reach(measured: Sequence[Measured]) -> float | None:
    """How far a process's times lie from the usual ones, by the run's fixed computation: 95 % of processes are within
    this factor, as a natural logarithm. None where that is not known.

    Where cells took turns, the usual time is that during the same example.
    """
    all_samples = [seconds for one in measured for seconds in one.outcome.reference_samples]
    together: dict[tuple[str, int], list[float]] = {}
    for one in measured:
        if any(epoch.rounds for epoch in one.epochs):
            together.setdefault((one.cell.example, one.cell.repeat), []).extend(one.outcome.reference_samples)
    within = [
        # They lie closer to their own mean than others would.
        (seconds / geometric_mean(samples)) ** math.sqrt(len(samples) / (len(samples) - 1))
        for samples in together.values()
        if len(samples) >= ENOUGH_TOGETHER
        for seconds in samples
    ]
    return intervals.reach(within or all_samples)


def disturbed_turns(measured: Sequence[Measured]) -> list[bool]:
    """For each turn, whether other programs took much of its time."""
    return [
        number in one.outcome.disturbed_rounds
        for one in measured
        for number in {number for epoch in one.epochs for number, *_ in epoch.rounds}
    ]


def remarks(measured: Sequence[Measured], provenance: Mapping[str, Any]) -> list[str]:
    """Sentences on a machine that was busy or changed its pace during the run, with advice."""
    sentences = []
    cpu = provenance.get("cpu")
    busy = cpu.get("busy") if isinstance(cpu, Mapping) else None
    cores = cpu.get("threads") if isinstance(cpu, Mapping) else None
    if isinstance(busy, int | float) and isinstance(cores, int) and busy > SHARE * cores:
        sentences.append(
            f"Other programs kept {busy:.1f} of {cores} cores busy when the run began. End them and measure again."
        )
    turns = disturbed_turns(measured)
    if sum(turns) > SHARE * len(turns):
        sentences.append(
            f"Other programs kept the processor busy during {sum(turns)} of {len(turns)} turns, which are left out. "
            "End them and measure again."
        )
    reference = [one.outcome.reference_seconds for one in measured if one.outcome.reference_seconds]
    if len(reference) < 2:
        return sentences
    enough = len(reference) >= ENOUGH_CELLS
    usual = median(reference)
    slowest = max(reference) / usual
    third = max(1, len(reference) // 3)
    drift = median(reference[-third:]) / median(reference[:third])
    repeats = max(one.cell.repeat for one in measured)
    more = f"--repeats {repeats + 2}" if repeats > 1 else "--repeats 3"
    if enough and (drift > 1 + SHARE or drift < 1 / (1 + SHARE)):
        changed = f"{drift:.2f} times slower" if drift > 1 else f"{1 / drift:.2f} times faster"
        sentences.append(
            f"The machine became {changed} during the run. Let it cool first, and use {more}: each repeat starts "
            "with another backend."
        )
    elif slowest > 1 + 2 * SHARE:
        slow = sum(seconds > usual * (1 + 2 * SHARE) for seconds in reference)
        sentences.append(
            f"The machine was up to {slowest:.2f} times slower than usual before {slow} of {len(reference)} cells. "
            f"Another program was running; to measure again with more repeats: {more}."
        )
    return sentences
