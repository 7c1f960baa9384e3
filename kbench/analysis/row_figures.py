"""The figures of a row: what the processes of its cell report, as each field of Summary says, and what follows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median, stdev
from typing import Any

from kbench import hooks
from kbench import summary as summaries
from kbench.analysis.learning import learning_curves
from kbench.analysis.sameness import fingerprints, not_finite, trainings
from kbench.analysis.times import flops, machine_stability, memory_growth, row_times, step_times
from kbench.analysis.times.processes import RowTime
from kbench.records import workloads
from kbench.records.epochs import Epoch
from kbench.records.findings import Finding
from kbench.records.reported import Facts, first_known
from kbench.records.values import OK, STATUSES, Measured
from kbench.records.workloads import Workload
from kbench.summary import Figure, Summary

# Of an epoch's time, and seconds: if fit takes more than both after its last batch, that is said.
LATE, LATE_SECONDS = 0.05, 0.01


@dataclass(frozen=True)
class RowProcesses:
    """The processes of a row, and what several of its figures are made of."""

    repeats: Sequence[Measured]
    short: Sequence[Measured]  # which only timed some steps
    time: RowTime | None
    provenance: Mapping[str, Any] = field(default_factory=dict)  # of their run

    @cached_property
    def ok(self) -> Sequence[Measured]:
        """The repeats that ended so."""
        return [repeat for repeat in self.repeats if repeat.outcome.status == OK]

    @cached_property
    def cold(self) -> Sequence[Measured]:
        """Those of them that compiled their code."""
        return step_times.cold(self.ok)

    @cached_property
    def facts(self) -> Facts:
        """Each fact from the first that knows it: a failed repeat may still have told its versions and its model."""
        return first_known(repeat.facts for repeat in [*self.ok, *self.repeats])

    @cached_property
    def kind(self) -> Workload:
        """The kind of work that it is."""
        return workloads.workload_for(self.facts.task, self.facts.unit)

    @cached_property
    def steady(self) -> Sequence[Epoch]:
        """The steady epochs of all repeats."""
        return [epoch for repeat in self.ok for epoch in step_times.steady(repeat.epochs)]

    @cached_property
    def timed(self) -> Sequence[Epoch]:
        """Those of them from which a speed follows."""
        return [epoch for epoch in self.steady if epoch.seconds > 0 and epoch.samples > 0]

    @cached_property
    def last(self) -> Sequence[Epoch]:
        """The last epoch of each repeat."""
        return [repeat.epochs[-1] for repeat in self.ok if repeat.epochs]

    @cached_property
    def usual(self) -> float | None:
        """Seconds of a steady epoch."""
        return self.time.seconds if self.time else self._of_epochs

    @cached_property
    def scale(self) -> float:
        """What is shown of the row's speed is one estimate: that of undisturbed turns, where there are any."""
        return self.usual / self._of_epochs if self.usual and self._of_epochs else 1.0

    @cached_property
    def _of_epochs(self) -> float | None:
        return step_times.median_of([epoch.seconds for epoch in self.steady])

    @cached_property
    def per_1000(self) -> float | None:
        """Seconds of 1,000 samples."""
        return step_times.median_of([self.scale * 1000 * epoch.seconds / epoch.samples for epoch in self.timed])

    @cached_property
    def grows(self) -> memory_growth.MemoryGrowth | None:
        """How its memory does."""
        return memory_growth.of_row(self.ok)

    @cached_property
    def epochs_to_target(self) -> Sequence[float]:
        """Of each repeat; infinite where it never reached the target."""
        target = self.facts.target
        return [learning_curves.to_target(repeat.epochs, target)[0] for repeat in self.ok if target]

    @cached_property
    def seconds_to_target(self) -> Sequence[float]:
        """The same, of each that compiled its code."""
        target = self.facts.target
        return [learning_curves.to_target(repeat.epochs, target)[1] for repeat in self.cold if target]

    def found(self, name: str, figure: Figure) -> Any:
        """A figure that the processes report, by its name there."""
        processes = self.cold if figure.cold else self.ok
        match figure.of:
            case "cell":
                return getattr(self.repeats[0].cell, name)
            case "facts" if figure.aggregate == "first":
                return getattr(self.facts, name)
            case "facts":
                places: Sequence[object] = [one.facts for one in processes]
            case "outcome":
                places = [one.outcome for one in processes]
            case "last epoch":
                places = self.last
            case _:
                places = self.steady
        values = _known(getattr(place, name) for place in places)
        return _mean(values) if figure.aggregate == "mean" else step_times.median_of(values)


