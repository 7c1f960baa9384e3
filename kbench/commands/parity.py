"""`parity`: do the backends compute the same thing? Outputs, layers, loss and some steps on one batch."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from kbench import paths, store
from kbench.cells.runner import Settings
from kbench.cli import arguments
from kbench.environments.interpreters import Choice
from kbench.machine import devices, provenance
from kbench.outputs import parity_run
from kbench.parity import agreement, reading
from kbench.planning import plan
from kbench.planning.plan import Plan, PlannedCell, Request
from kbench.selection import names as selecting
from kbench.selection.names import Backends, Examples
from kbench.session import choices, interrupts, prepare, record, run_cells, terminal
from kbench.session.measure import check_place, data_folder
from kbench.values import OK, Data, Device

PROFILE = "parity"
DEFAULT_FORM = "default"
TIMEOUT = 3600.0  # against a hang


def main(options: argparse.Namespace) -> int:
    """Compute, compare and print the tables; returns the exit status. Raises UserError."""
    known = choices.known_backends()
    selected = choices.chosen_backends(options, known)
    if options.form == DEFAULT_FORM:
        shipped = tuple(
            replace(backend, recurrent={}, fixed_batch=(), ordered_updates=False) for backend in selected.chosen
        )
        selected = Backends(shipped, selected.named)
    examples = selecting.select_examples(options.examples, choices.known_examples())
    pythons = choices.chosen_pythons(options, known)
    device, gpus = choices.chosen_device(options)
    place = paths.expanded(str(options.results)).absolute()  # a guest starts in another folder
    check_place(place, options.name)
    the_plan = _plan(selected, examples, _request(options), device, pythons)
    beside = None if options.format == terminal.TABLE else sys.stderr
    terminal.print_plan(the_plan, prepare.to_make(the_plan), None, "parity: one batch, dropout off", beside)
    with prepare.reserved():
        data = prepare.arrays(the_plan)
        made = prepare.make_environments(the_plan)
        told = provenance.read(gpus, [*arguments.program().split(), *options.argv])
        told["environments"] = record.of_environments(the_plan, made)
        run = store.create(place, _record(the_plan, data, options.form), told, options.name)
        with store.filling(run), interrupts.ended_as_interrupted():
            try:
                run_cells.run(the_plan, run, data, made, _settings(the_plan))
            except KeyboardInterrupt:
                show(run, options.format)
                print("kbench: interrupted; what was computed is kept.", file=sys.stderr)
                return interrupts.INTERRUPTED_STATUS
            agree = show(run, options.format)
    return 0 if agree and run_cells.acceptable(the_plan, store.read(run)) else 1


def show(run: Path, form: str = terminal.TABLE) -> bool:
    """Write the tables anew and print them in a format; whether all that was compared is the same or explained."""
    read = store.read(run)
    rows = parity_run.rebuild(read)
    terminal.print_parity(rows, parity_run.heading_facts(read), form)
    terminal.print_folder(run, "Tables and arrays", "parity.md", None if form == terminal.TABLE else sys.stderr)
    ended = [row for row, one in zip(rows, read.measured, strict=True) if one.outcome.status == OK]
    return agreement.passes(ended)


def _request(options: argparse.Namespace) -> Request:
    return Request(
        profile="full",
        image_data_format=options.image_data_format,
        seed=options.seed,
        batch_size=options.batch_size,
        threads=options.threads,
        timeout=options.timeout or TIMEOUT,
        memory_limit_mib=options.memory_limit,
        data_source=options.data,
        data_dir=data_folder(options),
        pass_env=choices.passed_variables(options),
    )


def _plan(
    selected: Backends, examples: Examples, request: Request, device: Device, pythons: Mapping[str, Choice]
) -> Plan:
    """A cell for each example and backend; a backend that cannot train shows its outputs and layers alone."""
    full = plan.make(selected, examples, request, device, pythons)
    forward = Examples(tuple(replace(example, task="infer") for example in examples.chosen), examples.named)
    second = plan.make(selected, forward, request, device, pythons)
    cells = zip(full.cells, second.cells, strict=True)
    return replace(full, cells=tuple(_small(one if one.verdict is None else other) for one, other in cells))


def _small(planned: PlannedCell) -> PlannedCell:
    """The cell with as many batches as there are steps, where the data have so many."""
    cell = planned.cell
    samples = min(cell.samples, max(agreement.STEPS) * cell.batch_size)
    return replace(planned, cell=replace(cell, profile=PROFILE, samples=samples, validation_samples=0, epochs=0))


def _record(the_plan: Plan, data: dict[tuple[str, str], Data], form: str) -> dict[str, object]:
    """What run.json keeps of the plan."""
    request = the_plan.request
    return store.plan_record(
        [planned.cell for planned in the_plan.cells],
        the_plan.backends,
        the_plan.examples,
        {example: one for (example, _), one in data.items()},
        kind=reading.KIND,
        form=form,
        profile=PROFILE,
        device=the_plan.device.label,
        image_data_format=request.image_data_format,
        seed=request.seed,
        data_source=request.data_source,
        pass_env=request.pass_env,
        threads=the_plan.threads,
        timeout=request.timeout,
        memory_limit_mib=request.memory_limit_mib,
    )


def _settings(the_plan: Plan) -> Settings:
    return Settings(
        device=the_plan.device,
        pinned=devices.pin_variables(the_plan.device),
        timeout=the_plan.request.timeout,
        augment=False,
        init="seeded",
        guest=paths.GUEST,
        published_weights={},
        parity={"steps": list(agreement.STEPS)},
        memory_limit_mib=the_plan.request.memory_limit_mib,
    )
