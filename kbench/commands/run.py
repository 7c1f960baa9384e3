"""`run`: plan, make what is missing, measure, tabulate."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from kbench import (
    arguments,
    devices,
    paths,
    plan,
    provenance,
    results,
    steadiness,
)
from kbench import selection as selecting
from kbench.commands import cells, choices, interrupts, preparing, replan, screen
from kbench.errors import UserError
from kbench.plan import Plan, Request
from kbench.runner import Settings
from kbench.values import Data

PACE = steadiness.reference_seconds  # times the machine before each cell


def main(options: argparse.Namespace) -> int:
    """Measure what the options ask for; returns the exit status."""
    known = choices.known_backends()
    selected = choices.chosen_backends(options, known)
    examples = selecting.select_examples(options.examples, choices.known_examples())
    pythons = choices.chosen_pythons(options, known)
    device, gpus = choices.chosen_device(options)
    place = paths.expanded(str(options.results)).absolute()  # a guest starts in another folder
    check_place(place, options.name)
    baseline = choices.chosen_baseline(options, [backend.name for backend in selected.chosen])
    the_plan = plan.make(selected, examples, _request(options, baseline), device, pythons)
    screen.print_plan(the_plan, preparing.to_make(the_plan), None)
    if options.dry_run:
        return 0
    data = preparing.arrays(the_plan)
    # Before the run's folder is made, for a wrong --python is found out here.
    made = preparing.make_environments(the_plan)
    told = provenance.read(gpus, [*arguments.program().split(), *options.argv])
    run = results.create(place, record(the_plan, data), told, options.name)
    with results.filling(run):
        return measure(the_plan, run, lambda: cells.run(the_plan, run, data, made, settings(the_plan), PACE))


def _request(options: argparse.Namespace, baseline: str) -> Request:
    return Request(
        profile=options.profile,
        image_data_format=options.image_data_format,
        repeats=options.repeats,
        seed=options.seed,
        seeds=options.seeds,
        epochs=options.epochs,
        samples=options.samples,
        batch_size=options.batch_size,
        augment=options.augment,
        init=options.init,
        threads=options.threads,
        timeout=options.timeout,
        memory_limit_mib=options.memory_limit,
        data_source=options.data,
        data_dir=data_folder(options),
        baseline=baseline,
    )


def data_folder(options: argparse.Namespace) -> Path | None:
    """The folder with the published files that the user named, if any."""
    mirror = options.data_dir or os.environ.get("KBENCH_DATA")
    return paths.expanded(str(mirror)).absolute() if mirror else None


def check_place(parent: Path, name: str | None) -> None:
    """Raises UserError where no run's folder could be made: said at once, not after minutes of preparation."""
    if name is not None:
        results.check_name(parent, name)
    existing = next(folder for folder in (parent, *parent.parents) if folder.exists())
    if not existing.is_dir():
        raise UserError(f"{existing} is not a folder: choose another place with --results.")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise UserError(f"{existing} is not yours to write: choose another place with --results.")


def record(the_plan: Plan, data: Mapping[tuple[str, str], Data]) -> dict[str, object]:
    """What run.json keeps of the plan."""
    request = the_plan.request
    return results.plan_record(
        [planned.cell for planned in the_plan.cells],
        the_plan.backends,
        the_plan.examples,
        {example: one for (example, _), one in data.items()},
        profile=request.profile,
        device=the_plan.device.label,
        image_data_format=request.image_data_format,
        seed=request.seed,
        seeds=request.seeds,
        baseline=request.baseline,
        augment=request.augment,
        init=request.init,
        data_source=request.data_source,
        threads=the_plan.threads,
        timeout=request.timeout,
        memory_limit_mib=request.memory_limit_mib,
        request=replan.record(the_plan),
    )


def measure(the_plan: Plan, run: Path, run_cells: Callable[[], None]) -> int:
    """Run cells of the plan in the run's folder, and print the tables of all; returns the exit status."""
    with interrupts.ended_as_interrupted():
        try:
            run_cells()
        except KeyboardInterrupt:
            with contextlib.suppress(OSError):  # the terminal may be gone
                finish(the_plan, run)
                print("kbench: interrupted; what was measured is kept.", file=sys.stderr)
            return interrupts.INTERRUPTED_STATUS
        except UserError as error:
            raise UserError(f"{str(error).rstrip('.')}; once that is mended, {screen.resuming(run)}") from error
        return finish(the_plan, run)


def finish(the_plan: Plan, run: Path) -> int:
    """Write and print the tables, and how to go on where something is missing; returns the exit status."""
    results.rebuild(run)
    there = results.read(run)
    screen.print_tables(there)
    screen.print_folder(run)
    screen.print_resuming(there)
    return 0 if cells.acceptable(the_plan, there) else 1


def settings(the_plan: Plan) -> Settings:
    folders = [the_plan.request.data_dir, paths.cache_folder() / "data" / "files"]
    published = {
        example.name: folder / example.published_weights
        for example in the_plan.examples
        for folder in reversed([folder for folder in folders if folder is not None])
        if example.published_weights and (folder / example.published_weights).is_file()
    }
    return Settings(
        device=the_plan.device,
        pinned=devices.pin_variables(the_plan.device),
        timeout=the_plan.request.timeout,
        memory_limit_mib=the_plan.request.memory_limit_mib,
        augment=the_plan.request.augment,
        init=the_plan.request.init,
        guest=paths.GUEST,
        published_weights=published,
    )
