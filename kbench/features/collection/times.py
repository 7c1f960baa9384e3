"""Checks of a run's times: whether they contradict each other, or the clock of the host that noted them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from kbench.features.collection.submitted import Submitted, label
from kbench.records.values import Measured
from kbench.store.runs import CLUSTER

# Seconds and shares by which honest runs are apart. In the reference runs steps add up to their epoch to within
# 0.001 %, what a process reports is 81 to 103 % of its time, the host counts up to 10 % (or 2 s) more, and notes its
# memory up to 2 s before its end.
ROUNDED, STEPS, FIRST = 1e-6, 1e-4, 1e-3
LEAST, LEAST_SECONDS, MOST, MOST_SECONDS = 0.75, 1.0, 1.05, 1.0
AROUND, AROUND_SECONDS, NOTED = 0.2, 10.0, 10.0
DAY, SECOND = timedelta(days=1), timedelta(seconds=1)  # the host notes whole seconds
_SETUP = ("import", "data", "build", "probe", "evaluation")


def epochs(run: Submitted) -> Iterator[str]:
    """Step times add up to epochs, and all epochs are there."""
    for one in run.ok:
        numbers = [epoch.epoch for epoch in one.epochs if epoch.site is None]
        if numbers != [*range(numbers[0] if numbers and one.cell.timing else 1, len(numbers) + 1)][: len(numbers)]:
            yield f"{label(one.cell)}: its epochs are numbered {', '.join(map(str, numbers))}"
        for epoch in one.epochs:
            total = math.fsum(epoch.step_seconds)
            if epoch.step_seconds and not _near(total, epoch.seconds, STEPS, ROUNDED * len(epoch.step_seconds)):
                yield (
                    f"{label(one.cell)}: epoch {epoch.epoch} took {epoch.seconds:.6g} s, and its steps add up to "
                    f"{total:.6g} s"
                )
            received = one.facts.received.get(epoch.epoch)
            if received and received.samples is not None and epoch.site is None and received.samples != epoch.samples:
                yield (
                    f"{label(one.cell)}: epoch {epoch.epoch} counts {epoch.samples:,} samples, and received "
                    f"{received.samples:,}"
                )


def processes(run: Submitted) -> Iterator[str]:
    """What a process reports fits the time for which the host saw it run."""
    for one in run.ok:
        own, seconds, name = one.facts.guest_seconds or 0.0, one.outcome.seconds, label(one.cell)
        first = one.phases.get("first_epoch")
        start = next((epoch for epoch in one.epochs if epoch.epoch == 1 and epoch.site is None), None)
        if first is not None and start and not one.cell.timing and not _near(first, start.seconds, FIRST, FIRST):
            yield f"{name}: epoch 1 took {start.seconds:.6g} s, and by the process's clock {first:.6g} s"
        computed, accounted = _of_epochs(one), _accounted(one)
        if computed > MOST * own + MOST_SECONDS:
            yield f"{name}: its epochs add up to {computed:.4g} s, and its process ran for {own:.4g} s"
        if one.facts.program is None and not one.cell.timing and accounted < LEAST * own - LEAST_SECONDS:
            yield f"{name}: of the {own:.4g} s of its process only {accounted:.4g} s are phases and epochs"
        if seconds is None:
            yield f"{name}: the host noted no time for its process"
        elif not own - ROUNDED <= seconds <= own * (1 + AROUND) + AROUND_SECONDS:
            yield f"{name}: its process ran for {own:.4g} s by its own clock, and for {seconds:.4g} s by the host's"
        else:
            yield from _memory(one, seconds)


def _accounted(one: Measured) -> float:
    """Seconds of its phases, which may hold turns of others, and epochs, with what comes behind their last batch."""
    late = math.fsum(epoch.teardown_seconds or 0.0 for epoch in one.epochs)
    return math.fsum(one.phases.get(name, 0.0) for name in _SETUP) + _of_epochs(one) + late


def _of_epochs(one: Measured) -> float:
    """Seconds of its epochs with their validation; of a program those of its lines."""
    return math.fsum((epoch.calls or 1) * epoch.seconds + (epoch.evaluation_seconds or 0.0) for epoch in one.epochs)


def _memory(one: Measured, seconds: float) -> Iterator[str]:
    """The host's notes of its memory are of the same time."""
    times = [at for at, _ in one.outcome.memory]
    if not times:
        if seconds > NOTED:
            yield f"{label(one.cell)}: the host noted no memory in {seconds:.4g} s"
        return
    if any(later <= earlier for earlier, later in pairwise(times)) or times[0] < 0:
        yield f"{label(one.cell)}: the host's notes of its memory are in no order of time"
    apart = max((later - earlier for earlier, later in pairwise(times)), default=0.0)
    if not seconds - max(NOTED, 2 * apart) <= times[-1] <= seconds + 0.5:
        yield (
            f"{label(one.cell)}: the host saw it end after {seconds:.4g} s, and noted its memory up to "
            f"{times[-1]:.4g} s"
        )


