"""From measured cells to one row per backend: medians over steady epochs, and the models' scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median, stdev

from kbench import axes, workloads
from kbench.analysis import (
    fingerprints,
    intervals,
    learning_curves,
    machine_stability,
    memory_growth,
    roofline,
    row_times,
    shares,
    spreads,
    step_times,
    time_growth,
    trainings,
)
from kbench.analysis.processes import RowTime
from kbench.analysis.ratios import Timed, ranked
from kbench.analysis.spreads import Priors
from kbench.axes import RowKey
from kbench.epochs import Epoch
from kbench.findings import Finding
from kbench.reported import Facts, first_known
from kbench.summary import Summary
from kbench.values import EPOCHS, OK, PRECISION, REPEATS, STATUSES, Cell, Interval, Measured

# Of an epoch's time, and seconds: if fit takes more than both after its last batch, that is said.
LATE, LATE_SECONDS = 0.05, 0.01


def summarise(
    measured: Sequence[Measured],
    baseline: str = "",
    limits: roofline.Limits | None = None,
    confidence: float = intervals.CONFIDENCE,
    natives: Mapping[str, str] | None = None,
    short: Sequence[Measured] = (),
    priors: Priors | None = None,
    precision: float = PRECISION,
) -> list[Summary]:
    """One row per RowKey (example, backend, layout, device and whatever else varies), over all repeats of its cell.

    Examples are in the order of `measured`; the rows of one example fastest first, then those that did not end ok.
    Steady epochs are all but the first, so a single epoch has no steady time. Figures are of the repeats that ended
    ok; a row's status and reason are those of its worst repeat. `baseline` is the full name of a backend to compare
    with, beside the fastest; `limits` are those of the machine's processor; `confidence` is that at which
    the intervals of an example's ratios hold together; `natives` maps a Keras backend to its framework without Keras.
    `short`: processes that only timed some steps. `priors`: how much processes differ, as far as that is known
    beforehand; rows within `precision` of each other are as fast.
    """
    return ranked(timed(measured, limits, short, priors), baseline, confidence, natives, precision)


def timed(
    measured: Sequence[Measured],
    limits: roofline.Limits | None = None,
    short: Sequence[Measured] = (),
    priors: Priors | None = None,
) -> list[Timed]:
    """The rows of `summarise`, in its order and not yet compared."""
    differs, measured = fingerprints.compared(fingerprints.described(measured))
    measured = fingerprints.changed_by_arguments(measured)
    groups: dict[RowKey, list[Measured]] = {}
    for repeat in measured:
        groups.setdefault(repeat.cell.key, []).append(repeat)
    ok = {row: [repeat for repeat in group if repeat.outcome.status == OK] for row, group in groups.items()}
    of_row: dict[RowKey, list[Measured]] = {}
    for process in short:
        of_row.setdefault(process.cell.key, []).append(process)
    times = row_times.row_times(ok, of_row, priors or spreads.shipped())
    compared = [_timed(group, of_row.get(row, ()), differs, limits, times.get(row)) for row, group in groups.items()]
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


def _summary(
    repeats: Sequence[Measured],
    ok: Sequence[Measured],
    short: Sequence[Measured],
    time: RowTime | None,
    target: str,
    epochs_to_target: Sequence[float],
    seconds_to_target: Sequence[float],
    differs: Mapping[str, tuple[Finding, ...]],
    limits: roofline.Limits | None,
) -> Summary:
    cell = repeats[0].cell
    worst = max(repeats, key=lambda repeat: STATUSES.index(repeat.outcome.status))
    steady = [epoch for repeat in ok for epoch in step_times.steady(repeat.epochs)]
    steps = step_times.steps_of(steady)
    timed = [epoch for epoch in steady if epoch.seconds > 0 and epoch.samples > 0]
    last = [repeat.epochs[-1] for repeat in ok if repeat.epochs]
    cold = step_times.cold(ok)
    facts = _facts(ok, repeats)
    alone = steps if facts.task == "infer" and cell.batch_size == 1 else []
    of_epochs = step_times.median_of([epoch.seconds for epoch in steady])
    usual = time.seconds if time else of_epochs
    # What is shown of the row's speed is one estimate: that of undisturbed turns, where there are any.
    scale = usual / of_epochs if usual and of_epochs else 1.0
    per_1000 = step_times.median_of([scale * 1000 * epoch.seconds / epoch.samples for epoch in timed])
    work = roofline.work(facts)
    # Of generation: a forward pass for each token.
    tokens = step_times.median_of([epoch.tokens / epoch.samples for epoch in timed if epoch.tokens])
    passes = int(tokens or 1)
    kind = workloads.of(facts.task, facts.unit)
    teardown = _mean(epoch.teardown_seconds for epoch in steady)
    disturbed = machine_stability.disturbed_turns([*repeats, *short])
    grows, slower = memory_growth.of_row(ok), time_growth.of_row(ok) if kind.of_line else None
    return Summary(
        example=cell.example,
        backend=cell.backend,
        image_data_format=cell.image_data_format,
        device=cell.device,
        profile=cell.profile,
        status=worst.outcome.status,
        reason=_reason(worst, repeats),
        repeats=len(ok),
        epoch_seconds=usual,
        first_epoch_seconds=step_times.median_of(
            [repeat.epochs[0].seconds for repeat in cold if repeat.epochs and repeat.epochs[0].epoch == 1]
        ),
        samples_per_second=step_times.median_of([epoch.samples / epoch.seconds / scale for epoch in timed]),
        final_loss=_mean(epoch.loss for epoch in last),
        final_accuracy=_mean(epoch.accuracy for epoch in last),
        final_val_loss=_mean(epoch.val_loss for epoch in last),
        final_val_accuracy=_mean(epoch.val_accuracy for epoch in last),
        parameters=facts.parameters,
        keras_version=facts.keras_version,
        backend_version=facts.backend_version,
        task=facts.task or "train",
        form=facts.form,
        recurrent_kernel=_kernels(ok),
        input=facts.input,
        axes=cell.axes,
        beside_newer=facts.beside_newer,
        threads=cell.threads or None,
        batch_size=cell.batch_size,
        samples=cell.samples,
        validation_samples=cell.validation_samples,
        epochs=cell.epochs,
        available_samples=facts.available_samples,
        data=facts.data,
        data_source=facts.data_source,
        data_sha256=facts.data_sha256,
        phases=shares.phases(ok) if not kind.compared else _phases(cold),
        evaluation_seconds=_evaluation(ok),
        seconds_per_1000_samples=per_1000,
        findings=(
            *(how for repeat in repeats for how in differs.get(repeat.cell.id, ())),
            *(one for one in _found(repeats) if not (slower and one.kind == "not steady")),
            *row_times.notes(time, short),
            *([Finding(kind="uncounted operations", own=work.unknown)] if work and work.unknown else []),
            *([] if any(epoch.rounds for epoch in steady) else _late(usual, teardown, facts)),
            *_around_batches(usual, ok),
            *([memory_growth.finding(grows, kind.unit, ok)] if grows else []),
            *([time_growth.finding(slower, kind.unit)] if slower else []),
        ),
        deterministic=learning_curves.deterministic(ok),
        final_accuracy_sd=_spread(epoch.accuracy for epoch in last),
        final_val_accuracy_sd=_spread(epoch.val_accuracy for epoch in last),
        seeds=len({repeat.cell.seed for repeat in ok}),
        target=target,
        epochs_to_target=_finite(step_times.median_of(epochs_to_target)),
        seconds_to_target=_finite(step_times.median_of(seconds_to_target)),
        repeats_to_target=None if not target else sum(map(math.isfinite, epochs_to_target)),
        peak_memory_mib=step_times.median_of(_known(repeat.facts.peak_memory_mib for repeat in cold)),
        memory_growth_mib=grows.mib if grows else 0.0 if kind.of_line and memory_growth.is_flat(ok) else None,
        time_growth=(slower.first, slower.last) if slower else () if time_growth.is_flat(ok) else None,
        import_memory_mib=step_times.median_of(_known(repeat.facts.import_memory_mib for repeat in ok)),
        tree_memory_mib=step_times.median_of(
            m for repeat in cold if (m := repeat.outcome.tree_memory_mib) is not None
        ),
        step_seconds_median=None if kind.by_call else step_times.median_of(steps),
        step_seconds_p95=None if kind.by_call else step_times.p95_seconds(steps),
        latency_p50_seconds=step_times.percentile(alone, 50),
        latency_p95_seconds=step_times.percentile(alone, 95),
        latency_p99_seconds=step_times.percentile(alone, 99),
        compile_seconds=step_times.median_of(
            _known(repeat.facts.call_compile_seconds for repeat in ok) or _compile_seconds(cold)
        ),
        device_memory_mib=step_times.median_of(
            m for repeat in ok if (m := repeat.outcome.device_memory_mib) is not None
        ),
        device_memory_source=" and ".join(sorted({s for repeat in ok if (s := repeat.outcome.device_memory_source)})),
        allocator_peak_mib=step_times.median_of(_known(repeat.facts.allocator_peak_mib for repeat in ok)),
        weights=facts.weights,
        fingerprint=next(
            (
                known
                for repeat in [*ok, *repeats]
                if (known := fingerprints.fingerprint(fingerprints.reported(repeat)))
            ),
            "",
        ),
        operations_per_sample=work.operations * passes if work else None,
        percent_of_limit=_percent_of_limit(work, cell, per_1000 and per_1000 / passes, limits),
        teardown_seconds=teardown,
        unit=facts.unit,
        metrics=_metrics(last),
        short_processes=sum(one.outcome.status == OK for one in short),
        turns=len(disturbed),
        disturbed_turns=sum(disturbed),
        calls=facts.calls,
        first_calls=facts.first_calls,
        total_seconds=shares.seconds(ok),
        tokens_per_second=step_times.median_of(
            [epoch.tokens / epoch.seconds / scale for epoch in timed if epoch.tokens]
        ),
        first_token_seconds=step_times.median_of(_known(epoch.first_token_seconds for epoch in timed)),
        around_seconds=step_times.median_of(_known(repeat.facts.around_seconds for repeat in ok)),
        steady_epoch_seconds=step_times.median_of(_known(repeat.facts.steady_epoch_seconds for repeat in ok)),
        steps=0 if kind.by_call else int(step_times.median_of([len(epoch.step_seconds) for epoch in steady]) or 0),
    )


def _kernels(ok: Sequence[Measured]) -> str:
    """Each that one of its repeats had."""
    return ", ".join(dict.fromkeys(one.facts.recurrent_kernel for one in ok if one.facts.recurrent_kernel))


def _metrics(last: Sequence[Epoch]) -> dict[str, float]:
    """The mean of each score over the last epochs of the repeats."""
    names = dict.fromkeys(name for epoch in last for name in epoch.metrics or {})
    return {
        name: mean for name in names if (mean := _mean((epoch.metrics or {}).get(name) for epoch in last)) is not None
    }


def _timed(
    repeats: Sequence[Measured],
    short: Sequence[Measured],
    differs: Mapping[str, tuple[Finding, ...]],
    limits: roofline.Limits | None,
    time: RowTime | None,
) -> Timed:
    """The row of a cell's repeats with the interval of its steady time."""
    ok = [repeat for repeat in repeats if repeat.outcome.status == OK]
    target = _facts(ok, repeats).target
    # Of each repeat; infinite where it never reached the target.
    reached, compiled = (ok, step_times.cold(ok)) if target else ([], [])
    epochs_to_target = [learning_curves.to_target(repeat.epochs, target)[0] for repeat in reached]
    seconds_to_target = [learning_curves.to_target(repeat.epochs, target)[1] for repeat in compiled]
    row = _summary(repeats, ok, short, time, target, epochs_to_target, seconds_to_target, differs, limits)
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
    return Timed(row, time, tuple(seconds_to_target))


