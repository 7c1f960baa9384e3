"""`run`: plan, make what is missing, measure, tabulate."""

from __future__ import annotations

import argparse
import sys

from kbench import paths, store
from kbench.cli import arguments
from kbench.planning import plan
from kbench.planning.plan import Plan, Request
from kbench.selection import names as selecting
from kbench.session import choices, measure, prepare, record, terminal


def main(options: argparse.Namespace) -> int:
    """Measure what the options ask for; returns the exit status."""
    known = choices.known_backends()
    selected = choices.chosen_backends(options, known)
    examples = selecting.select_examples(options.examples, choices.known_examples())
    pythons = choices.chosen_pythons(options, known)
    device, gpus = choices.chosen_device(options)
    place = paths.expanded(str(options.results)).absolute()  # a guest starts in another folder
    measure.check_place(place, options.name)
    baseline = choices.chosen_baseline(options, [backend.name for backend in selected.chosen])
    the_plan = plan.make(selected, examples, _request(options, baseline), device, pythons)
    _print_plan(the_plan, options)
    if options.dry_run:
        return 0
    with prepare.reserved():
        data = prepare.arrays(the_plan)
        # Before the run's folder is made, for a wrong --python is found out here.
        made = prepare.make_environments(the_plan)
        told = record.machine(the_plan, gpus, [*arguments.program().split(), *options.argv], made)
        run = store.create(place, record.plan_record(the_plan, data), told, options.name)
        with store.filling(run):
            return measure.measure(the_plan, the_plan, run, data, made, gpus, options)


def _print_plan(the_plan: Plan, options: argparse.Namespace) -> None:
    """On stdout, but for what a program reads from there; with --quiet only where nothing else was asked for."""
    if options.dry_run or options.detail != terminal.QUIET:
        alone = options.dry_run or options.format == terminal.TABLE
        terminal.print_plan(the_plan, prepare.to_make(the_plan), None, file=None if alone else sys.stderr)


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
        data_dir=measure.data_folder(options),
        pass_env=choices.passed_variables(options),
        baseline=baseline,
    )