def clock(run: Submitted) -> Iterator[str]:
    """The run began and ended at times that leave room for all that was measured one after the other."""
    about = run.run.provenance
    ended = about.get("ended")
    started, created = _time(about.get("started")), _time(run.run.created)
    end = _time(ended.get("time")) if isinstance(ended, dict) else None
    if started is None or created is None or end is None:
        yield "the host's notes of when it began and ended are missing, as of a run that `resume` would complete"
        return
    if not -SECOND <= created - started <= timedelta(minutes=10):
        yield f"its folder was made at {created:%Y-%m-%d %H:%M:%S}, and it started at {started:%Y-%m-%d %H:%M:%S}"
    if end > datetime.now(UTC) + DAY:
        yield f"it ended at {end:%Y-%m-%d %H:%M}, which is still to come"
    resumed = [_time(one.get("started")) for one in run.run.resumed]
    times = [created, *[one for one in resumed if one], end]
    if any(later < earlier - SECOND for earlier, later in pairwise(times)) or None in resumed:
        yield f"it was created at {created:%Y-%m-%d %H:%M:%S}, and ended at {end:%Y-%m-%d %H:%M:%S}"
        return
    # One process computes at a time; several machines of a cluster each have one.
    total = math.fsum(map(_of_epochs, run.ok))
    if not (run.run.folder / CLUSTER).exists() and total > MOST * (end - created).total_seconds() + MOST_SECONDS:
        yield (
            f"it ran for {(end - created).total_seconds():,.0f} s, and its epochs, one process at a time, add up "
            f"to {total:,.0f} s"
        )


def turns(run: Submitted) -> Iterator[str]:
    """Turns of a process follow each other, and each step is in one turn."""
    for one in run.ok:
        known = set[tuple[int, int]]()
        last = 0
        for epoch in one.epochs:
            step = 0
            for turn in epoch.rounds:
                known.add((turn.round, turn.again))
                if turn.round < last or turn.first < step or turn.last < turn.first:
                    yield f"{label(one.cell)}: the turns of epoch {epoch.epoch} overlap, or are not in their order"
                    break
                last, step = turn.round, turn.last
            if epoch.step_seconds and step > len(epoch.step_seconds):
                count = len(epoch.step_seconds)
                yield f"{label(one.cell)}: epoch {epoch.epoch} has {count} steps, and turns of {step}"
        most = max((number for number, _ in known), default=0) + 2  # it may end in another one
        noted = {*one.outcome.disturbed_rounds, *one.outcome.disturbed_again}
        if known and any(not 0 < number <= most for number in noted):
            yield f"{label(one.cell)}: the host noted disturbed turns that it did not have"


def copies(run: Submitted) -> Iterator[str]:
    """No two processes have the same times, to the last digit."""
    seen: dict[tuple[float, ...], Measured] = {}
    for one in run.cells:
        times = tuple(epoch.seconds for epoch in one.epochs)
        other = seen.setdefault(times, one)
        if times and other is not one:
            yield f"{label(one.cell)}: its times are those of {label(other.cell)}, to the last digit"


def _near(one: float, other: float, share: float, seconds: float) -> bool:
    return abs(one - other) <= share * max(one, other) + seconds


def _time(text: object) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return found if found.tzinfo else None
