"""The commands of the core, in the order of `--help`; features have theirs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kbench.additions import Command
from kbench.cli.groups import HOW_OFTEN, MORE, OF_CELLS, OVERRIDES, SELECTION, SHOWN, WHAT

_HELP = Path(__file__).parent / "help"


def text(name: str) -> str:
    """A text of the help that names backends: in a file, because code must not."""
    return (_HELP / f"{name}.txt").read_text("utf-8")


def _named(name: str) -> tuple[str, Path]:
    return f"kbench.commands.{name}", _HELP / f"{name}.txt"


COMMANDS: Mapping[str, Command] = {
    "run": Command(
        "Measure examples on backends: seconds per epoch, loss and accuracy, as tables and plots.",
        "measure examples on backends (the default: `%(prog)s --backends a,b` is `%(prog)s run --backends a,b`)",
        *_named("run"),
        options=(
            *SELECTION, "--profile", OVERRIDES, HOW_OFTEN, MORE, *OF_CELLS, "--data",
            "--baseline", "--name", "--dry-run", "--verbose", "--no-plots", *SHOWN, "--results",
        ),
        usual=(
            "--backends", "--examples", "--profile", "--epochs", "--batch-size", "--repeats", "--budget",
            "--device", "--baseline", "--name", "--dry-run", "--verbose",
        ),
    ),
    "new": Command(
        "Write a commented example file to start from. It runs at once.",
        "write an example file to start from",
        *_named("new"),
        options=("new_file", "--like"),
    ),
    "resume": Command(
        "Continue a run: measure the cells that are missing, or whose files have changed. With --budget, also "
        "measure open rows again.",
        "continue an interrupted run, or repeat what failed",
        *_named("resume"),
        options=("run", "--retry", "--budget", "--verbose", "--no-plots", *SHOWN, "--results"),
        takes_program=True,
    ),
    "list": Command(
        "List backends and examples: what each is and can do, whether it is installed; or your runs; or kbench's "
        "features; or what else is named here.",
        "backends and examples; `list runs`: your runs; `list features`: what else kbench can do",
        *_named("list"),
        options=("what", "--variables", "--format", "--python", "--results"),
    ),
    "setup": Command(
        "Create the backends' environments where they are missing. Measures nothing.",
        "create the backends' environments, measure nothing",
        *_named("setup"),
        options=("--backends", WHAT, "--python"),
    ),
    "report": Command(
        "Write a run's tables, plots and pages again from its measurements, and print the tables; or put several "
        "runs on one page.",
        "write a run's tables and plots again",
        *_named("report"),
        options=(
            "runs", "--output", "--plot-style", "--plot-size", "--no-plots", "--verbose", "--baseline", *SHOWN,
            "--results",
        ),
    ),
    "doctor": Command(
        "Check this machine: Pythons, compilers, GPU, disk, environments, data. Changes nothing.",
        "check this machine: each line is ok or says what to type",
        *_named("doctor"),
        options=(WHAT, "--python"),
    ),
    "clean": Command(
        "Show what is in kbench's cache folder, or remove one kind of it. The next run creates what it needs again. "
        "Results are never touched, and nothing is removed while a run goes on.",
        "show what is in the cache folder, and remove it",
        *_named("clean"),
        options=("what",),
    ),
}  # fmt: skip
