"""How much processes of a backend differ: the prior of `levels`, from what was measured.

process_spreads.csv has the processes of many rows of runs, which benchmarks/process_spreads.py collects; the user's
own runs are added. The prior is fitted to them by empirical Bayes over a grid of spreads (Lu & Stephens, *Variance
adaptive shrinkage*, Bioinformatics 32, 2016), so heavy tails stay in it. What a backend shows in another version,
with other settings or threads, or with another number on an axis counts for rows that are run so, and for no others.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from kbench.analysis.times import levels
from kbench.analysis.times.levels import Numbers
from kbench.records import axes
from kbench.records.values import Cell, base

SHIPPED = Path(__file__).with_name("process_spreads.csv")
RECURRENT, OTHER = "recurrent", "other"  # kinds of work
# As many measured rows as what is known of more general rows counts for: of all backends for one of them, of a
# backend for how it may be set, and for a kind of its work.
GENERAL = 4.0
FLAT = 0.5  # rows' worth of a flat prior, so that nothing is impossible
_PASSES = 60


@dataclass(frozen=True)
class Processes:
    """The processes of a row of a run."""

    backend: str  # see `configuration`
    kind: str  # of work: RECURRENT or OTHER
    logs: tuple[float, ...]  # of their times, without what their repeats have in common
    errors: tuple[float, ...]  # standard errors of these, from their own turns or epochs
    source: str = ""  # the run
    example: str = ""


Priors = Mapping[tuple[str, str], Numbers]  # by backend and kind, and "" for any: the weight of each of SPREADS


def configuration(cell: Cell, usual_threads: int = 0) -> str:
    """A cell's backend, and which of its numbers are unusual: `NAME+jit=off workers=2 threads=1`."""
    others = [axis for axis in axes.of_cells() if axis.number and axis.default]
    numbers = [f"{one.name}={cell.values[one.name]}" for one in others if cell.values[one.name] != one.default]
    threads = [f"{axes.THREADS}={cell.threads}"] if cell.threads not in (0, usual_threads) else []
    return " ".join([cell.backend, *numbers, *threads])


def more_general(name: str) -> list[str]:
    """A configuration, and those that say less: without threads, without other numbers, the backend as it comes."""
    words = name.split(" ")
    without = [one for one in words if not one.startswith(f"{axes.THREADS}=")]
    return list(dict.fromkeys([name, " ".join(without), words[0], base(words[0])]))


def prior(priors: Priors, backend: str, kind: str) -> Numbers:
    """The prior of a row of this configuration and kind of work."""
    names = [(name, of) for name in more_general(backend) for of in (kind, "")]
    return next(priors[name] for name in (*names, ("", "")) if name in priors)


def read(path: Path = SHIPPED) -> list[Processes]:
    """The rows in a file; none if it is missing. Raises ValueError or KeyError if it is damaged."""
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Processes(
                row["backend"],
                row["kind"],
                tuple(map(float, row["logs"].split())),
                tuple(map(float, row["errors"].split())),
                row["source"],
                row["example"],
            )
            for row in csv.DictReader(file)
        ]


def write(path: Path, rows: Iterable[Processes]) -> None:
    """Write them for `read`."""
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["source", "example", "backend", "kind", "logs", "errors"])
        for row in rows:
            numbers = (" ".join(f"{one:.5f}" for one in values) for values in (row.logs, row.errors))
            table.writerow([row.source, row.example, row.backend, row.kind, *numbers])


def fit(rows: Sequence[Processes]) -> dict[tuple[str, str], Numbers]:
    """The priors that these rows show; those of one process say nothing."""
    several = [row for row in rows if len(row.logs) > 1]
    # Errors are left out: as estimated from few turns, they would take the blame for most of what processes differ.
    evidence = [levels.likelihood(row.logs, [0.0] * len(row.logs))[1].sum(axis=1) for row in several]
    return by_name([(row.backend, row.kind) for row in several], evidence, len(levels.SPREADS))


def by_name(
    names: Sequence[tuple[str, str]], evidence: Sequence[Numbers], count: int
) -> dict[tuple[str, str], Numbers]:
    """The priors over `count` spreads of rows with these names, a general and a special one, and of all.

    evidence: of each row, how likely each spread makes what was measured.
    """
    flat = np.full(count, 1 / count)
    if not names:
        return {("", ""): flat}
    likely = np.array(evidence)
    likely /= likely.sum(axis=1, keepdims=True)
    usual = [len(more_general(general)) == 1 for general, _ in names]
    of_all = flat
    for _ in range(_PASSES):
        of_all = _smooth(_shares(likely[usual], of_all).sum(axis=0) + FLAT * flat)
    shares = _shares(likely, of_all)
    found = {("", ""): of_all}
    for general in sorted(dict.fromkeys(general for general, _ in names), key=lambda name: len(more_general(name))):
        its = [name[0] == general for name in names]
        found[general, ""] = _smooth(shares[its].sum(axis=0) + GENERAL * prior(found, general, ""))
        for name in dict.fromkeys(name for name in names if name[0] == general):
            alike = [other == name for other in names]
            found[name] = _smooth(shares[alike].sum(axis=0) + GENERAL * found[general, ""])
    return found


def record(priors: Priors) -> list[list[object]]:
    """Them for run.json."""
    return [[*name, [round(float(one), 6) for one in weights]] for name, weights in priors.items()]


def from_record(kept: Sequence[object]) -> Priors | None:
    """The priors that run.json has; None where they are damaged or on another grid."""
    found = {}
    for entry in kept:
        match entry:
            case [str(backend), str(kind), [*weights]] if _are_weights(weights):
                found[backend, kind] = np.asarray(weights, dtype=float)
            case _:
                return None
    return found if ("", "") in found else None


def _are_weights(values: Sequence[object]) -> bool:
    """Whether these are the weights of SPREADS."""
    known = [one for one in values if isinstance(one, int | float) and 0 <= one <= 1]
    return len(known) == len(values) == len(levels.SPREADS) and sum(known) > 0


@lru_cache(maxsize=1)
def shipped() -> Mapping[tuple[str, str], Numbers]:
    """The priors from the runs that come with kbench."""
    return fit(read())


def _shares(evidence: Numbers, weights: Numbers) -> Numbers:
    """How likely each spread is for each row."""
    joint = evidence * weights
    shares: Numbers = joint / joint.sum(axis=1, keepdims=True)
    return shares


def _smooth(weights: Numbers) -> Numbers:
    """Neighbours share, since a fit to few rows has gaps; the sum is 1."""
    padded = np.pad(weights, 1, mode="edge")
    smoothed: Numbers = padded[:-2] / 4 + padded[1:-1] / 2 + padded[2:] / 4
    smoothed /= smoothed.sum()
    return smoothed
