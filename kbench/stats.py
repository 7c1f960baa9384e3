"""From measured cells to one row a backend: medians over steady epochs, and ratios to the fastest."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median

from kbench import fairness
from kbench.values import OK, STATUSES, Cell, Epoch, Measured, Summary


def summarise(measured: Sequence[Measured]) -> list[Summary]:
    """One row per example, backend, image_data_format and device, over all repeats of its cell.

    Examples stand in the order of `measured`; the rows of one example fastest first, then those that did
    not end ok. Steady epochs are all but the first: where a cell has one epoch, there is no steady figure.
    Figures are of the repeats that ended ok; a row's status and reason are those of its worst repeat.
    """
    groups: dict[tuple[str, str, str, str], list[Measured]] = {}
    for one in measured:
        groups.setdefault(_row_of(one.cell), []).append(one)
    differs = fairness.differences(measured)
    rows = _relative_to_fastest([_summary(group, differs) for group in groups.values()])
    order = {name: place for place, name in enumerate(dict.fromkeys(row.example for row in rows))}
    return sorted(rows, key=lambda row: (order[row.example], *_rank(row)))


def steady(epochs: Sequence[Epoch]) -> list[Epoch]:
    """All epochs but the first, which holds compilation and warm-up."""
    return [epoch for epoch in epochs if epoch.epoch > 1]


def _row_of(cell: Cell) -> tuple[str, str, str, str]:
    return cell.example, cell.backend, cell.image_data_format, cell.device


def _rank(row: Summary) -> tuple[object, ...]:
    seconds = (row.epoch_seconds, row.first_epoch_seconds)
    return (
        STATUSES.index(row.status),
        *(math.inf if value is None else value for value in seconds),
        row.backend,
        row.image_data_format,
        row.device,
    )


def _summary(repeats: Sequence[Measured], differs: Mapping[str, tuple[str, ...]]) -> Summary:
    cell = repeats[0].cell
    worst = max(repeats, key=lambda one: STATUSES.index(one.outcome.status))
    ok = [one for one in repeats if one.outcome.status == OK]
    measured_first = [one.epochs[0] for one in ok if one.epochs and one.epochs[0].epoch == 1]
    steady_epochs = [epoch for one in ok for epoch in steady(one.epochs)]
    timed = [epoch for epoch in steady_epochs if epoch.seconds > 0 and epoch.samples > 0]
    last = [one.epochs[-1] for one in ok if one.epochs]
    # A repeat that failed may still know its versions and the size of its model.
    facts = _first_facts([*ok, *repeats])
    return Summary(
        example=cell.example,
        backend=cell.backend,
        image_data_format=cell.image_data_format,
        device=cell.device,
        profile=cell.profile,
        status=worst.outcome.status,
        reason=_reason(worst, repeats),
        repeats=len(ok),
        epoch_seconds=_median(epoch.seconds for epoch in steady_epochs),
        first_epoch_seconds=_median(epoch.seconds for epoch in measured_first),
        samples_per_second=_median(epoch.samples / epoch.seconds for epoch in timed),
        relative_to_fastest=None,
        final_loss=_mean(epoch.loss for epoch in last),
        final_accuracy=_mean(epoch.accuracy for epoch in last),
        final_val_loss=_mean(epoch.val_loss for epoch in last),
        final_val_accuracy=_mean(epoch.val_accuracy for epoch in last),
        parameters=_whole(facts.get("parameters")),
        keras_version=_text(facts.get("keras_version")),
        backend_version=_text(facts.get("backend_version")),
        task=_text(facts.get("task")) or "train",
        form=_text(facts.get("form")),
        input=_text(facts.get("input")),
        batch_size=cell.batch_size,
        samples=cell.samples,
        validation_samples=cell.validation_samples,
        epochs=cell.epochs,
        available_samples=_whole(facts.get("available_samples")),
        data=_text(facts.get("data")),
        data_source=_text(facts.get("data_source")),
        data_sha256=_text(facts.get("data_sha256")),
        phases=_phases(ok),
        evaluation_seconds=_median(_evaluations(ok)),
        seconds_per_1000_samples=_median(1000 * epoch.seconds / epoch.samples for epoch in timed),
        notes=_notes(repeats),
        peak_memory_mib=_median(_numbers(ok, "peak_memory_mib")),
        import_memory_mib=_median(_numbers(ok, "import_memory_mib")),
        tree_memory_mib=_median(m for one in ok if (m := one.outcome.tree_memory_mib) is not None),
        weights=_text(facts.get("weights")),
        fingerprint=next((known for one in [*ok, *repeats] if (known := fairness.fingerprint(one))), ""),
        differs=tuple(dict.fromkeys(said for one in repeats for said in differs.get(one.cell.id, ()))),
    )


def _relative_to_fastest(rows: Sequence[Summary]) -> list[Summary]:
    """The same rows, those that ended ok with their ratio to the fastest of their example and device.

    A row that was not measured like the others has no ratio, and none is taken to it.
    """
    fastest: dict[tuple[str, str], float] = {}
    for row in rows:
        if row.status == OK and not row.differs and row.epoch_seconds:
            place = (row.example, row.device)
            fastest[place] = min(row.epoch_seconds, fastest.get(place, math.inf))
    return [
        replace(row, relative_to_fastest=row.epoch_seconds / fastest[row.example, row.device])
        if row.status == OK and not row.differs and row.epoch_seconds
        else row
        for row in rows
    ]


def _reason(worst: Measured, repeats: Sequence[Measured]) -> str:
    alike = all(one.outcome.status == worst.outcome.status for one in repeats)
    reason = worst.outcome.reason
    return reason if alike or not reason else f"repeat {worst.cell.repeat}: {reason}"


def _phases(ok: Sequence[Measured]) -> dict[str, float]:
    names = dict.fromkeys(name for one in ok for name in one.phases)
    return {name: median(one.phases[name] for one in ok if name in one.phases) for name in names}


def _evaluations(ok: Sequence[Measured]) -> list[float]:
    """Seconds of each evaluation: one an epoch, or else the one that the guest gives as a phase."""
    by_epoch = [e.evaluation_seconds for one in ok for e in one.epochs if e.evaluation_seconds is not None]
    return by_epoch or [one.phases["evaluation"] for one in ok if "evaluation" in one.phases]


def _notes(repeats: Sequence[Measured]) -> tuple[str, ...]:
    notes: dict[str, None] = {}  # as a set that keeps its order
    for one in repeats:
        told = one.facts.get("notes")
        notes |= dict.fromkeys(_text(note) for note in told) if isinstance(told, list | tuple) else {}
    damaged = sum(_whole(one.facts.get("events_damaged")) or 0 for one in repeats)
    if damaged:
        notes[f"{damaged} damaged {'line' if damaged == 1 else 'lines'} left out of what was measured"] = None
    return tuple(note for note in notes if note)


def _numbers(measured: Iterable[Measured], fact: str) -> list[float]:
    return [value for one in measured if isinstance(value := one.facts.get(fact), float)]


def _first_facts(measured: Iterable[Measured]) -> Mapping[str, object]:
    """Every fact, as told by the first of `measured` that knows it."""
    facts: dict[str, object] = {}
    for one in measured:
        facts = {**one.facts, **{key: value for key, value in facts.items() if value not in (None, "")}}
    return facts


def _median(values: Iterable[float]) -> float | None:
    known = list(values)
    return median(known) if known else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    # Not fmean: it raises where a diverged loss is infinite in one repeat and huge or NaN in another.
    return sum(known) / len(known) if known else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
