"""kbench: the same Keras models, measured on every Keras backend."""

from __future__ import annotations

from kbench.version import __version__

TYPE_CHECKING = False  # as typing's, without its import: the front door comes by here before it has any package
if TYPE_CHECKING:
    from os import PathLike

    from kbench.exports.dataframes import RunData

__all__ = ["__version__", "load"]


def load(run: str | PathLike[str] = "latest", results_folder: str | PathLike[str] = "results") -> RunData:
    """A run as pandas DataFrames: `.summary`, `.epochs`, `.cells`, and `.provenance`."""
    from kbench.exports import dataframes  # here, because most of kbench does without pandas

    return dataframes.load(run, results_folder)
