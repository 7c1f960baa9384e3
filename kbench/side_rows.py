"""What a comparison asks of a run: its rows, and of each repeat what it was and the losses of its epochs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kbench import fairness, stats
from kbench.comparison import Timed
from kbench.values import OK, Measured, Summary


@dataclass(frozen=True)
class Repeat:
    """One cell of a row."""

    repeat: int
    seed: int
    samples: int
    batch_size: int
    ok: bool
    told: Mapping[str, Any]  # what has to be equal: see kbench.fairness.told
    epochs: tuple[int, ...]
    losses: tuple[float | None, ...]  # of these epochs
    val_losses: tuple[float | None, ...]


@dataclass(frozen=True)
class Row:
    """A row of a run's tables with its repeats."""

    timed: Timed
    repeats: tuple[Repeat, ...]

    @property
    def summary(self) -> Summary:
        """Its figures; not compared with those of other rows."""
        return self.timed.row


def rows(measured: Sequence[Measured], timed: Sequence[Timed] | None = None) -> list[Row]:
    """The rows of a run, in the order of its tables; `timed` are those of kbench.stats, where they have been made."""
    cells: dict[tuple[str, str, str, str], list[Repeat]] = {}
    for one in measured:
        cells.setdefault(stats.row_of(one.cell), []).append(_repeat(one))
    found = stats.timed(measured) if timed is None else timed
    return [
        Row(one, tuple(cells[one.row.example, one.row.backend, one.row.image_data_format, one.row.device]))
        for one in found
    ]


def _repeat(one: Measured) -> Repeat:
    cell = one.cell
    return Repeat(
        cell.repeat,
        cell.seed,
        cell.samples,
        cell.batch_size,
        one.outcome.status == OK,
        fairness.told(one),
        tuple(one.epochs.values("epoch")),
        tuple(one.epochs.values("loss")),
        tuple(one.epochs.values("val_loss")),
    )
