"""Runs the cases of Keras's public names on each backend. Prints nothing.

A backend's first process lists its names. The next ones, side by side as nothing is timed, try the cases; one that
ends its process is the last that was begun, and another process goes on behind it. So does `resume` where a run was
interrupted.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import groupby
from pathlib import Path

from kbench import store
from kbench.base.paths import GUEST
from kbench.cells import orphans
from kbench.cells.spec import SAVED, RunPaths
from kbench.environments import locks
from kbench.errors import Interrupted, Stopped, UserError
from kbench.features.coverage import cases, inputs, results
from kbench.features.coverage.events import Public
from kbench.features.coverage.events import begun as begun_case
from kbench.features.coverage.events import public as public_names
from kbench.features.coverage.progress import CasesPlanned, OnCoverageEvent
from kbench.features.coverage.values import KIND, ProbeCase
from kbench.machine import devices, host, provenance
from kbench.planning import request as requests
from kbench.planning import rows
from kbench.planning.plan import Plan
from kbench.planning.request import Request
from kbench.planning.tasks import CellTask, with_guest
from kbench.records import axes
from kbench.records.values import (
    CHANNELS_LAST,
    INFER,
    INTERRUPTED,
    TRAIN,
    Backend,
    Device,
    Example,
    Measured,
    Profile,
    base,
)
from kbench.selection import variants
from kbench.selection.known import known_backends
from kbench.session import events, interrupts, measure, prepare, record
from kbench.session.events import ignore
from kbench.session.missing import CHANGED
from kbench.session.resume import LEFT, check_machine
from kbench.store import RunResults
from kbench.store.reading import ReadCells
from kbench.words.text import listed, meant

SUBJECT = "public names"  # in place of an example
PROCESS_SECONDS = 3600.0  # of a process, then the next one goes on
CASE_SECONDS = 120.0  # then it hangs: a backend may compile for a minute
MEMORY_SHARE = 0.5  # of what is free, for the processes side by side
LEAST_MIB = 3072.0  # of that for each: some keep all that they have compiled
LEAST_CASES = 50  # of a process beside another one: it takes seconds to start
ROUNDS = 16  # over all names, as layers take longest: the time left follows from the first ones


def cover(
    request: Request,
    folder: Path,
    on_event: OnCoverageEvent = ignore,
    *,
    only: str = "",
    quick: bool = False,
    elsewhere: bool = False,
    name: str | None = None,
    command: str = "",
) -> RunResults:
    """Do it as a new run below `folder`. `only`: patterns of names; `quick`: few cases of each; `elsewhere`: other
    machines try other generations of Keras, so there may be no such name in this one. Raises what `measure` does.
    """
    parent = measure.check_folder(request, folder, name)
    gpus = devices.gpus()
    plan = planned(request, gpus, on_event)
    missing = prepare.to_make(plan)
    on_event(events.Planned(plan, tuple(missing)))
    with prepare.reserved():
        plan, here = measure.new_run(
            plan,
            parent,
            missing,
            on_event,
            name=name,
            command=command,
            gpus=gpus,
            kind=KIND,
            only=only,
            quick=quick,
        )
        with store.filling(here.run):
            try:
                return _cover(_Run(plan, here, only, quick, elsewhere), on_event)
            except NoSuchName:
                shutil.rmtree(here.run, ignore_errors=True)  # there is nothing in it to go on with
                raise


def resume(
    run: Path, on_event: OnCoverageEvent = ignore, *, retried: Collection[str] = (), command: str = ""
) -> RunResults:
    """Try what has not been tried of the run in the folder `run`. `retried`: statuses of processes all of whose cases
    are tried again. Raises what `measure` does.
    """
    run = run.absolute()
    with store.filling(run):
        read = store.read(run)
        orphans.end_of_run(run)  # left by a host that was killed together with its watchdog
        gpus = devices.gpus()
        plan = planned(requests.read(read.request, run), gpus, on_event)
        now = provenance.read(gpus, command)
        check_machine(now, read)
        there, before = _SoFar.of(plan, read, retried), provenance.other_differences(now, read.provenance)
        changed = _changed(plan, run, there.kept)
        if changed and there.is_left:  # no update of kbench makes a complete run an incomplete one
            there = _SoFar.of(plan, read, retried, {results.generation(name) for name in changed})
        elif changed:
            before.append(LEFT)
        lines = tuple(dict.fromkeys(changed.values())) if there.is_left else ()
        cells = len(there.unlisted) + len(there.left)
        on_event(events.RunResumed(run, read.name, cells, len(plan.tasks), lines, tuple(before), there.in_words()))
        if not there.is_left:
            on_event(events.NothingMeasured(""))
            return read
        with prepare.reserved():
            plan, here = prepare.arrays(plan, on_event)
            # Names that are still to be listed may be more cases for all.
            some = tuple(task for task in plan.tasks if there.unlisted or task.backend in there.left)
            needed = replace(plan, tasks=some)
            environments = prepare.make_environments(needed, prepare.to_make(needed), on_event)
            here = replace(here, run=run, environments=environments)
            resumed = {**record.machine(needed, here, gpus, command), "cells": cells, "changed": list(lines)}
            for one in there.again:
                store.set_aside(run, one.cell.id)
            store.update(run, resumed=[*read.resumed, {**resumed, "differences": before}])
            first = {task.backend: task for task in plan.tasks}
            asked = results.plan_of(read)
            earlier = [_with(first[one.cell.backend], (), one.cell.repeat, not asked.quick) for one in there.kept]
            tasks = {task.id: task for task in (*plan.tasks, *earlier)}
            grown = replace(plan, tasks=tuple(tasks.values()))
            return _cover(_Run(grown, here, asked.only, asked.quick, cases=there.cases), on_event)


@dataclass(frozen=True)
class _SoFar:
    """What there is of a run that is resumed."""

    kept: Sequence[Measured]  # processes
    again: Sequence[Measured]  # those whose cases are tried again
    cases: Mapping[str, Sequence[ProbeCase]]
    unlisted: Sequence[CellTask]  # those that list names, and have not
    left: Mapping[str, Sequence[ProbeCase]]
    count: int  # of all cases

    @classmethod
    def of(cls, plan: Plan, read: RunResults, retried: Collection[str], changed: Collection[str] = ()) -> _SoFar:
        """changed: generations of Keras of which all is tried again."""
        of_plan = {task.backend for task in plan.tasks}
        again = [
            one
            for one in read.measured
            if one.outcome.status in retried
            or (one.cell.repeat == 1 and one.outcome.status == INTERRUPTED)
            or results.generation(one.cell.backend) in changed
            or one.cell.backend not in of_plan
        ]
        kept = [one for one in read.measured if one not in again]
        made = {name: of for name, of in results.plan_of(read).cases.items() if name not in changed}
        told = {one.cell.backend for one in kept if one.cell.repeat == 1}
        return cls(
            kept, again, made,
            [task for task in plan.tasks if task.backend not in told],
            _left(plan, kept, made),
            sum(map(len, _of_backends(plan, kept, made).values())),
        )  # fmt: skip

    @property
    def is_left(self) -> bool:
        """Whether anything is to be done."""
        return bool(self.left or self.unlisted)

    def in_words(self) -> str:
        """How much that is."""
        if self.unlisted:
            return f"the names of {listed(task.backend for task in self.unlisted)} to list, and what follows"
        return f"{sum(map(len, self.left.values())):,} of {self.count:,} cases to try"


def _changed(plan: Plan, run: Path, kept: Sequence[Measured]) -> dict[str, str]:
    """Backend -> what has changed about it since it was tried, in a line."""
    first, found = {task.backend: task for task in plan.tasks}, dict[str, str]()
    for one in kept:
        task, was = first[one.cell.backend], store.spec(run, one.cell)
        for name, words in CHANGED.items():
            if was and was.get(name, getattr(task, name)) != getattr(task, name):
                found.setdefault(task.backend, words.format(task))
    return found


def planned(request: Request, gpus: Sequence[Device] | None = None, on_event: OnCoverageEvent = ignore) -> Plan:
    """The first process of each backend, which lists its names. Raises UserError."""
    gpus = devices.gpus() if gpus is None else gpus
    (device,) = (devices.choose(str(one), gpus) for one in request.on(axes.DEVICE))
    known = known_backends()
    chosen = [
        locks.locked(variants.parse_name(one, known[base(one)]), device.kind, events.notes(on_event))
        for one in request.backends
    ]
    shown = {one.name for one in chosen}
    chosen += [one for one in _references(chosen, known) if one.name not in shown]
    limit = request.memory_limit_mib or MEMORY_SHARE * host.available_mib() / _at_once(request, device)
    tasks, impossible = [], {}
    for backend in chosen:
        of_backend, verdict = rows.fields_of_backend(backend, INFER, request, device)
        values = {axes.EXAMPLE: SUBJECT, axes.BACKEND: backend.name, axes.LAYOUT: CHANNELS_LAST}
        counted = {
            axes.BATCH_SIZE: 1,
            axes.SAMPLES: 1,
            axes.THREADS: max(request.numbers_on(axes.THREADS), default=1),
        }
        task = CellTask(
            values=axes.complete({**values, **counted, axes.DEVICE: device.label, axes.TASK: INFER}),
            repeat=1,
            seed=request.seed,
            profile=KIND,
            validation_samples=0,
            epochs=0,
            input="flat",
            example_sha256="",
            parameters=None,
            floatx="float64" if backend.name.endswith(results.REFERENCE) else "float32",
            part={
                "feature": KIND,
                "driver": "kbench_coverage.probes",
                "at": "cell",
                "cases": (),
                "inputs": inputs.all_statements(request.seed),
                "seconds": CASE_SECONDS,
                "trains": TRAIN in backend.can,
            },
            timeout=request.timeout or PROCESS_SECONDS,
            memory_limit_mib=limit,
            **of_backend,
        )
        tasks.append(with_guest(task))
        if verdict is not None:
            impossible[task.id] = verdict
    return Plan(replace(request, interleave="off"), (device,), tuple(tasks), impossible, tuple(chosen), (_subject(),))


def _at_once(request: Request, device: Device) -> int:
    """How many processes run at the same time: one on a GPU, as frameworks take all its memory."""
    if device.index is not None:
        return 1
    threads = max(request.numbers_on(axes.THREADS), default=1)
    have_memory = MEMORY_SHARE * host.available_mib() / LEAST_MIB
    return max(1, min(len(os.sched_getaffinity(0)) // threads, int(have_memory)))


def _references(chosen: Sequence[Backend], known: Mapping[str, Backend]) -> list[Backend]:
    """For each generation of Keras the backend that computes all in float64, if it has one."""
    generations = dict.fromkeys(one.generation for one in chosen)
    return [
        variants.parse_name(backend.name + results.REFERENCE, backend)
        for backend in known.values()
        if backend.reference and backend.generation in generations
    ]


def _subject() -> Example:
    """What stands in place of an example: it has no file, no data and no model."""
    profiles = {"full": Profile(samples=1, epochs=1)}
    return Example(SUBJECT, SUBJECT, GUEST / "__main__.py", "infer", "", "flat", 1, None, profiles, "")


class NoSuchName(UserError):
    """No public name is like those that were asked for."""


@dataclass
class _Run:
    """A run as it grows."""

    plan: Plan  # with all processes so far
    here: RunPaths
    only: str
    quick: bool
    elsewhere: bool = False
    cases: Mapping[str, Sequence[ProbeCase]] = field(default_factory=dict)  # by the generation of Keras
    untried: Mapping[str, Sequence[str]] = field(default_factory=dict)
    known: ReadCells = field(default_factory=dict)

    def read(self) -> RunResults:
        return store.read(self.here.run, self.known)

    def keep(self) -> None:
        """Write the plan as it is now. Raises UserError."""
        shown = list(self.plan.request.backends)
        of_plan = partial(record.of_plan, self.plan, self.here, kind=KIND, only=self.only, quick=self.quick)
        found = {generation: [asdict(one) for one in of] for generation, of in self.cases.items()}
        more = {"untried": self.untried, "without": _without(self.plan), "shown": shown}
        store.update(self.here.run, **of_plan(cases=found, **more))


def _cover(run: _Run, on_event: OnCoverageEvent) -> RunResults:
    """List the names where that is missing, then try all cases that have not been tried."""
    with _as_stopped(run.here.run):
        run.keep()
        there = {one.cell.id for one in run.read().measured if one.outcome.status != INTERRUPTED}
        unlisted = [task for task in run.plan.tasks if task.repeat == 1 and task.id not in there]
        if unlisted:
            measure.run_cells(replace(run.plan, tasks=tuple(unlisted)), run.here, on_event)
        _make_cases(run)
        _try(run, on_event)
    return run.read()


@contextlib.contextmanager
def _as_stopped(run: Path) -> Iterator[None]:
    with interrupts.ended_as_interrupted():
        try:
            yield
        except KeyboardInterrupt:
            raise Interrupted(run) from None
        except NoSuchName:
            raise
        except UserError as error:
            raise Stopped(str(error), run) from error


def _make_cases(run: _Run) -> None:
    """Those of names that have none yet. Raises UserError if no name is like those that were asked for."""
    public: dict[str, dict[str, Public]] = {}
    measured = run.read().measured
    for one in measured:
        of = public.setdefault(results.generation(one.cell.backend), {})
        of |= {name: about for name, about in public_names(one.facts).items() if name not in of}
    if not run.elsewhere:
        check_names(measured, run.only)
    made = {generation: [*of] for generation, of in run.cases.items()}
    for generation, names in public.items():
        own = made.setdefault(generation, [])
        known = {one.name for one in own}
        new = cases.make(
            {name: of for name, of in names.items() if name not in known}, run.only, run.quick, run.plan.request.seed
        )
        first = 1 + max((one.id for one in own), default=-1)
        own += [replace(one, id=first + number) for number, one in enumerate(new)]
    asked = {generation: cases.chosen(sorted(of), run.only) for generation, of in public.items()}
    run.cases = made
    run.untried = {of: sorted({*names} - {one.name for one in made[of]}) for of, names in asked.items()}
    run.keep()


def _try(run: _Run, on_event: OnCoverageEvent) -> None:
    """Start processes until each case was begun; no further one of a backend that begins none."""
    first = {task.backend: task for task in run.plan.tasks if task.repeat == 1}
    read = run.read()
    left = _left(run.plan, read.measured, run.cases)
    whole = {name: len(of) for name, of in _of_backends(run.plan, read.measured, run.cases).items()}
    at_once = _at_once(run.plan.request, run.plan.devices[0])
    while left:
        on_event(CasesPlanned({name: (of - len(left.get(name, ())), of) for name, of in whole.items()}))
        process = 1 + max(task.repeat for task in run.plan.tasks)
        tasks = [
            _with(first[name], own, process + number, not run.quick)
            for name, of in left.items()
            for number, own in enumerate(_shares(of, at_once, *_order(run, name)))
        ]
        run.plan = replace(run.plan, tasks=(*run.plan.tasks, *tasks))
        run.keep()
        with measure.compiled_code(run.here.run) as compiled:
            here = replace(run.here, compiled=compiled)
            measure.run_cells(replace(run.plan, tasks=tuple(tasks)), here, on_event, at_once=at_once)
        now = _left(run.plan, run.read().measured, run.cases)
        left = {name: of for name, of in now.items() if len(of) < len(left.get(name, ()))}
    shutil.rmtree(run.here.run / SAVED, ignore_errors=True)


def _order(run: _Run, backend: str) -> tuple[Sequence[str], set[int]]:
    """All names of a generation in the order in which they are tried, and cases that a process ended in."""
    names = [*dict.fromkeys(one.name for one in run.cases[results.generation(backend)])]
    begun = {begun_case(one.facts)[0] for one in run.read().measured if one.cell.backend == backend}
    return [name for start in range(ROUNDS) for name in names[start::ROUNDS]], {
        one for one in begun if one is not None
    }


def _shares(
    cases: Sequence[ProbeCase], at_once: int, order: Sequence[str], ended: Collection[int] = ()
) -> list[list[ProbeCase]]:
    """The cases of each process of a backend: those of a name together, which share what is compiled, and the next
    name, which is often as slow, in another process; but first the ones that `ended` a process.
    """
    rank = {name: number for number, name in enumerate(order)}
    of_names = groupby((one for one in cases if one.id not in ended), lambda one: one.name)
    groups = [*([one] for one in cases if one.id in ended), *(list(of) for _, of in of_names)]
    processes = max(1, min(at_once, len(cases) // LEAST_CASES))
    shares = [[one for of in groups[number::processes] for one in of] for number in range(processes)]
    return [sorted(one, key=lambda case: (case.id not in ended, rank[case.name], case.id)) for one in shares]


def _with(task: CellTask, left: Sequence[ProbeCase], process: int, checks: bool) -> CellTask:
    asked = {"cases": [asdict(one) for one in left], "checks": checks}
    return replace(task, repeat=process, part={**(task.part or {}), **asked})


def _of_backends(
    plan: Plan, measured: Sequence[Measured], made: Mapping[str, Sequence[ProbeCase]]
) -> dict[str, list[ProbeCase]]:
    """The cases of each backend that has told its names: those of the names that it has."""
    public = {one.cell.backend: public_names(one.facts) for one in measured if public_names(one.facts)}
    without = _without(plan)
    return {
        task.backend: [
            one
            for one in made.get(results.generation(task.backend), ())
            if one.name in of and results.is_tried(one.name, task.backend, without)
        ]
        for task in plan.to_measure()
        if task.repeat == 1 and (of := public.get(task.backend))
    }


def _left(
    plan: Plan, measured: Sequence[Measured], made: Mapping[str, Sequence[ProbeCase]]
) -> dict[str, list[ProbeCase]]:
    """The cases that have not been tried, of the backends that have some."""
    of_plan = {task.backend for task in plan.to_measure()}
    found = results.left(measured, made, _without(plan))
    return {name: of for name, of in found.items() if of and name in of_plan}


def _without(plan: Plan) -> dict[str, list[str]]:
    """Modules that are not tried on a backend: optimizers where nothing can be trained, if it is no reference."""
    return {one.name: ["optimizers"] for one in plan.backends if TRAIN not in one.can and not one.reference}


def check_names(measured: Iterable[Measured], only: str) -> None:
    """Raises UserError if no public name that was listed is like those that were asked for."""
    everything = sorted({name for one in measured for name in public_names(one.facts)})
    if everything and not cases.chosen(everything, only):
        raise NoSuchName(f"--only: Keras has no public name like {only[:100]!r}{_meant(only, everything)}")


def _meant(only: str, everything: Sequence[str]) -> str:
    near = meant(only, everything)
    return f": did you mean {near}?" if near else "; write it with its module, such as 'layers.Conv*'."
