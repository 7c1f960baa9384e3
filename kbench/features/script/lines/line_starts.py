"""Compares what a program's fits start from, where weights are not the same: how far those of a layer are spread.

Backends draw other numbers from the same distribution, of which 64 and more tell the spread to a tenth.
Weights that a training before changed are spread alike, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kbench.analysis.sameness import fingerprints
from kbench.analysis.sameness.usual import majority
from kbench.records.findings import Finding
from kbench.records.values import Measured

SPREAD = "spread of initial weights"
FACTOR = 2.0  # between spreads that are not drawn alike


def differences(measured: Sequence[Measured]) -> list[tuple[Measured, Finding]]:
    """How lines differ from most, or from the first of two."""
    return [pair for group in fingerprints.groups(measured) for pair in _of_group(group)]


def _of_group(group: Sequence[Measured]) -> list[tuple[Measured, Finding]]:
    known = [(one, one.facts.start_spreads) for one in group if one.facts.unit and one.facts.start_spreads]
    if len(known) < 2:
        return []
    reference, usual = majority(known, lambda one, other: not _apart(one[1], other[1]))
    found = []
    for one, own in known:
        if names := _apart(own, usual):
            each, others = ({name: float(f"{of[name]:.3g}") for name in names} for of in (own, usual))
            found.append((one, Finding(kind="aspect", aspect=SPREAD, own=each, other=others)))
    return [(one, replace(how, reference=reference.cell.backend)) for one, how in found]


def _apart(own: Mapping[str, float], other: Mapping[str, float]) -> list[str]:
    """The weights of which one is spread so many times as wide."""
    both = [name for name in own if name in other]
    return [name for name in both if max(own[name], other[name]) > FACTOR * min(own[name], other[name])]
