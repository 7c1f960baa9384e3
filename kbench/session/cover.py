"""Runs the cases of Keras's public names on each backend. Prints nothing.

A backend's first process lists its names. The next one runs the cases; one that ends it is the last that was begun,
and another process goes on behind it.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from kbench import axes, store
from kbench.cells.spec import SAVED, RunPaths
from kbench.coverage import cases, inputs, results
from kbench.coverage.values import KIND, ProbeCase
from kbench.errors import Interrupted, UserError
from kbench.machine import devices, host
from kbench.paths import GUEST
from kbench.planning import rows
from kbench.planning.plan import Plan
from kbench.planning.request import Request
from kbench.planning.tasks import CellTask, guest_sha256
from kbench.reported import Public
from kbench.selection import variants
from kbench.selection.known import known_backends
from kbench.selection.suites import INFER, TRAIN
from kbench.session import events, interrupts, measure, prepare, record
from kbench.session.events import OnEvent, ignore
from kbench.store import RunResults
from kbench.text import meant
from kbench.values import CHANNELS_LAST, Backend, Device, Example, Profile, base

SUBJECT = "public names"  # in place of an example
TIMEOUT = 3600.0  # of a process
CASE_SECONDS = 120.0  # then it hangs: a backend may compile for a minute
MEMORY_SHARE = 0.5  # of what is free, for a process


def cover(
    request: Request,
    folder: Path,
    on_event: OnEvent = ignore,
    *,
    only: str = "",
    quick: bool = False,
    name: str | None = None,
    command: str = "",
) -> RunResults:
    """Do it as a new run below `folder`. `only`: patterns of names; `quick`: a case of each. Raises what `measure`
    does.
    """
    parent = measure.check_folder(request, folder, name)
    gpus = devices.gpus()
    plan = planned(request, gpus)
    missing = prepare.to_make(plan)
    on_event(events.Planned(plan, tuple(missing)))
    with prepare.reserved():
        plan, here = measure.new_run(
            plan, parent, missing, on_event, name=name, command=command, gpus=gpus, kind=KIND
        )
        with store.filling(here.run), interrupts.ended_as_interrupted():
            try:
                _cover(plan, here, on_event, only, quick)
            except KeyboardInterrupt:
                raise Interrupted(here.run) from None
            finally:
                shutil.rmtree(here.run / SAVED, ignore_errors=True)
    return store.read(here.run)


def planned(request: Request, gpus: Sequence[Device] | None = None) -> Plan:
    """The first process of each backend, which lists its names. Raises UserError."""
    gpus = devices.gpus() if gpus is None else gpus
    (device,) = (devices.choose(str(one), gpus) for one in request.on(axes.DEVICE))
    known = known_backends()
    chosen = [variants.parse_name(one, known[base(one)]) for one in request.backends]
    shown = {one.name for one in chosen}
    chosen += [one for one in _references(chosen, known) if one.name not in shown]
    limit = request.memory_limit_mib or MEMORY_SHARE * host.available_mib()
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
            probes={
                "cases": (),
                "inputs": inputs.all_statements(request.seed),
                "seconds": CASE_SECONDS,
                "trains": TRAIN in backend.can,
            },
            timeout=request.timeout or TIMEOUT,
            memory_limit_mib=limit,
            guest_sha256=guest_sha256(),
            **of_backend,
        )
        tasks.append(task)
        if verdict is not None:
            impossible[task.id] = verdict
    return Plan(replace(request, interleave="off"), (device,), tuple(tasks), impossible, tuple(chosen), (_subject(),))


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


def _cover(plan: Plan, here: RunPaths, on_event: OnEvent, only: str, quick: bool) -> None:
    first = plan.to_measure()
    measure.run_cells(plan, here, on_event)
    listed = {one.cell.backend: one.facts.public for one in store.read(here.run).measured}
    public: dict[str, dict[str, Public]] = {}
    for backend, its_names in listed.items():
        public[results.generation(backend)] = {**its_names, **public.get(results.generation(backend), {})}
    made = {generation: cases.make(of, only, quick, plan.request.seed) for generation, of in public.items()}
    everything = sorted({name for of in public.values() for name in of})
    if everything and not cases.chosen(everything, only):
        raise UserError(f"--only: Keras has no public name like {only[:100]!r}{_meant(only, everything)}")
    asked = {generation: cases.chosen(sorted(of), only) for generation, of in public.items()}
    kept = partial(
        record.of_plan,
        run_paths=here,
        kind=KIND,
        cases={generation: [asdict(one) for one in of] for generation, of in made.items()},
        untried={of: sorted({*names} - {one.name for one in made[of]}) for of, names in asked.items()},
        shown=list(plan.request.backends),
    )
    left = {
        task.backend: [one for one in made[results.generation(task.backend)] if one.name in listed[task.backend]]
        for task in first
    }
    for process in itertools.count(2):
        tasks = [_with(task, left[task.backend], process, not quick) for task in first if left.get(task.backend)]
        if not tasks:
            store.update(here.run, **kept(plan))
            return
        plan = replace(plan, tasks=(*plan.tasks, *tasks))
        store.update(here.run, **kept(plan))
        measure.run_cells(replace(plan, tasks=tuple(tasks)), here, on_event)
        left = _left(store.read(here.run), left, process)


def _with(task: CellTask, left: Sequence[ProbeCase], process: int, checks: bool) -> CellTask:
    asked = {"cases": [asdict(one) for one in left], "checks": checks}
    return replace(task, repeat=process, probes={**(task.probes or {}), **asked})


def _left(run: RunResults, left: Mapping[str, Sequence[ProbeCase]], process: int) -> dict[str, list[ProbeCase]]:
    """The cases that have not begun; none of a backend whose process has not begun any."""
    found = {}
    for one in run.measured:
        if one.cell.repeat == process:
            begun = {*one.facts.cases, one.facts.begun}
            rest = [case for case in left[one.cell.backend] if case.id not in begun]
            found[one.cell.backend] = rest if len(rest) < len(left[one.cell.backend]) else []
    return found


def _meant(only: str, everything: Sequence[str]) -> str:
    near = meant(only, everything)
    return f": did you mean {near}?" if near else "; write it with its module, such as 'layers.Conv*'."
