"""A row of Keras beside its framework without Keras: which row that is, and the columns with the ratio."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kbench.additions import Column, Comparison
from kbench.records import axes
from kbench.records.axes import Point
from kbench.records.values import NATIVE, Interval, base
from kbench.summary import Figure, Summary

if TYPE_CHECKING:
    from kbench.analysis.times.ratios import Timed


def twins(backends: Mapping[str, Mapping[str, object]]) -> dict[str, str]:
    """Backend of Keras -> the run's backend of the same framework without Keras, if there is one.

    Of several that of the same version and settings, then the one that is called like the framework.
    """
    frameworks = {name: of for name, about in backends.items() if isinstance(of := about.get("framework"), str)}
    without_keras = [name for name in frameworks if name.startswith(f"{NATIVE}/")]
    chosen = dict[str, str]()
    for name, framework in frameworks.items():
        if name in without_keras:
            continue
        order = {
            other: (_variant(other) != _variant(name), other != base(other), other != f"{NATIVE}/{framework}")
            for other in without_keras
            if frameworks[other] == framework
        }
        if order:
            chosen[name] = min(order, key=order.__getitem__)
    return chosen


def _variant(backend: str) -> Point:
    """Its version and settings."""
    return axes.point({}, backend).without([axes.BACKEND])


def _suits(backends: Mapping[str, Mapping[str, object]]) -> Callable[[Timed, Timed], int]:
    twin_of = twins(backends)
    return lambda row, other: other.row.backend == twin_of.get(row.row.backend, "")


COMPARISON = Comparison(NATIVE, _suits, heading=f"x {NATIVE}", baseline="the same framework without Keras")


def twin(row: Summary) -> str:
    """The backend of its framework without Keras, where the run has that."""
    return row.ratios[NATIVE].reference if NATIVE in row.ratios else ""


def ratio(row: Summary) -> float | None:
    """Its time over that of its twin."""
    return row.ratios[NATIVE].value if NATIVE in row.ratios else None


def interval(row: Summary) -> Interval | None:
    """Of the ratio."""
    return row.ratios[NATIVE].interval if NATIVE in row.ratios else None


COLUMNS = (
    Column(NATIVE, "default_interval", None, Figure(), twin),
    Column("relative_to_native", NATIVE, None, Figure(title=COMPARISON.heading, left_out=7), ratio),
    Column("native_interval", "relative_to_native", None, Figure("relative_to_native", "ends"), interval),
)
