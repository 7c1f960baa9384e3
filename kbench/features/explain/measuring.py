"""Explains why rows differ: measures a script with one change at a time, compares the results, and times the parts of
a training step.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kbench import store
from kbench.additions import EndedRun
from kbench.cells.spec import RunPaths
from kbench.features.explain import import_times
from kbench.features.parity import KIND, check
from kbench.features.script import events, standard_input
from kbench.planning.plan import Plan
from kbench.planning.request import OTHER_JIT, SAME_BATCH, Script
from kbench.planning.tasks import CellTask, with_guest
from kbench.records.values import NATIVE, OK, SCRIPT, Measured
from kbench.session import record
from kbench.session.events import MeasuringMore, OnEvent, ignore
from kbench.session.missing import missing, set_others_aside
from kbench.store import RunResults
from kbench.store.files import os_errors_as_user_errors, read_bytes

EPOCHS = 4  # of each fit
LEAST_LIMIT, LONGER = 20.0, 2.0  # seconds that a changed program may take; times as long as all cells took at first
_TOLD = {"layers": "what each layer costs", "trace": "traces of some steps"}
TRACE = "trace.json.gz"  # as kbench_explain.tracing names it
INSIDE = "inside"  # the part of a run that looks into training steps


@dataclass(frozen=True)
class Part:
    """A run in the folder of another one, which it explains."""

    name: str  # its folder
    what: str  # is measured, in words
    plan: Plan
    kind: Mapping[str, object] = field(default_factory=dict)  # what of its plan says what kind of run it is


def is_left(plan: Plan, results: RunResults) -> bool:
    """Whether something that was asked for is not measured yet, or is to be measured again."""
    parts = _parts(plan, results.measured, ignore)
    return bool(_to_import(plan, results.measured, parts, results.folder)) or any(
        _left(one, results.folder) for one in parts
    )


def explain(run: EndedRun) -> None:
    """Measure what is left of what was asked for to explain the cells that ended ok. Raises as `run_cells` does."""
    plan, run_paths, measured, on_event = run.plan, run.run_paths, run.measured, run.on_event
    parts = _parts(plan, measured, on_event)
    if tasks := _to_import(plan, measured, parts, run_paths.run):
        _make_folder(run_paths.run)
        on_event(MeasuringMore("Explaining: which packages importing Keras takes time for."))
        import_times.write(tasks, run_paths)
    for part in parts:
        if tasks := _left(part, run_paths.run):
            on_event(MeasuringMore(f"Explaining: {part.what}."))
            folder = _folder(part, tasks, run_paths)
            run.run_cells(replace(part.plan, tasks=tuple(tasks)), replace(run_paths, run=folder))
        traced = part.plan.tasks if part.name == INSIDE and plan.request.asked.get("trace") else ()
        for task in traced:  # beside what it explains
            made = store.cell_folder(_path(part, run_paths.run), task).path / TRACE
            if made.is_file():
                with os_errors_as_user_errors("move", made):
                    made.replace(store.cell_folder(run_paths.run, task).path / TRACE)


def _parts(plan: Plan, measured: Sequence[Measured], on_event: OnEvent) -> list[Part]:
    """All that is asked for of the cells that ended ok. What cannot be is told."""
    is_program = plan.request.script and plan.request.asked.get("explain")
    of_program = _of_program(plan, measured, on_event) if is_program else []
    return [*of_program, *_inside(plan, measured, on_event)]


def _of_program(plan: Plan, measured: Sequence[Measured], on_event: OnEvent) -> list[Part]:
    """A program with one change at a time, and its results on the first batches."""
    script, first = plan.request.script, _first(plan, measured)
    if script is None or not first:
        return []
    called = [name for one in measured for name in events.sites(one.facts)]
    fits = any(name.startswith("fit") for name in called)
    if not fits:
        on_event(MeasuringMore("Nothing to explain by other data or jit_compile: the program does not call fit."))
    shorter = replace(script, max_epochs=min(EPOCHS, script.max_epochs or EPOCHS))
    variants = (
        (replace(shorter, variant=SAME_BATCH), "the first batch only"),
        (replace(shorter, variant=OTHER_JIT), "run_eagerly off, or jit_compile inverted"),
    )
    took = sum(one.outcome.seconds or 0.0 for one in measured if one.cell.repeat == 1)
    limit = max(LEAST_LIMIT, LONGER * took)  # a compiler may take minutes: then what it would bring is not known
    found = []
    for changed, what in variants if fits else ():
        changes = {"max_epochs": changed.max_epochs, "variant": changed.variant}
        tasks = [
            replace(task, script={**(task.script or {}), **changes}, timeout=min(task.timeout, limit))
            for task in first
        ]
        found.append(Part(changed.variant, what, _plan(plan, tasks, changed)))
    if not all(name.startswith("call,") for name in called):  # a loop of its own
        part = check.part_of()
        tasks = [with_guest(replace(task, part=part)) for task in first]
        kind = {"kind": KIND, "form": "default"}
        found.append(Part(KIND, "results on the first batches", _plan(plan, tasks), kind))
    return found


def _inside(plan: Plan, measured: Sequence[Measured], on_event: OnEvent) -> list[Part]:
    """The parts of a training step of each cell, or traces of some of its steps, or both."""
    of_keras = [task for task in _first(plan, measured) if task.task in ("train", SCRIPT) and task.kind != NATIVE]
    trained = [task for task in of_keras if task.workers == 1]
    if not trained:
        on_event(MeasuringMore("No step to explain: no cell that trains a Keras model with one worker ended ok."))
        return []
    called = {name for one in measured for name in events.sites(one.facts)}
    if plan.request.script and not any(name.startswith("fit") for name in called):
        on_event(MeasuringMore("No training step to explain: the program does not call fit."))
        return []
    asked = {"layers": plan.request.asked.get("explain"), "trace": plan.request.asked.get("trace")}
    what = tuple(name for name, wanted in asked.items() if wanted)
    part: dict[str, Any] = {"feature": "explain", "driver": "kbench_explain.driver", "at": "model", "what": what}
    part |= {"in_turns": True, "with": [KIND]}  # whose guest knows a program's first model
    tasks = [with_guest(replace(task, part=part, epochs=0, validation_samples=0)) for task in trained]
    return [Part(INSIDE, " and ".join(_TOLD[one] for one in what), _plan(plan, tasks), {"kind": INSIDE})]


def _plan(plan: Plan, tasks: Sequence[CellTask], script: Script | None = None) -> Plan:
    """That of a part: each cell once, and nothing explains it in turn. `script`: the changed program."""
    asked = replace(plan.request, script=script or plan.request.script, asked={})
    once = replace(asked, repeats=1, precision=None, budget=None, extra_repeats={}, short={})
    return replace(plan, request=once, tasks=tuple(tasks))


def _left(part: Part, run: Path) -> Sequence[CellTask]:
    """The cells of a part that are still to be measured."""
    folder = _path(part, run)
    if not (folder / "run.json").is_file():
        return part.plan.tasks
    return missing(part.plan, store.read(folder), (), True)[0]


def _to_import(plan: Plan, measured: Sequence[Measured], parts: Sequence[Part], run: Path) -> Sequence[CellTask]:
    """The cells of a program for which the import of Keras is to be timed: all, if it was not, or a part is left."""
    asked = plan.request.script is not None and plan.request.asked.get("explain")
    done = store.import_times(run).is_file() and not any(_left(one, run) for one in parts)
    return _first(plan, measured) if asked and not done else []


def _first(plan: Plan, measured: Sequence[Measured]) -> list[CellTask]:
    """The cells that ended ok, one of each row."""
    ended = {one.cell.id for one in measured if one.outcome.status == OK}
    return [task for task in plan.to_measure() if task.repeat == 1 and task.id in ended]


def _path(part: Part, run: Path) -> Path:
    return run / store.EXPLAIN / part.name


def _make_folder(run: Path) -> None:
    with os_errors_as_user_errors("make", run / store.EXPLAIN):
        (run / store.EXPLAIN).mkdir(exist_ok=True)


def _folder(part: Part, tasks: Sequence[CellTask], run_paths: RunPaths) -> Path:
    """The part's folder, without files of the cells that are to be measured. Raises UserError."""
    folder, planned = _path(part, run_paths.run), record.of_plan(part.plan, run_paths, **part.kind)
    if (folder / "run.json").is_file():
        set_others_aside(store.read(folder), part.plan, tasks)
        store.update(folder, **planned)
        return folder
    of_run = store.read_record(run_paths.run).provenance
    _make_folder(run_paths.run)
    made = store.create(run_paths.run / store.EXPLAIN, provenance=of_run, name=part.name, **planned)
    if (given := store.stdin(run_paths.run)).exists():
        with os_errors_as_user_errors("read", given):  # a program may have put something else there
            content = read_bytes(given, standard_input.MOST_INPUT)
        store.keep_stdin(made, io.BytesIO(content))
    return made
