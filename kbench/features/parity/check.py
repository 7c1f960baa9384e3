"""Computes what a parity run compares: one batch on each backend, without dropout. Prints nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kbench import store
from kbench.errors import Interrupted
from kbench.features.parity import KIND, agreement
from kbench.machine import devices
from kbench.planning.plan import Plan, make_plan
from kbench.planning.request import Request
from kbench.planning.tasks import CellTask, with_guest
from kbench.records.values import Backend, Device
from kbench.selection.known import known_backends
from kbench.session import data, events, interrupts, measure, prepare
from kbench.session.events import OnEvent, ignore
from kbench.store import RunResults

PROFILE = "parity"
DEFAULT_FORM = "default"
TIMEOUT = 3600.0  # against a hang


def check_parity(
    request: Request,
    folder: Path,
    on_event: OnEvent = ignore,
    *,
    form: str = DEFAULT_FORM,
    name: str | None = None,
    command: str = "",
) -> RunResults:
    """Compute it as a new run below `folder`; `form` is that of recurrent layers. Raises what `measure` does."""
    parent = measure.check_folder(request, folder, name)
    gpus = devices.gpus()
    plan = planned(request, form, gpus)
    missing = prepare.to_make(plan)
    on_event(events.Planned(plan, tuple(missing)))
    with prepare.reserved():
        plan, here = measure.new_run(
            plan, parent, missing, on_event, name=name, command=command, gpus=gpus, kind=KIND, form=form
        )
        with store.filling(here.run), interrupts.ended_as_interrupted():
            try:
                measure.run_cells(plan, here, on_event)
            except KeyboardInterrupt:
                raise Interrupted(here.run) from None
    return store.read(here.run)


def planned(request: Request, form: str, gpus: Sequence[Device] | None = None) -> Plan:
    """What `check_parity` would do. Raises UserError."""
    gpus = devices.gpus() if gpus is None else gpus
    request = replace(request, profile="full", timeout=request.timeout or TIMEOUT)
    known = {name: _in_form(backend, form) for name, backend in known_backends().items()}
    return data.chosen(_plan(request, known, gpus))


def _in_form(backend: Backend, form: str) -> Backend:
    """The backend with its recurrent layers as they ship, or in the right form."""
    if form == DEFAULT_FORM:
        return replace(backend, recurrent={}, fixed_batch=(), ordered_updates=False, corrected_normalization=False)
    return replace(backend, explained=tuple(one for one in backend.explained if not one.as_shipped))


def _plan(request: Request, known: Mapping[str, Backend], gpus: Sequence[Device]) -> Plan:
    """A cell for each example and backend; without training if the backend cannot train."""
    if request.script:
        made = make_plan(request, known, gpus)
        return replace(made, tasks=tuple(map(_small, made.tasks)))
    full, forward = make_plan(request, known, gpus), make_plan(request, known, gpus, task="infer")
    pairs = zip(full.tasks, forward.tasks, strict=True)
    tasks = [other if one.id in full.impossible else one for one, other in pairs]
    neither = {cell: verdict for cell, verdict in forward.impossible.items() if cell in full.impossible}
    return replace(forward, tasks=tuple(map(_small, tasks)), impossible=neither)


def _small(task: CellTask) -> CellTask:
    """The task with one batch per step, or fewer if the data has fewer."""
    samples = min(task.samples, max(agreement.STEPS) * task.batch_size)
    return with_guest(
        replace(task.at(samples=samples), profile=PROFILE, validation_samples=0, epochs=0, part=part_of())
    )


def part_of() -> dict[str, Any]:
    """What a cell computes: an example's model is built without dropout and compiled later."""
    part = {"feature": KIND, "driver": "kbench_parity.driver", "at": "model", "bare": True}
    return {**part, "steps": tuple(agreement.STEPS)}
