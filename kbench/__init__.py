"""kbench: the same Keras models, measured on every Keras backend."""

from __future__ import annotations

TYPE_CHECKING = False  # as typing's, without its import: the front door comes by here before it has any package
if TYPE_CHECKING:
    from os import PathLike

    from kbench.loading import RunData

__version__ = "0.1.0"
__all__ = ["load"]


def load(run: str | PathLike[str] = "latest", results_folder: str | PathLike[str] = "results") -> RunData:
    """A run as pandas DataFrames: `.summary`, `.epochs`, `.cells`, and `.provenance`. See kbench.loading.load."""
    from kbench import loading  # here, because most of kbench does without pandas

    return loading.load(run, results_folder)
