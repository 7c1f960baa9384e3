"""Published figures (results/published/): read, and compared with a run's own."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import msgspec

from kbench.base import paths
from kbench.errors import UserError
from kbench.records import axes
from kbench.records.values import NATIVE, OK
from kbench.summary import Summary

_SECONDS = {"s": 1, "min": 60}  # in a unit


@dataclass(frozen=True, kw_only=True)
class PublishedFigure:
    """A source's figure; counts are None where it gives none."""

    source: str  # a key of results/published/README.md
    year: int
    workload: str  # an example's name, where kbench has it
    framework: str
    backend: str = ""  # full name, where the framework is Keras on that backend, or a native one
    hardware: str = ""
    cudnn_rnn: str = ""  # "yes" or "no", where that is known
    gpus: int | None = None
    threads: int | None = None
    batch_size: int | None = None
    epochs: int | None = None
    metric: str
    value: float
    spread: float | None = None  # standard deviation over the source's runs, in the unit
    unit: str
    note: str = ""

    @property
    def of_network(self) -> bool:
        """Whether it was measured on a network; a count of what an API offers was not."""
        return self.unit != "count"

    @property
    def workers(self) -> int:
        """How many trained together: a GPU each."""
        return self.gpus or 1

    @property
    def per_1000(self) -> bool:
        """Whether its seconds are of 1,000 samples, and not of an epoch."""
        return self.metric in ("time_per_1000_images", "time_per_minibatch")

    @property
    def seconds(self) -> float | None:
        """Seconds per epoch of all samples, or per 1,000 samples; None for any other measure."""
        if self.unit not in _SECONDS:
            return None
        seconds = self.value * _SECONDS[self.unit]
        if self.metric == "training_time":
            return seconds / self.epochs if self.epochs else None
        if self.metric == "time_per_minibatch":
            return seconds / self.batch_size * 1000 if self.batch_size else None
        return seconds if self.metric in ("epoch_time", "time_per_1000_images") else None


@dataclass(frozen=True)
class FigureBesideRow:
    """A row of a run beside a figure of the same workload."""

    row: Summary
    seconds: float  # of the row, in the figure's measure: an epoch of all samples, or 1,000 samples
    figure: PublishedFigure
    published: float  # seconds
    same_backend: bool  # whether the figure is of this row's backend, in whichever generation
    differs: tuple[str, ...]  # beside the hardware

    @property
    def ratio(self) -> float:
        """How many times the published time the row takes."""
        return self.seconds / self.published


_COLUMNS = tuple(field.name for field in fields(PublishedFigure))


def read(path: Path | None = None) -> list[PublishedFigure]:
    """All figures, in the file's order. Raises UserError where it is missing or damaged."""
    path = path or paths.project_folder("results") / "published" / "figures.csv"
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file)
            if tuple(rows.fieldnames or ()) != _COLUMNS:
                raise ValueError("other columns")
            known = [{name: text for name, text in row.items() if text} for row in rows]
            return msgspec.convert(known, list[PublishedFigure], strict=False)
    except OSError as error:
        raise UserError(f"Cannot read {path}: {error.strerror or error}.") from error
    except (ValueError, msgspec.ValidationError, csv.Error) as error:
        raise UserError(f"{path} is damaged: it does not have the columns {', '.join(_COLUMNS)}.") from error


def read_or_empty() -> list[PublishedFigure]:
    """The same, or none where they cannot be read: a page is worth having without, and `list published` says why."""
    try:
        return read()
    except UserError:
        return []


def addresses(path: Path | None = None) -> dict[str, str]:
    """The address of each source, by its name: only https://. Empty where the file cannot be read."""
    path = path or paths.project_folder("results") / "published" / "sources.csv"
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reported = {row.get("source"): row.get("address") for row in csv.DictReader(file)}
    except (OSError, ValueError, csv.Error):
        return {}
    return {
        name: address for name, address in reported.items() if name and address and address.startswith("https://")
    }


def beside_figures(rows: Iterable[Summary], figures: Sequence[PublishedFigure]) -> list[FigureBesideRow]:
    """Each timed row beside each figure of the same workload that is a time; in the rows' order, then the file's.

    A row of several workers only beside figures of as many GPUs.
    """
    found = []
    by_workload: dict[tuple[str, bool], list[PublishedFigure]] = {}
    for figure in figures:
        by_workload.setdefault((figure.workload, figure.metric == "time_per_1000_images"), []).append(figure)
    for row in rows:
        for figure in by_workload.get((row.example, row.work.per_samples), ()):
            seconds = _seconds(row, figure.per_1000)
            if seconds and workers_of(row) in (1, figure.workers) and (published := figure.seconds):
                same = same_backend(figure.backend, row.backend)
                found.append(FigureBesideRow(row, seconds, figure, published, same, _differs(row, figure)))
    return found


def workers_of(row: Summary) -> int:
    """How many trained together."""
    return int(row.key[axes.WORKERS] or 1)


def same_backend(one: str, other: str) -> bool:
    """Whether these names are of one backend, in whichever generation."""
    return bool(one) and _of_any_generation(one) == _of_any_generation(other)


def _of_any_generation(backend: str) -> tuple[bool, str]:
    """Whether it is without Keras, and its name without the 1 of a framework's first generation.

    Any other number is part of a name: a 2 or a 7 may stand for another program.
    """
    generation, _, name = backend.partition("/")
    return generation == NATIVE, name.removesuffix("1") if generation == NATIVE else name


def _seconds(row: Summary, per_1000_samples: bool) -> float | None:
    """The row's time for 1,000 samples, or for an epoch of all samples of the published setting."""
    per_1000 = row.seconds_per_1000_samples
    if row.status != OK or row.differs or not per_1000:
        return None
    return per_1000 if per_1000_samples else per_1000 / 1000 * row.epoch_samples


def _differs(row: Summary, figure: PublishedFigure) -> tuple[str, ...]:
    """What differs, apart from hardware and software versions."""
    trains, samples = not row.work.per_samples, row.epoch_samples
    by_epoch = not figure.per_1000
    batch = "not published" if figure.batch_size is None else f"{figure.batch_size} published"
    possible = {
        f"batch size {batch}, {row.batch_size} here": figure.batch_size != row.batch_size,
        f"samples per epoch not published, {samples:,} assumed": by_epoch,
        f"measured here on {row.samples:,} of {samples:,} samples and scaled up": by_epoch and row.samples < samples,
        "published with cuDNN's recurrent kernel": figure.cudnn_rnn == "yes",
        f"{figure.gpus} GPUs published": figure.workers > workers_of(row),
        "synthetic data here": trains and row.data_source == "synthetic",
    }
    return tuple(text for text, applies in possible.items() if applies)