def _per_1000(row: Summary, interval: Interval) -> Interval | None:
    """The interval in seconds per 1,000 samples: all epochs of a row have the same number of them."""
    if not row.epoch_seconds or row.seconds_per_1000_samples is None:
        return None
    scale = row.seconds_per_1000_samples / row.epoch_seconds
    return Interval(interval.low * scale, interval.high * scale)


def _reason(worst: Measured, repeats: Sequence[Measured]) -> str:
    alike = all(repeat.outcome.status == worst.outcome.status for repeat in repeats)
    reason = worst.outcome.reason
    return reason if alike or not reason else f"repeat {worst.cell.repeat}: {reason}"


def _phases(ok: Sequence[Measured]) -> dict[str, float]:
    names = dict.fromkeys(name for repeat in ok for name in repeat.phases)
    return {name: median(repeat.phases[name] for repeat in ok if name in repeat.phases) for name in names}


def _evaluation(ok: Sequence[Measured]) -> float | None:
    """The median of all evaluations: one per epoch, or else the one that the guest reports as a phase."""
    reported = [
        epoch.evaluation_seconds for repeat in ok for epoch in repeat.epochs if epoch.evaluation_seconds is not None
    ]
    cold = step_times.cold(ok)
    return step_times.median_of(
        reported or [repeat.phases["evaluation"] for repeat in cold if "evaluation" in repeat.phases]
    )


