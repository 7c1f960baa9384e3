"""Tries every public name of Keras on each backend: which work, differ, raise, crash or hang."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kbench import hooks
from kbench.additions import Command, EventKind, FurtherOptions, RunKind
from kbench.cli.groups import MORE, OF_CELLS, WHAT
from kbench.cli.option_types import list_of
from kbench.features.coverage.values import ABSENT, CHANGES, CRASHES, DIFFERS, HANGS, KIND, RAISES
from kbench.records import axes

if TYPE_CHECKING:
    from kbench.screen.output import Output
    from kbench.store import RunResults

FAILING = (DIFFERS, RAISES, CRASHES, HANGS, ABSENT)  # what `--fail-on` takes


@hooks.fills
def events() -> Sequence[EventKind]:
    """Of public names."""
    from kbench.features.coverage.events import Begun, Case, Public

    by_name = EventKind(Public, lambda event: event.name)
    return by_name, EventKind(Begun), EventKind(Case, lambda event: event.case, is_progress=True)


@hooks.fills
def commands() -> Mapping[str, Command]:
    """`coverage`."""
    return {
        "coverage": Command(
            "Try every public name of Keras on each backend: layers, losses, metrics, optimizers, ops and others, "
            "with the settings that change what they compute; and tell which differ, raise, crash or hang.",
            "try every public name of Keras on backends: which works, differs, raises or crashes",
            "kbench.features.coverage.command",
            Path(__file__).with_name("coverage.txt"),
            options=(
                "--backends", WHAT, "--python", "--only", "--quick", "--seed", "--fail-on", MORE,
                *OF_CELLS, "--name", "--dry-run", "--results",
            ),
            declared={
                "--backends": {
                    "help": "names shown by `list` (the part after the slash is enough if it is unique), a "
                    "generation such as keras3, or all"
                },
                "--only": {
                    "default": "",
                    "metavar": "PATTERNS",
                    "help": "try only the public names like these, such as 'layers.Conv*,optimizers.*' (default: "
                    "all)",
                },
                "--quick": {
                    "action": "store_true",
                    "help": "try at most three cases of each name, and look at their outputs alone",
                },
                "--fail-on": {
                    "type": list_of(FAILING),
                    "default": (),
                    "metavar": "LIST",
                    "help": f"exit status 1 if a name is one of {', '.join(FAILING)}",
                },
                "--seed": {"help": "random seed of inputs and weights (default: 0)"},
                "--timeout": {"help": "stop a process after this time, in seconds or such as 10m (default: 1h)"},
                "--memory-limit": {
                    "help": "end a process that uses more memory than this, such as 8GiB: its case crashes, and the "
                    "next ones go on (default: half of what is free, shared among those side by side)"
                },
            },
            axes={
                axes.DEVICE: "",
                axes.THREADS: "CPU threads of each process (default: 1; as many processes run as cores allow)",
            },
        )
    }  # fmt: skip


@hooks.fills
def further_options() -> Mapping[str, FurtherOptions]:
    """What `compare` can be asked of two coverage runs."""
    fail_on = {
        "type": list_of(CHANGES),
        "default": (),
        "metavar": "LIST",
        "help": f"exit status 1 if a name is one of {', '.join(CHANGES)}",
    }
    title = "of two coverage runs: which public names broke, were fixed, added or removed"
    examples = Path(__file__).with_name("compare.txt")
    return {"compare": FurtherOptions(title, ("--fail-on",), {"--fail-on": fail_on}, examples=examples)}


@hooks.fills
def instead(options: argparse.Namespace) -> int | None:
    """Compare coverage runs."""
    if options.command != "compare":
        return None
    from kbench.features.coverage import compare

    return compare.instead(options)


@hooks.fills
def run_kinds() -> Sequence[RunKind]:
    """Runs of `coverage`."""
    return (CoverageRun(),)


class CoverageRun(RunKind):
    """A run that tries public names."""

    name = KIND
    file = "coverage.json"
    is_resumed = True

    def counted(self, read: RunResults) -> str:
        """How many names have each state."""
        from kbench.features.coverage.results import names

        counted = Counter(one.state for one in names(read))
        return ", ".join(f"{number} {state}" for state, number in counted.most_common())

    def report(self, read: RunResults, wanted: Output) -> int:
        """Write coverage.csv, .json and .html, and print the short answer."""
        from kbench.features.coverage import finish

        finish.finish(read)
        return 0

    def resume(self, run: Path, options: argparse.Namespace) -> int:
        """Try what is missing."""
        from kbench.features.coverage import command

        return command.resume(run, options)