def summary(row: RowProcesses, differs: Mapping[str, tuple[Finding, ...]]) -> Summary:
    """The row, without what follows from comparing it with others. differs: see `fingerprints.differences`."""
    told = {name: figure for name, figure in summaries.figures().items() if figure.of}
    worst = max(row.repeats, key=lambda repeat: STATUSES.index(repeat.outcome.status))
    unlike = [how for repeat in row.repeats for how in differs.get(repeat.cell.id, ())]
    known = (fingerprints.fingerprint(fingerprints.reported(repeat)) for repeat in [*row.ok, *row.repeats])
    found: dict[str, Any] = {
        **{name: row.found(figure.reported or name, figure) for name, figure in told.items()},
        "status": worst.outcome.status,
        "reason": _reason(worst, row.repeats),
        "repeats": len(row.ok),
        "task": row.facts.task or "train",
        "threads": row.repeats[0].cell.threads or None,
        "recurrent_kernel": _kernels(row.ok),
        **_of_time(row),
        **_of_memory(row),
        **_of_learning(row),
        "fingerprint": next(filter(None, known), ""),
        "of_features": {name: one.value(row) for name, one in hooks.columns().items() if one.value},
    }
    lost = [how for repeat in row.repeats if (how := not_finite.finding(repeat)) is not None]
    found["findings"] = (*lost[:1], *unlike, *_found(row))
    return summaries.Summary(**(row.kind.told_by.row(row, found) if row.kind.told_by else found))


def _of_time(row: RowProcesses) -> dict[str, Any]:
    ok, cold, timed, scale = row.ok, row.cold, row.timed, row.scale
    steps = step_times.steps_of(row.steady)
    alone = steps if row.facts.task == "infer" and row.repeats[0].cell.batch_size == 1 else []
    disturbed = machine_stability.disturbed_turns([*row.repeats, *row.short])
    return {
        "epoch_seconds": row.usual,
        "first_epoch_seconds": step_times.median_of(
            [repeat.epochs[0].seconds for repeat in cold if repeat.epochs and repeat.epochs[0].epoch == 1]
        ),
        "samples_per_second": step_times.median_of([epoch.samples / epoch.seconds / scale for epoch in timed]),
        "seconds_per_1000_samples": row.per_1000,
        "tokens_per_second": step_times.median_of(
            [epoch.tokens / epoch.seconds / scale for epoch in timed if epoch.tokens]
        ),
        "phases": _phases(cold),
        "evaluation_seconds": _evaluation(ok),
        "step_seconds_median": None if row.kind.by_call else step_times.median_of(steps),
        "step_seconds_p95": None if row.kind.by_call else step_times.p95_seconds(steps),
        "steps": 0
        if row.kind.by_call
        else int(step_times.median_of([len(epoch.step_seconds) for epoch in row.steady]) or 0),
        "latency_p50_seconds": step_times.percentile(alone, 50),
        "latency_p95_seconds": step_times.percentile(alone, 95),
        "latency_p99_seconds": step_times.percentile(alone, 99),
        "compile_seconds": step_times.median_of(
            _known(repeat.facts.call_compile_seconds for repeat in ok) or _compile_seconds(cold)
        ),
        "short_processes": sum(one.outcome.status == OK for one in row.short),
        "turns": len(disturbed),
        "disturbed_turns": sum(disturbed),
    }


def _of_memory(row: RowProcesses) -> dict[str, Any]:
    sources = {one.outcome.device_memory_source for one in row.ok}
    return {
        "memory_growth_mib": row.grows.mib if row.grows else None,
        "device_memory_source": " and ".join(sorted(filter(None, sources))),
    }


def _of_learning(row: RowProcesses) -> dict[str, Any]:
    target = row.facts.target
    return {
        "final_accuracy_sd": _spread(epoch.accuracy for epoch in row.last),
        "final_val_accuracy_sd": _spread(epoch.val_accuracy for epoch in row.last),
        "metrics": _metrics(row.last),
        "seeds": len({repeat.cell.seed for repeat in row.ok}),
        "deterministic": learning_curves.deterministic(row.ok),
        "target": target,
        "epochs_to_target": _finite(step_times.median_of(row.epochs_to_target)),
        "seconds_to_target": _finite(step_times.median_of(row.seconds_to_target)),
        "repeats_to_target": sum(map(math.isfinite, row.epochs_to_target)) if target else None,
    }


def _found(row: RowProcesses) -> tuple[Finding, ...]:
    """What the reader of the row has to know, beside how it differs from others."""
    kind, grows = row.kind, row.grows
    uncounted = flops.count(row.facts.layer_shapes or ()).unknown
    in_turns = any(epoch.rounds for epoch in row.steady)
    return (
        *_of_processes(row.repeats),
        *row_times.notes(row.time, row.short),
        *([Finding(kind="uncounted operations", own=uncounted)] if uncounted else []),
        *([] if in_turns else _late(row.usual, _mean(epoch.teardown_seconds for epoch in row.steady), row.facts)),
        *_around_batches(row.usual, row.ok),
        *([memory_growth.finding(grows, kind.unit, row.ok)] if grows else []),
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


def _of_processes(repeats: Sequence[Measured]) -> list[Finding]:
    found = []
    for repeat in repeats:
        found += [*(Finding(kind="told", own=note) for note in repeat.facts.notes), *repeat.findings]
    if damaged := sum(repeat.facts.events_damaged for repeat in repeats):
        found.append(Finding(kind="damaged lines", own=damaged))
    ok = [repeat for repeat in repeats if repeat.outcome.status == OK]
    if ok and not machine_stability.mostly_disturbed(ok):
        kind = workloads.workload_for(ok[0].facts.task, ok[0].facts.unit)
        asked = 0 if kind.observed else ok[0].cell.epochs
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


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


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