def _compile_seconds(ok: Sequence[Measured]) -> list[float]:
    """How much longer the first step of each repeat took than a steady one, where both are known."""
    found = []
    for repeat in ok:
        first = repeat.phases.get("first_step")
        usual = step_times.median_of(step_times.steps_of(step_times.steady(repeat.epochs)))
        if first is not None and usual is not None:
            found.append(max(0.0, first - usual))
    return found


def _found(repeats: Sequence[Measured]) -> list[Finding]:
    found = []
    for repeat in repeats:
        found += [*(Finding(kind="told", own=note) for note in repeat.facts.notes), *repeat.findings]
    damaged = sum(repeat.facts.events_damaged for repeat in repeats)
    if damaged:
        found.append(Finding(kind="damaged lines", own=damaged))
    if ok := [repeat for repeat in repeats if repeat.outcome.status == OK]:
        kind = workloads.of(ok[0].facts.task, ok[0].facts.unit)
        asked = 0 if kind.of_program else ok[0].cell.epochs
        if changing := step_times.still_changing([repeat.epochs for repeat in ok], asked, kind.by_call):
            found.append(changing)
    if learning_curves.deterministic(ok) is False:
        found.append(Finding(kind="not deterministic"))
    return found


def _late(usual: float | None, teardown: float | None, facts: Facts) -> list[Finding]:
    """Whether fit or predict takes long after its last batch. Not in turns: being held lengthens that."""
    if not usual or teardown is None or teardown < max(LATE * usual, LATE_SECONDS):
        return []
    return [Finding(kind="late return", aspect=facts.task, own=teardown)]


