"""What a comparison asks of a run: its rows, and of each repeat what it was and the losses of its epochs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kbench.analysis import fingerprints, summaries
from kbench.analysis.ratios import Timed
from kbench.analysis.roofline import Limits
from kbench.epochs import Epochs
from kbench.values import OK, Measured, Summary

if TYPE_CHECKING:
    from kbench.epochs import Numbers

# A number for each epoch, as bytes: a million are kept, and read again, in a tenth of the time. One by one where the
# guest has left one out, which is not the same as having told NaN.
Losses = bytes | tuple[float | None, ...]
_FLOAT, _INT = "<f8", "<i8"


@dataclass(frozen=True)
class Repeat:
    """One cell of a row."""

    repeat: int
    seed: int
    samples: int
    batch_size: int
    ok: bool
    told: Mapping[str, Any]  # what has to be equal: see kbench.analysis.fingerprints.told
    numbers: bytes  # of its epochs
    losses: Losses  # of these epochs
    val_losses: Losses
    reference_samples: tuple[float, ...] = ()  # seconds of the fixed computation before the cell

    @property
    def epochs(self) -> list[int]:
        """The numbers of its epochs."""
        found: list[int] = np.frombuffer(self.numbers, _INT).tolist()
        return found

    @property
    def both_losses(self) -> list[tuple[float | None, float | None]]:
        """The loss of each epoch, in training and validation; None where it was not told."""
        return list(zip(_values(self.losses), _values(self.val_losses), strict=True))

    @property
    def every_loss(self) -> Numbers | None:
        """The losses of training and then those of validation; None where one was not told."""
        if isinstance(self.losses, bytes) and isinstance(self.val_losses, bytes):
            return np.frombuffer(self.losses + self.val_losses, _FLOAT)
        return None


@dataclass(frozen=True)
class Row:
    """A row of a run's tables with its repeats."""

    timed: Timed
    repeats: tuple[Repeat, ...]

    @property
    def summary(self) -> Summary:
        """Its figures; not compared with those of other rows."""
        return self.timed.row


def rows(measured: Sequence[Measured], limits: Limits | None = None) -> list[Row]:
    """The rows of a run, in the order of its tables; `limits` are those of its machine."""
    cells: dict[tuple[str, str, str, str], list[Repeat]] = {}
    for one in measured:
        cells.setdefault(summaries.row_of(one.cell), []).append(_repeat(one))
    return [
        Row(one, tuple(cells[one.row.example, one.row.backend, one.row.image_data_format, one.row.device]))
        for one in summaries.timed(measured, limits)
    ]


def _repeat(one: Measured) -> Repeat:
    cell = one.cell
    return Repeat(
        cell.repeat,
        cell.seed,
        cell.samples,
        cell.batch_size,
        one.outcome.status == OK,
        fingerprints.told(one),
        one.epochs.epoch.astype(_INT).tobytes(),
        _losses(one.epochs, "loss"),
        _losses(one.epochs, "val_loss"),
        one.outcome.reference_samples,
    )


def _losses(epochs: Epochs, name: str) -> Losses:
    if len(epochs.told(name)) < len(epochs):
        return tuple(epochs.values(name))
    return epochs.numbers(name).astype(_FLOAT).tobytes()


def _values(losses: Losses) -> Sequence[float | None]:
    if isinstance(losses, bytes):
        found: list[float | None] = np.frombuffer(losses, _FLOAT).tolist()
        return found
    return losses
