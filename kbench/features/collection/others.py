"""Checks of a run against what stands beside it: its own summary.csv, and the other runs of the collection."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from kbench.features.collection import work
from kbench.features.collection.collection import Asked
from kbench.features.collection.submitted import NotChecked, Submitted, label, steady_seconds
from kbench.features.coverage import results
from kbench.features.coverage.values import TRIED
from kbench.features.coverage.versions import sides
from kbench.records import axes
from kbench.records.values import Measured
from kbench.store.files import read_bytes
from kbench.tables.csv import summary_csv

_WORDS = ("notes", "differs", "reason")  # which a newer kbench may say otherwise
_SAME = 1e-6
UNLIKE = 0.02  # share of names whose state may be another one on another machine
Row = tuple[tuple[str, Any], ...]  # its values by name


def summary(run: Submitted) -> Iterator[str]:
    """The summary beside it is what its raw events give, cell by cell. Raises NotChecked if there is none."""
    file = run.pack.parent / run.name / "summary.csv"
    if not file.is_file():
        raise NotChecked("there is no summary.csv beside it; tables are made from its raw events")
    kept = list(csv.DictReader(io.StringIO(read_bytes(file).decode(errors="replace"))))
    made = list(csv.DictReader(io.StringIO(summary_csv(run.rows))))
    if len(kept) != len(made):
        yield f"summary.csv has {len(kept)} rows, and the raw events give {len(made)}"
        return
    for given, row in zip(kept, made, strict=True):
        for name, value in given.items():
            if name in row and name not in _WORDS and not _same(str(value), row[name]):
                of = f"{row['example']} on {row['backend']}"
                found = row[name] or "nothing"
                yield f"summary.csv says {name} {value or 'nothing'} of {of}, and the events give {found}"


def _same(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        return math.isclose(float(one), float(other), rel_tol=_SAME)
    except ValueError:
        return False


def copied(run: Submitted, others: Sequence[Submitted]) -> Iterator[str]:
    """None of its processes is one of another run."""
    seen = {_times(one): (other, one) for other in others for one in other.cells if one.epochs}
    for one in run.cells:
        if one.epochs and _times(one) in seen:
            other, cell = seen[_times(one)]
            yield f"{label(one.cell)}: its times are those of {label(cell.cell)} in {other.name}, to the last digit"


def _times(one: Measured) -> tuple[float, ...]:
    return tuple(epoch.seconds for epoch in one.epochs)


def alike(run: Submitted, others: Sequence[Submitted]) -> Iterator[str]:
    """The same rows of other runs did the same work, with the same losses. Raises NotChecked if there are none."""
    own, compared = work.by_row(run.ok), 0
    for other in others:
        for row, one in work.by_row(other.ok).items():
            mine = own.get(row)
            if (
                mine
                and _versions(mine) == _versions(one)
                and run.spec(mine.cell).get("example_sha256") == other.spec(one.cell).get("example_sha256")
            ):
                compared += 1
                yield from work.differences(mine, one, other.name)
    if not compared:
        raise NotChecked("no other run of the collection has one of its rows, at the same versions")


def _versions(one: Measured) -> tuple[str, str]:
    return one.facts.keras_version, one.facts.backend_version


def times(run: Submitted, others: Sequence[Submitted], asked: Asked) -> Iterator[str]:
    """Rows take about as long as on other machines of the kind. Raises NotChecked if there are none."""
    beside: dict[Row, list[float]] = {}
    for other in others:
        if other.machine == run.machine:
            for row, seconds in _of_rows(other).items():
                beside.setdefault(row, []).append(seconds)
    own = _of_rows(run)
    if not own.keys() & beside.keys():
        raise NotChecked(f"the collection has none of its rows of another {run.machine}")
    for row, seconds in own.items():
        if row in beside:
            usual = median(beside[row])
            if not 1 / asked.times_apart <= seconds / usual <= asked.times_apart:
                values, count = dict(row), len(beside[row])
                yield (
                    f"{values[axes.EXAMPLE]} on {values[axes.BACKEND]}: {seconds:.3g} s an epoch, and {usual:.3g} s "
                    f"on other machines of the kind ({count})"
                )


def cases(run: Submitted) -> Iterator[str]:
    """Every case of its public names was tried, in whole processes or in interrupted ones."""
    plan = results.plan_of(run.run)
    if left := sum(map(len, results.left(run.run.measured, plan.cases, plan.without).values())):
        yield f"{left:,} of its cases were not tried"
    for one in run.cells:
        if one.facts.events_damaged:
            yield f"{label(one.cell)}: {one.facts.events_damaged} of its events cannot be read"


def states(run: Submitted, others: Sequence[Submitted]) -> Iterator[str]:
    """Public names are in the states that another run found with the same versions and cases. Raises NotChecked."""
    own, compared = _states(run), 0
    for other in (one for one in others if one.tries_names):
        for key, found in _states(other).items():
            mine = own.get(key, {})
            both = mine.keys() & found.keys()
            unlike = sorted(name for name in both if mine[name] != found[name])
            compared += bool(both)
            if len(unlike) > UNLIKE * len(both):
                named = ", ".join(f"{name} {mine[name]} and {found[name]}" for name in unlike[:3])
                yield f"{key[0]}: {len(unlike)} of {len(both)} names are in other states in {other.name} ({named})"
    if not compared:
        raise NotChecked("no other run of the collection has a backend at these versions, with these cases")


def _states(run: Submitted) -> dict[tuple[str, ...], dict[str, str]]:
    """State by name, by backend, versions, and the code that made the cases."""
    versions = {one.cell.backend: _versions(one) for one in run.ok if one.facts.keras_version}
    return {
        (name, *versions.get(name, ("", "")), *sorted(side.kbench)): {
            one: of.state for one, of in side.names.items() if of.state in TRIED
        }
        for name, side in sides(run.run).items()
    }


def _of_rows(run: Submitted) -> dict[Row, float]:
    """The usual epoch of each row, by its point and versions."""
    found: dict[Row, list[float]] = {}
    for one in run.ok:
        versions = zip(("keras", "framework"), _versions(one), strict=True)
        row = (*sorted(one.cell.values.items()), *versions, ("profile", one.cell.profile))
        found.setdefault(row, []).extend(steady_seconds(one.epochs))
    return {row: median(seconds) for row, seconds in found.items() if seconds}
