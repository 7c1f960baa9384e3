"""A run for a notebook: `kbench.load("latest")` gives DataFrames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbench import paths, store
from kbench.analysis.rows import summarised
from kbench.exports import frames

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class RunData:
    """A run as DataFrames; docs/data.md describes every column."""

    name: str
    folder: Path
    summary: pd.DataFrame  # one row a row of the tables: an example on a backend, over its repeats
    epochs: pd.DataFrame  # one row an epoch of a cell
    cells: pd.DataFrame  # one row a cell: its status, phases and memory
    provenance: Mapping[str, Any]  # the machine and the versions, as run.json holds them


def load(run: str | PathLike[str] = "latest", results_folder: str | PathLike[str] = "results") -> RunData:
    """The run in the folder `run`, or of that name below `results_folder`, or the `latest` there.

    Raises kbench.errors.UserError, in one sentence, where there is no such run or it cannot be read.
    """
    folder = store.find(str(run), paths.expanded(str(results_folder)), timed=True)
    return data(store.read(folder))


def data(read: store.RunResults) -> RunData:
    """A run that has been read, as DataFrames."""
    return RunData(
        name=read.name,
        folder=read.folder,
        summary=frames.summary_frame(summarised(read)),
        epochs=frames.epochs_frame(read.measured),
        cells=frames.cells_frame(read.measured),
        provenance=read.provenance,
    )
