"""Runs a user's own Keras program, unchanged, on each backend, and times what it calls of its models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbench import hooks
from kbench.additions import (
    Command,
    EventKind,
    FindingKind,
    FurtherOptions,
    GuestDriver,
    ProgramPart,
    Programs,
    Told,
    WorkCheck,
    WorkKind,
)
from kbench.cli.groups import HOW_OFTEN, MORE, SHOWN, WHAT
from kbench.features.script import options
from kbench.records import axes
from kbench.records.values import PRECISION

if TYPE_CHECKING:
    from kbench.analysis.rows import Analysis
    from kbench.planning.request import Request
    from kbench.planning.tasks import CellTask
    from kbench.records.values import Environment


@hooks.fills
def commands() -> Mapping[str, Command]:
    """`script`."""
    return {
        "script": Command(
            "Run your own Keras program, unchanged, on each backend: time and scores of every call of fit, evaluate "
            "and predict.",
            "run your own Keras program, unchanged, on each backend",
            "kbench.commands.run",
            Path(__file__).with_name("script.txt"),
            options=(
                "file", "-m", "--backends", WHAT, "--python", "--with", "--max-epochs",
                "--max-steps", MORE, "--compare-lines", "--figure", "--seed", "--seeds", "--init", "--workdir",
                "--keep-files", HOW_OFTEN, "--timeout", "--memory-limit", "--baseline",
                "--name", "--dry-run", "--verbose", "--show-output", "--no-plots", *SHOWN, "--results",
            ),
            declared={
                **options.OPTIONS,
                "--backends": {"help": options.BACKENDS},
                "--repeats": {
                    "help": "run it on each backend N times, in new processes (default: once, then as often as "
                    "--precision and --budget require)"
                },
                "--precision": {
                    "help": "rows within this share of the fastest are as fast; measure until each is that or slower "
                    f"(default: {PRECISION}; not with --repeats)"
                },
                "--init": {
                    "choices": ("seeded", "backend"),
                    "default": "backend",
                    "help": "initial weights: each backend's own (default), or seeded: the first model trained "
                    "starts with the same weights on every backend",
                },
            },
            several=(axes.ARGUMENTS, axes.DEVICE, axes.THREADS),
            usual=(
                "file", "-m", "--backends", "--with", "--max-epochs", "--max-steps", "--variant", "--compare-lines",
                "--seeds", "--init", "--workdir", "--repeats", "--budget", "--device", "--verbose",
                "--show-output",
            ),
            takes_program=True,
            after="run",
        )
    }  # fmt: skip


@hooks.fills
def further_options() -> Mapping[str, FurtherOptions]:
    """What `resume` needs again of a program."""
    help_text = (
        "packages whose addresses have passwords, again: kbench keeps none; give arguments with secrets after --"
    )
    declared = {"--with": {**options.OPTIONS["--with"], "help": help_text}}
    return {"resume": FurtherOptions("a program of your own", tuple(declared), declared)}


@hooks.fills
def guest_driver(task: CellTask) -> GuestDriver | None:
    """What runs a program in a backend's process, also where a feature does something else with it."""
    return GuestDriver("script", "kbench_script.driver") if task.script is not None else None


@hooks.fills
def planned(request: Request) -> Sequence[str]:
    """The packages and the Python of a program, and whether it is none."""
    from kbench.features.script import planned

    if request.script is None:
        return ()
    return [*planned.lines(request.script), *planned.of_example(Path(request.examples[0]).expanduser())]


@hooks.fills
def with_packages(environment: Environment, request: Request, report: Callable[[str], None]) -> Environment | None:
    """Those of `--with`, and those that the program names itself."""
    from kbench.features.script import added_packages

    asked = request.script.packages if request.script else ()
    return added_packages.ensure(environment, asked, report) if asked else None


@hooks.fills
def programs() -> Programs:
    """Files, modules and notebooks in Python."""
    from kbench.features.script.programs import UserPrograms

    return UserPrograms()


@hooks.fills
def events() -> Sequence[EventKind]:
    """What calls of models took, and returned."""
    from kbench.features.script.events import EVENT_KINDS

    return EVENT_KINDS


@hooks.fills
def program_part(asked: Mapping[str, Any]) -> ProgramPart:
    """Which public name of Keras raised what a program or an example failed with."""
    return ProgramPart("script", "", asked=False, on_error="kbench_script.hosting.at_fault")


@hooks.fills
def work_kinds() -> Sequence[WorkKind]:
    """The lines of a program."""
    from kbench.features.script.program_work import ProgramWork

    return (ProgramWork(),)


@hooks.fills
def finding_kinds() -> Sequence[FindingKind]:
    """What only its lines can have."""
    from kbench.features.script.told.finding_sentences import FINDING_KINDS

    return FINDING_KINDS


@hooks.fills
def work_check() -> WorkCheck:
    """Whether fits begin alike, and those that do have the same first loss."""
    from kbench.features.script.lines import line_losses, line_starts

    return WorkCheck(lambda measured: [*line_starts.differences(measured), *line_losses.differences(measured)])


@hooks.fills
def told(analysis: Analysis) -> Told:
    """Which public name of Keras is at fault, and the answer to --compare-lines."""
    from kbench.features.script import compared_lines
    from kbench.features.script.told import at_fault

    return Told(answers=[*at_fault.sentences(analysis.run), *compared_lines.sentences(analysis)])
