"""Compares runs side by side: finds matching rows, checks whether they are comparable, and compares them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kbench.analysis.rows import Analysis
from kbench.analysis.sameness import fingerprints
from kbench.analysis.times.ratios import Compared, Timed, between_samples, compare, verdict
from kbench.features.compare.values import EQUAL, FINGERPRINT, HIGHER, LOWER, MACHINE, WITHIN, About, Pair
from kbench.machine.provenance import machine_differences
from kbench.records import axes
from kbench.records.axes import Point, RowKey
from kbench.records.values import NOT_COMPARED, OK, Measured
from kbench.summary import TO_RUN, Summary
from kbench.words.sentences import is_not_finite, sentence


@dataclass(frozen=True)
class ComparedRun:
    """One of the runs that are compared, or the rows of one backend in it."""

    about: About
    rows: tuple[Timed, ...]  # those of the run's tables, in their order
    repeats: Mapping[RowKey, Sequence[Measured]]  # of each row of the run
    provenance: Mapping[str, Any]
    of_one_backend: bool  # then the example alone identifies a row
    request: Mapping[str, Any]  # of run.json


def side(about: About, analysis: Analysis, backend: str = "") -> ComparedRun:
    """The side that a run makes, or what `backend`, a full name, has of it."""
    repeats: dict[RowKey, list[Measured]] = {}
    for one in analysis.row_cells:
        repeats.setdefault(one.cell.key, []).append(one)
    rows = tuple(one for one in analysis.timed if backend in ("", one.row.backend))
    return ComparedRun(about, rows, repeats, analysis.run.provenance, bool(backend), analysis.run.request)


def pairs(runs: Sequence[ComparedRun], allowed: Collection[str] = ()) -> list[Pair]:
    """Each row of the first run beside the matching row of each other run; then the rows that only others have.

    Rows match that are the same point but for the run, and for the backend if every run is of one. Of several, the
    one with the same layout and device is taken, or else the fastest. Times of different machines, and rows with
    different fingerprints, are not compared unless `allowed` names that.
    """
    first, *others = runs
    along = [axes.RUN, axes.LAYOUT, axes.DEVICE]
    along += axes.of_backends() if all(one.of_one_backend for one in runs) else []
    along += axes.common(timed.row.key for one in runs for timed in one.rows)
    mine, *theirs = [
        [replace(one, point=_among_runs(one.row, number)) for one in run.rows] for number, run in enumerate(runs)
    ]
    beside = [compare([*mine, *rows], along, reference_rank, TO_RUN) for rows in theirs]
    made = []
    for one in mine:
        for other, found in zip(others, beside, strict=True):
            like = [each for each in found if each.reference is one]
            best = max(like, key=lambda each: reference_rank(each.row, each.reference), default=None)
            made.append(_pair(first, other, best, allowed) if best else Pair(other.about.letter, one.row, None))
    for other, found in zip(others, beside, strict=True):
        # Another layout of a row that has been compared is left out.
        matched = {id(each.row.row) for each in found}
        made += [Pair(other.about.letter, None, one.row) for one in other.rows if id(one.row) not in matched]
    return made


def _among_runs(row: Summary, run: int) -> Point:
    """Its point among several runs: with the data that it had, whether they were asked for or not."""
    return row.key.changed(axes.DATA, row.data_source).changed(axes.RUN, run)


def reference_rank(one: Timed, other: Timed) -> int:
    """How well the other is what a row is compared with: only rows of the first run are, best of the same layout."""
    exact = [axes.LAYOUT, axes.DEVICE]
    return (1 + (one.key.only(exact) == other.key.only(exact))) * (one.key[axes.RUN] != 0 == other.key[axes.RUN])


def regressions(found: Iterable[Pair], limit: float) -> list[Pair]:
    """The pairs for which a check fails.

    A ratio counts if its whole interval is above `limit`, so that it is not chance. A row that was ok on the first
    side and could not be compared counts too: it has failed since, or was measured differently.
    """
    return [
        pair
        for pair in found
        if (pair.interval is not None and pair.interval.low > limit)
        or (pair.first is not None and pair.first.status == OK and bool(pair.refused))
    ]


def _pair(first: ComparedRun, other: ComparedRun, beside: Compared, allowed: Collection[str]) -> Pair:
    one, two, ratio = beside.reference, beside.row, beside.ratio
    pair = Pair(other.about.letter, one.row, two.row, remarks=_remarks(one.row, two.row))
    ended = _not_ok(first, one.row, other, two.row)
    if ended:
        return replace(pair, refused=ended, verdict=NOT_COMPARED)
    sources = {first.about.letter: one.row.data_source, other.about.letter: two.row.data_source}
    if all(sources.values()) and len(set(sources.values())) > 1:
        words = " and ".join(f"{source} data in {letter}" for letter, source in sources.items())
        return replace(pair, refused=(words,), other_data=words, verdict=NOT_COMPARED)
    mine, theirs = first.repeats[one.row.key], other.repeats[two.row.key]
    unlike = {
        MACHINE: _machines(first, one.row, other, two.row),
        FINGERPRINT: _fingerprints(mine, first, theirs, other),
    }
    kinds = tuple(kind for kind, reasons in unlike.items() if reasons and kind not in allowed)
    if kinds:
        reasons = tuple(f"{kind}: {words}" for kind in kinds for words in unlike[kind])
        pair = replace(pair, refused=reasons, kinds=kinds, verdict=NOT_COMPARED)
    if FINGERPRINT in kinds:
        return pair
    largest, epochs = _losses(mine, theirs)
    pair = replace(
        pair, largest_loss_difference=largest, compared_epochs=epochs, accuracy=_accuracy(one.row, two.row)
    )
    if kinds:  # what it learns is no matter of the machine
        return pair
    reported = tuple(f"{kind}: {words}" for kind, reasons in unlike.items() for words in reasons)
    pair = replace(pair, remarks=(*pair.remarks, *reported))
    if lost := _not_finite(first, one.row, other, two.row):
        return replace(pair, refused=lost, verdict=NOT_COMPARED)
    to_target, target_interval = math.nan, None
    if one.row.target == two.row.target:
        seconds = (two.row.seconds_to_target, one.row.seconds_to_target)
        to_target, target_interval = between_samples(*seconds, two.to_target, one.to_target)
    return replace(
        pair,
        ratio=None if math.isnan(ratio.value) else ratio.value,
        interval=ratio.interval,
        verdict=ratio.verdict,
        target_ratio=None if math.isnan(to_target) else to_target,
        target_interval=target_interval,
        target_verdict=verdict(target_interval),
    )


def _not_ok(first: ComparedRun, one: Summary, other: ComparedRun, two: Summary) -> tuple[str, ...]:
    reasons: dict[tuple[str, str], list[str]] = {}  # what is alike on both sides is said once
    for side, row in ((first, one), (other, two)):
        if row.status != OK:
            reasons.setdefault((row.status, row.reason), []).append(side.about.letter)
    return tuple(
        f"{status} in {' and '.join(letters)}{f': {reason}' if reason else ''}"
        for (status, reason), letters in reasons.items()
    )


def _not_finite(first: ComparedRun, one: Summary, other: ComparedRun, two: Summary) -> tuple[str, ...]:
    """What is no number on which side: such a row has no rank, so its time has no ratio."""
    sides: dict[str, list[str]] = {}  # what is alike on both sides is said once
    for side, row in ((first, one), (other, two)):
        if (lost := row.has("not finite")) and not row.work.once:
            sides.setdefault(f"the {lost.aspect} {is_not_finite(lost)}", []).append(side.about.letter)
    return tuple(f"{what} in {' and '.join(letters)}" for what, letters in sides.items())


def _remarks(one: Summary, two: Summary) -> tuple[str, ...]:
    """Differences that do not prevent a comparison: people compare them, or they do not affect the figures."""
    names = {
        "backend": "backend",
        "keras_version": "Keras",
        "backend_version": f"version of {two.backend}",
        **({"image_data_format": "layout"} if one.input == "image" else {}),
        "form": "recurrent layers",
        **({"recurrent_kernel": "recurrent kernel"} if one.recurrent_kernel and two.recurrent_kernel else {}),
        "epochs": "epochs",
    }
    same_backend = one.backend == two.backend
    if bool(one.keras_version) != bool(two.keras_version):  # one of them ended before it reported its versions
        names = {name: words for name, words in names.items() if name in ("backend", "image_data_format", "epochs")}
    return tuple(
        f"{words} {getattr(two, name) or 'default'} instead of {getattr(one, name) or 'default'}"
        for name, words in names.items()
        if getattr(one, name) != getattr(two, name) and (same_backend or name not in ("backend_version", "backend"))
    )


def _machines(first: ComparedRun, one: Summary, other: ComparedRun, two: Summary) -> list[str]:
    reasons = [] if one.device == two.device else [f"device {two.device} instead of {one.device}"]
    with_gpu = "gpu" in one.device or "gpu" in two.device
    return [*reasons, *machine_differences(other.provenance, first.provenance, with_gpu)]


def _fingerprints(
    one: Sequence[Measured], first: ComparedRun, two: Sequence[Measured], other: ComparedRun
) -> list[str]:
    """How the first pair of repeats that ended ok differ in what was measured."""
    for mine in one:
        for theirs in two:
            if mine.cell.repeat == theirs.cell.repeat and mine.outcome.status == theirs.outcome.status == OK:
                return _unlike(mine, first, theirs, other)
    return ["no repeat ended ok on both sides"]


def _unlike(mine: Measured, first: ComparedRun, theirs: Measured, other: ComparedRun) -> list[str]:
    own, like = fingerprints.reported(mine), fingerprints.reported(theirs)
    bare = [side.about.letter for side, known in ((first, own), (other, like)) if not fingerprints.fingerprint(known)]
    if bare:
        return [f"none in {' and '.join(bare)}"]
    counts = [
        f"{getattr(theirs.cell, name):,} {words} instead of {getattr(mine.cell, name):,}"
        for name, words in (("samples", "samples"), ("batch_size", "samples a step"))
        if getattr(theirs.cell, name) != getattr(mine.cell, name)
    ]
    return [*counts, *map(sentence, fingerprints.list_differences(like, own))]


def _accuracy(one: Summary, two: Summary) -> str:
    """Whether the final validation accuracies differ by more than the sum of their standard deviations."""
    first, other = one.final_val_accuracy, two.final_val_accuracy
    if first is None or other is None or one.epochs != two.epochs:
        return ""
    if first == other:
        return EQUAL
    if one.final_val_accuracy_sd is None or two.final_val_accuracy_sd is None:
        return ""
    if abs(other - first) <= one.final_val_accuracy_sd + two.final_val_accuracy_sd:
        return WITHIN
    return HIGHER if other > first else LOWER


def _losses(one: Sequence[Measured], two: Sequence[Measured]) -> tuple[float | None, int]:
    """The largest difference of a loss over repeats with the same number and seed, and over how many epochs."""
    others = {(other.cell.repeat, other.cell.seed): other.epochs for other in two if other.outcome.status == OK}
    furthest = []
    for mine in one:
        theirs = others.get((mine.cell.repeat, mine.cell.seed), ())
        by_number = {epoch.epoch: epoch for epoch in theirs if mine.outcome.status == OK}
        for epoch in mine.epochs:
            if like := by_number.get(epoch.epoch):
                apart = max(_apart(epoch.loss, like.loss), _apart(epoch.val_loss, like.val_loss))
                furthest += [apart] if apart >= 0 else []
    return max(furthest, default=None), len(furthest)


def _apart(one: float | None, two: float | None) -> float:
    """The difference of two losses, infinite where only one is NaN; -1 where one was not reported."""
    if one is None or two is None:
        return -1.0
    if one == two or (math.isnan(one) and math.isnan(two)):
        return 0.0
    apart = abs(one - two)
    return math.inf if math.isnan(apart) else apart
