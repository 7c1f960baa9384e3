"""Checks whether backends compute the same on one batch: outputs, layers, loss and the first steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kbench import hooks
from kbench.additions import Command, EventKind, RunKind
from kbench.cli.groups import MORE, NUMBERS, OF_CELLS, SELECTION
from kbench.features.parity import KIND
from kbench.features.script.options import INSTEAD
from kbench.records import axes

if TYPE_CHECKING:
    from kbench.screen.output import Output
    from kbench.store import RunResults


@hooks.fills
def events() -> Sequence[EventKind]:
    """Of a stage."""
    from kbench.features.parity.events import Parity

    return (EventKind(Parity, lambda event: event.stage),)


@hooks.fills
def commands() -> Mapping[str, Command]:
    """`parity`."""
    return {
        "parity": Command(
            "Check whether backends compute the same on one batch, from the same weights and without dropout: the "
            "outputs of the model and of each layer, the loss, and the weights after 1 and 10 steps.",
            "check whether backends compute the same: outputs, layers, loss and ten steps on one batch",
            "kbench.features.parity.command",
            Path(__file__).with_name("parity.txt"),
            options=(
                *SELECTION, NUMBERS, "--seed", "--form", "--script", "-m", "--with", "--workdir", MORE,
                *OF_CELLS, "--data", "--name", "--dry-run", "--format", "--results",
            ),
            declared={
                **INSTEAD,
                "--form": {
                    "choices": ("right", "default"),
                    "help": "recurrent layers: right, in the form that computes the model correctly (default), or "
                    "default, as the backend ships them (always for a script)",
                },
                "--timeout": {
                    "help": "stop a cell (one measurement) after this time, in seconds or such as 10m (default: 1h)"
                },
            },
            axes=dict.fromkeys((axes.BATCH_SIZE, axes.THREADS, axes.DEVICE), ""),
            several=(axes.LAYOUT,),
            takes_program=True,
        )
    }  # fmt: skip


@hooks.fills
def run_kinds() -> Sequence[RunKind]:
    """Runs of `parity`."""
    return (ParityRun(),)


class ParityRun(RunKind):
    """A run that compares what backends compute."""

    name = KIND
    file = "parity.csv"

    def counted(self, read: RunResults) -> str:
        """How many rows have each verdict."""
        from kbench.features.parity import reading, tables

        return tables.counted(Counter(row.verdict for row in reading.rows(read)))

    def report(self, read: RunResults, wanted: Output) -> int:
        """Write parity.csv and parity.md, and print the tables."""
        from kbench.features.parity import command

        command.finish(read, wanted)
        return 0
