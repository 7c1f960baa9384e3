"""Measures an example's twin, in a framework's own API, beside the example on Keras: what Keras costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kbench import hooks
from kbench.additions import Column, Comparison, GuestDriver, InPlace, Plot, Told
from kbench.records.values import NATIVE

if TYPE_CHECKING:
    from pathlib import Path

    from kbench.analysis.rows import Analysis
    from kbench.commands.finding import DoctorFinding
    from kbench.planning.tasks import CellTask
    from kbench.plots.styles import Key, RowStyle, Style
    from kbench.records.values import Backend, Build, Device, Example
    from kbench.summary import Summary


@hooks.fills
def guest_driver(task: CellTask) -> GuestDriver | None:
    """What runs a twin."""
    return GuestDriver("native", "kbench_native.driver") if task.kind == NATIVE else None


@hooks.fills
def in_place(
    task: CellTask, example: Example, backend: Backend, device: Device, backends: Sequence[Backend]
) -> InPlace | None:
    """The twin."""
    if backend.kind != NATIVE:
        return None
    from kbench.features.native import twins

    return twins.in_place(task, example, backend, device, backends)


@hooks.fills
def comparisons() -> Sequence[Comparison]:
    """Each row of Keras with its twin."""
    from kbench.features.native.comparison import COMPARISON

    return (COMPARISON,)


@hooks.fills
def columns() -> Sequence[Column]:
    """`native`, and the ratio to it."""
    from kbench.features.native.comparison import COLUMNS

    return COLUMNS


@hooks.fills
def add_packages(backend: Backend, build: Build, folder: Path, log: Path) -> bool | None:
    """Those of Debian, which one framework needs."""
    if build.debian_lock is None:
        return None
    from kbench.features.native import packages

    packages.add(backend, build.debian_lock, folder, log)
    return True


@hooks.fills
def tools() -> Sequence[DoctorFinding]:
    """Apt, whose mirrors have them."""
    from kbench.features.native import packages

    return (packages.apt(),)


@hooks.fills
def told(analysis: Analysis) -> Told:
    """What Keras costs, as a table."""
    from kbench.features.native import table

    cost = table.table(analysis.rows)
    return Told(tables=(cost,) if cost else ())


@hooks.fills
def plots() -> Sequence[Plot]:
    """The same as a picture."""
    return (Plot("keras-cost", _keras_cost),)


def _keras_cost(summaries: Sequence[Summary], styles: Mapping[Key, RowStyle], style: Style) -> Mapping[str, bytes]:
    from kbench.features.native.plot import keras_cost

    return keras_cost(summaries, styles, style)
