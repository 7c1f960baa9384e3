"""A run as one file, and its data in the formats of other programs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kbench import hooks
from kbench.additions import Command
from kbench.base.paths import with_home
from kbench.cli.option_types import list_of

FORMATS = ("parquet", "json", "tensorboard", "mlflow")
_HERE = Path(__file__).parent
_OUT: Mapping[str, Any] = {"type": with_home, "metavar": "DIR"}


@hooks.fills
def commands() -> Mapping[str, Command]:
    """`pack`, `unpack` and `export`."""
    return {
        "pack": Command(
            "Pack a run into one small file, to keep or send. Whatever reads a run's folder reads it, too.",
            "pack a run into one file, to keep or send; `unpack` is the way back",
            "kbench.features.exports.pack",
            _HERE / "pack.txt",
            options=("run", "--out", "--results"),
            declared={"--out": {**_OUT, "help": "folder to write to (default: beside the run's folder)"}},
        ),
        "unpack": Command(
            "Unpack a packed run into its folder, beside the file: to continue it, or to look into it.",
            "unpack a packed run into its folder",
            "kbench.features.exports.unpack",
            _HERE / "unpack.txt",
            options=("run", "--results"),
            declared={"run": {"nargs": None, "default": None, "help": "a packed run's name or file"}},
        ),
        "export": Command(
            "Write a run's data in a format of other programs.",
            "write a run's data as Parquet, JSON, TensorBoard event files or MLflow runs",
            "kbench.features.exports.export",
            _HERE / "export.txt",
            options=("run", "--to", "--out", "--results"),
            declared={
                "--to": {
                    "type": list_of(FORMATS, {"csv": "a run's folder has summary.csv and epochs.csv already"}),
                    "metavar": "LIST",
                    "required": True,
                    "help": f"formats to write: some of {', '.join(FORMATS)}",
                },
                "--out": {**_OUT, "help": "folder to write to (default: export/ in the run's folder)"},
            },
        ),
    }
