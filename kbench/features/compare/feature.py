"""Compares runs, or backends of one run: ratios with intervals, verdicts, and whether they learn the same."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kbench import hooks
from kbench.additions import Command
from kbench.cli.option_types import list_of, ratio
from kbench.features.compare.values import ALLOWABLE


@hooks.fills
def commands() -> Mapping[str, Command]:
    """`compare`."""
    return {
        "compare": Command(
            "Compare runs side by side. For each example and backend: steady times, their ratio with its 95 % "
            "interval, a verdict, final accuracy, time to accuracy, and whether the losses are the same.",
            "compare runs, or backends of a run: ratios, intervals, verdicts",
            "kbench.features.compare.command",
            Path(__file__).with_name("compare.txt"),
            options=("runs", "--fail-above", "--allow", "--format", "--results"),
            declared={
                "runs": {
                    "nargs": "+",
                    "metavar": "RUN[:BACKEND]",
                    "help": "a run's name, folder or packed file, latest, or reference (the run that comes with a "
                    "checkout); with :BACKEND, only its rows. All are compared with the first",
                },
                "--fail-above": {
                    "type": ratio,
                    "metavar": "RATIO",
                    "help": "for CI: exit status 1 if the whole 95 %% interval of a row's ratio to the first run "
                    "exceeds this or a row that was ok can no longer be compared",
                },
                "--allow": {
                    "type": list_of(ALLOWABLE),
                    "metavar": "LIST",
                    "default": (),
                    "help": "compare rows although these differ: machine (processor, cores, GPU, device), "
                    "fingerprint (model, data, weights, order, optimizer, ...) or both. The differences are listed "
                    "below the table",
                },
            },
        )
    }