def _around_batches(usual: float | None, ok: Sequence[Measured]) -> list[Finding]:
    """Whether callbacks take long around the batches of a steady epoch."""
    seconds = _mean(seconds for repeat in ok for seconds in trainings.callback_seconds(repeat))
    return (
        [Finding(kind="callbacks", own=seconds)] if usual and seconds is not None and seconds >= LATE * usual else []
    )


def _percent_of_limit(
    work: roofline.Work | None, cell: Cell, per_1000: float | None, limits: roofline.Limits | None
) -> float | None:
    """Of the processor's limit: a GPU's is not measured."""
    if work is None or not work.operations or limits is None or per_1000 is None or cell.device != "cpu":
        return None
    return roofline.percent(work, cell.batch_size, per_1000 / 1000, limits)


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _facts(ok: Sequence[Measured], repeats: Sequence[Measured]) -> Facts:
    """Each fact, from the first that knows it: a failed repeat may still have reported its versions and its model."""
    return first_known(repeat.facts for repeat in [*ok, *repeats])


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    # Not fmean: it raises where a diverged loss is infinite in one repeat and huge or NaN in another.
    return sum(known) / len(known) if known else None


def _spread(values: Iterable[float | None]) -> float | None:
    """The sample standard deviation; None for fewer than two values, or where one is not finite."""
    known = [value for value in values if value is not None]
    try:
        return stdev(known) if len(known) >= 2 and all(map(math.isfinite, known)) else None
    except OverflowError:
        return None


def _steady_epochs(ok: Sequence[Measured], time: RowTime) -> int:
    """Those of the one process behind a row's time; of its first one where that is short."""
    whole = [one for one in ok if one.cell.place in time.places] or ok[:1]
    return len(step_times.steady(whole[0].epochs))
