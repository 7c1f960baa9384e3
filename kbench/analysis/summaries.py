"""From measured cells to one row per backend: medians over steady epochs, and the models' scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kbench.analysis import row_figures
from kbench.analysis.row_figures import RowProcesses
from kbench.analysis.sameness import fingerprints
from kbench.analysis.times import intervals, row_times, spreads, step_times
from kbench.analysis.times.processes import RowTime
from kbench.analysis.times.ratios import Timed, ranked
from kbench.analysis.times.spreads import Priors
from kbench.records import axes
from kbench.records.axes import RowKey
from kbench.records.findings import Finding
from kbench.records.values import EPOCHS, OK, PRECISION, REPEATS, STATUSES, Interval, Measured
from kbench.summary import Summary


def summarise(
    measured: Sequence[Measured],
    baseline: str = "",
    provenance: Mapping[str, Any] | None = None,
    confidence: float = intervals.CONFIDENCE,
    backends: Mapping[str, Mapping[str, object]] | None = None,
    short: Sequence[Measured] = (),
    priors: Priors | None = None,
    precision: float = PRECISION,
) -> list[Summary]:
    """One row per RowKey (example, backend, layout, device and whatever else varies), over all repeats of its cell.

    Examples are in the order of `measured`; the rows of one example fastest first, then those that did not end ok.
    Steady epochs are all but the first, so a single epoch has no steady time. Figures are of the repeats that ended
    ok; a row's status and reason are those of its worst repeat. `baseline` is the full name of a backend to compare
    with, beside the fastest; `provenance` is that of their run; `confidence` is that at which the intervals of an
    example's ratios hold together; `backends` are those of the run, as its plan has them.
    `short`: processes that only timed some steps. `priors`: how much processes differ, as far as that is known
    beforehand; rows within `precision` of each other are as fast.
    """
    return ranked(timed(measured, provenance, short, priors), baseline, confidence, backends, precision)


def timed(
    measured: Sequence[Measured],
    provenance: Mapping[str, Any] | None = None,
    short: Sequence[Measured] = (),
    priors: Priors | None = None,
) -> list[Timed]:
    """The rows of `summarise`, in its order and not yet compared."""
    differs, measured = fingerprints.compared(fingerprints.fill_in_layers(measured))
    measured = fingerprints.changed_by_arguments(measured)
    groups: dict[RowKey, list[Measured]] = {}
    for repeat in measured:
        groups.setdefault(repeat.cell.key, []).append(repeat)
    ok = {row: [repeat for repeat in group if repeat.outcome.status == OK] for row, group in groups.items()}
    of_row: dict[RowKey, list[Measured]] = {}
    for process in short:
        of_row.setdefault(process.cell.key, []).append(process)
    times = row_times.row_times(ok, of_row, priors or spreads.shipped())
    rows = [
        RowProcesses(group, of_row.get(row, ()), times.get(row), provenance or {}) for row, group in groups.items()
    ]
    compared = [_timed(row, differs) for row in rows]
    order = axes.order_of([row.ranking.without([axes.DEVICE]) for row in groups])
    return sorted(compared, key=lambda one: (order(one.row.ranking.without([axes.DEVICE])), *_rank(one)))


def _rank(one: Timed) -> tuple[object, ...]:
    row = one.row
    seconds = (one.seconds, row.first_epoch_seconds)
    return (
        STATUSES.index(row.status),
        *(math.inf if value is None or math.isnan(value) else value for value in seconds),
        row.backend,
        row.image_data_format,
        row.device,
    )


def _timed(processes: RowProcesses, differs: Mapping[str, tuple[Finding, ...]]) -> Timed:
    """The row of a cell's processes with the interval of its steady time."""
    row, ok, time = row_figures.summary(processes, differs), processes.ok, processes.time
    if time is not None and (interval := time.interval) is not None:
        several = len(time.places) > 1
        row = replace(
            row,
            epoch_interval=interval,
            per_1000_interval=_per_1000(row, interval),
            resampled=REPEATS if several else EPOCHS,
            resampled_values=len(time.places) if several else _steady_epochs(ok, time),
            between_process_factor=math.exp(time.prediction_half_width()),
        )
    return Timed(row, time, tuple(processes.seconds_to_target))


def _per_1000(row: Summary, interval: Interval) -> Interval | None:
    """The interval in seconds per 1,000 samples: all epochs of a row have the same number of them."""
    if not row.epoch_seconds or row.seconds_per_1000_samples is None:
        return None
    scale = row.seconds_per_1000_samples / row.epoch_seconds
    return Interval(interval.low * scale, interval.high * scale)


def _steady_epochs(ok: Sequence[Measured], time: RowTime) -> int:
    """Those of the one process behind a row's time; of its first one where that is short."""
    whole = [one for one in ok if one.cell.place in time.places] or ok[:1]
    return len(step_times.steady(whole[0].epochs))
