"""`run`: plan, make what is missing, measure, tabulate."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NoReturn

from kbench import (
    arguments,
    datasets,
    devices,
    environments,
    launcher,
    paths,
    plan,
    provenance,
    results,
    runner,
)
from kbench import selection as selecting
from kbench.commands import choices, screen
from kbench.errors import Unavailable, UserError
from kbench.plan import Plan, PlannedCell, Request
from kbench.runner import Job, Settings
from kbench.values import OK, UNAVAILABLE, Data, Environment, Outcome


def main(options: argparse.Namespace) -> int:
    """Measure what the options ask for; returns the exit status."""
    known = choices.known_backends()
    selected = choices.chosen_backends(options, known)
    examples = selecting.select_examples(options.examples, choices.known_examples())
    pythons = choices.chosen_pythons(options, known)
    device, gpus = choices.chosen_device(options)
    place = paths.expanded(str(options.results)).absolute()  # a guest starts in another folder
    _check_place(place)
    the_plan = plan.make(selected, examples, _request(options), device, pythons)
    screen.print_plan(the_plan, _to_make(the_plan), None)
    if options.dry_run:
        return 0
    data = _prepare_data(the_plan)
    # Before the run's folder is made, for a wrong --python is found out here.
    made = _make_environments(the_plan)
    record = _record(the_plan, data)
    told = provenance.read(gpus, [*arguments.program().split(), *options.argv])
    run = results.create(place, record, told, options.name)
    return _measure(the_plan, run, data, made)


def _request(options: argparse.Namespace) -> Request:
    mirror = options.data_dir or os.environ.get("KBENCH_DATA")
    return Request(
        profile=options.profile,
        image_data_format=options.image_data_format,
        repeats=options.repeats,
        seed=options.seed,
        epochs=options.epochs,
        samples=options.samples,
        batch_size=options.batch_size,
        augment=options.augment,
        timeout=options.timeout,
        data_source=options.data,
        data_dir=paths.expanded(str(mirror)).absolute() if mirror else None,
    )


def _check_place(parent: Path) -> None:
    """Raises UserError where no run's folder could be made: said at once, not after minutes of preparation."""
    existing = next(folder for folder in (parent, *parent.parents) if folder.exists())
    if not existing.is_dir():
        raise UserError(f"{existing} is not a folder: choose another place with --results.")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise UserError(f"{existing} is not yours to write: choose another place with --results.")


def _to_make(the_plan: Plan) -> list[str]:
    """The backends whose environments are not there yet."""
    missing = []
    for backend, build in the_plan.environments():
        choice = the_plan.pythons.get(backend.name)
        as_is = choice is not None and choice.as_is
        if not as_is and environments.find(backend, build, explicit=choice) is None:
            missing.append(backend.name)
    return missing


def _prepare_data(the_plan: Plan) -> dict[tuple[str, str], Data]:
    """(example, image_data_format) -> its arrays, for the cells that will run. Raises UserError."""
    prepared: dict[tuple[str, str], Data] = {}
    for planned in the_plan.cells:
        key = (planned.example.name, planned.cell.image_data_format)
        if planned.verdict is not None or key in prepared:
            continue
        data = datasets.prepare(
            planned.example.data,
            input=planned.example.input,
            image_data_format=planned.cell.image_data_format,
            source=the_plan.request.data_source,
            mirror=the_plan.request.data_dir,
            samples=planned.cell.samples,
            progress=sys.stderr.isatty(),
        )
        if planned.example.task == "train" and not data.train_labels:
            raise UserError(f"{planned.example.name} trains, and its data {data.name!r} has no labels.")
        _check_counts(planned, data)
        prepared[key] = data
    return prepared


def _check_counts(planned: PlannedCell, data: Data) -> None:
    """Raises UserError where the cell wants more samples than the data has."""
    cell = planned.cell
    for what, wanted, there in (
        ("samples", cell.samples, data.samples),
        ("validation samples", cell.validation_samples, data.validation_samples),
    ):
        if wanted > there > 0:
            raise UserError(
                f"{cell.example} asks for {wanted} {what}, and its data {data.name!r} has {there}: give fewer "
                "--samples, or correct the example's PROFILES."
            )


def _record(the_plan: Plan, data: Mapping[tuple[str, str], Data]) -> dict[str, object]:
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
        augment=request.augment,
        data_source=request.data_source,
        timeout=the_plan.timeout,
    )


def _measure(
    the_plan: Plan, run: Path, data: Mapping[tuple[str, str], Data], made: Mapping[str, Environment | str]
) -> int:
    """Run the cells, print the tables."""
    try:
        jobs = [_job(planned, made, data) for planned in the_plan.cells]
        with _ended_as_interrupted(), screen.Progress(len(jobs)) as progress:
            outcomes = runner.run(
                jobs,
                run,
                _settings(the_plan),
                lambda environment: environments.variables(environment, plan.threads()),
                launcher.launch,
                progress.listener,
            )
    except KeyboardInterrupt:
        _print_results(run)
        print("kbench: interrupted; what was measured is kept.", file=sys.stderr)
        return 130
    _print_results(run)
    bad = [
        (planned, outcome)
        for planned, outcome in zip(the_plan.cells, outcomes, strict=True)
        if outcome.status != OK and not _acceptable(the_plan, planned, outcome)
    ]
    return 1 if bad else 0


@contextlib.contextmanager
def _ended_as_interrupted() -> Iterator[None]:
    """A batch system or a closed terminal ends a run as Ctrl-C does: no guest stays behind, results are kept."""

    def interrupt(number: int, frame: object) -> NoReturn:
        raise KeyboardInterrupt

    known = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    # Another handler, or none under nohup, is somebody's decision.
    ours = [number for number in known if signal.getsignal(number) is signal.SIG_DFL]
    if threading.current_thread() is not threading.main_thread():  # only that one may ask for signals
        ours = []
    for number in ours:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _acceptable(the_plan: Plan, planned: PlannedCell, outcome: Outcome) -> bool:
    return outcome.status in ("unsupported", UNAVAILABLE) and plan.acceptable(the_plan, planned, outcome)


def _make_environments(the_plan: Plan) -> dict[str, Environment | str]:
    """Backend -> its environment, or the sentence that says why there is none."""
    made: dict[str, Environment | str] = {}
    for backend, build in the_plan.environments():
        try:
            choice = the_plan.pythons.get(backend.name)
            made[backend.name] = environments.ensure(backend, build, explicit=choice, report=screen.say)
        except Unavailable as error:
            screen.say(f"{backend.name}: unavailable: {error}")
            made[backend.name] = str(error)
    return made


def _job(planned: PlannedCell, made: Mapping[str, Environment | str], data: Mapping[tuple[str, str], Data]) -> Job:
    environment = made.get(planned.backend.name)
    verdict = planned.verdict
    if isinstance(environment, str):
        verdict = verdict or Outcome(UNAVAILABLE, environment)
    return Job(
        cell=planned.cell,
        example=planned.example,
        backend=planned.backend,
        build=planned.build,
        environment=environment if isinstance(environment, Environment) else None,
        data=data.get((planned.example.name, planned.cell.image_data_format)),
        verdict=verdict,
    )


def _settings(the_plan: Plan) -> Settings:
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
        timeout=the_plan.timeout,
        augment=the_plan.request.augment,
        guest=paths.GUEST,
        published_weights=published,
    )


def _print_results(run: Path) -> None:
    results.rebuild(run)
    screen.print_tables(results.read(run))
    screen.print_folder(run)
