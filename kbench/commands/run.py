"""`run`: plan, make what is missing, measure, tabulate."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from kbench import (
    arguments,
    devices,
    pace,
    paths,
    plan,
    results,
)
from kbench import selection as selecting
from kbench.commands import cells, choices, interrupts, preparing, recording, screen
from kbench.errors import UserError
from kbench.plan import Plan, Request
from kbench.runner import Settings
from kbench.values import Data, Device, Environment


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
    _print_plan(the_plan, options)
    if options.dry_run:
        return 0
    with preparing.reserved(the_plan):
        data = preparing.arrays(the_plan)
        # Before the run's folder is made, for a wrong --python is found out here.
        made = preparing.make_environments(the_plan)
        told = recording.machine(the_plan, gpus, [*arguments.program().split(), *options.argv], made)
        run = results.create(place, recording.plan_record(the_plan, data), told, options.name)
        with results.filling(run):
            return measure(the_plan, the_plan, run, data, made, gpus, options)


def _print_plan(the_plan: Plan, options: argparse.Namespace) -> None:
    """On stdout, but for what a program reads from there; with --quiet only where nothing else was asked for."""
    if options.dry_run or options.detail != screen.QUIET:
        alone = options.dry_run or options.format == screen.TABLE
        screen.print_plan(the_plan, preparing.to_make(the_plan), None, file=None if alone else sys.stderr)


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
        pass_env=choices.passed_variables(options),
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


def measure(
    the_plan: Plan,
    to_run: Plan,
    run: Path,
    data: Mapping[tuple[str, str], Data],
    made: Mapping[str, Environment | str],
    gpus: Sequence[Device],
    options: argparse.Namespace,
) -> int:
    """Run the cells of `to_run` and print the tables of the whole plan; returns the exit status."""
    with interrupts.ended_as_interrupted():
        try:
            reference = partial(pace.measure, the_plan.threads, recording.cell_variables(the_plan))
            cells.run(to_run, run, data, made, settings(the_plan), reference, options.detail)
            results.record_end(run, recording.at_end(the_plan, gpus))
        except KeyboardInterrupt:
            with contextlib.suppress(OSError):  # the terminal may be gone
                finish(the_plan, run, options.format)
                print("kbench: interrupted; what was measured is kept.", file=sys.stderr)
            return interrupts.INTERRUPTED_STATUS
        except UserError as error:
            raise UserError(f"{str(error).rstrip('.')}; once that is mended, {screen.resuming(run)}") from error
        return finish(the_plan, run, options.format)


def finish(the_plan: Plan, run: Path, form: str) -> int:
    """Write and print the tables, and how to go on where something is missing; returns the exit status."""
    there = results.read(run)
    rows = there.summaries()
    try:
        results.rebuild(there, rows=rows)
    except UserError as error:
        screen.print_rows(there, rows, form)
        screen.print_resuming(there, sys.stderr)
        raise UserError(f"{str(error).rstrip('.')}; once that is mended, {screen.reporting(run)}") from error
    screen.print_results(there, rows, form)
    screen.print_resuming(there, None if form == screen.TABLE else sys.stderr)
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
