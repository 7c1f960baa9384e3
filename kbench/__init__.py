"""kbench: the same Keras models, measured on every Keras backend."""

from __future__ import annotations

from kbench.version import __version__

TYPE_CHECKING = False  # without importing typing: run.py imports this before there are any packages
if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from kbench.commands.from_python import Word
    from kbench.exports.dataframes import RunData

__all__ = ["__version__", "load", "run", "script"]


def run(
    backends: str | Sequence[str], examples: str | Sequence[str] = "core", **options: Word | Sequence[Word]
) -> RunData:
    """Measure examples on backends like the command `run`; returns the measurements as pandas DataFrames.

    options: those of the command line, with underscores: `profile="smoke", repeats=3, no_plots=True`. The run's
    folder is in `results`, or in `results=`. In a notebook the value shows its tables and plots. Raises
    kbench.errors.UserError, with one sentence, if the request is wrong.
    """
    from kbench.commands import from_python

    return from_python.measured("run", (), (), {"backends": backends, "examples": examples, **options})


def script(
    file: str | PathLike[str],
    backends: str | Sequence[str],
    arguments: Sequence[str] = (),
    **options: Word | Sequence[Word],
) -> RunData:
    """Measure your own Keras program like the command `script`; `arguments` are passed to the program.

    See `run` for the rest.
    """
    from kbench.commands import from_python

    return from_python.measured("script", (str(file),), arguments, {"backends": backends, **options})


def load(run: str | PathLike[str] = "latest", results_folder: str | PathLike[str] = "results") -> RunData:
    """A run as pandas DataFrames: `.summary`, `.epochs`, `.cells`, and `.provenance`."""
    from kbench.exports import dataframes  # here, because most of kbench does not need pandas

    return dataframes.load(run, results_folder)
