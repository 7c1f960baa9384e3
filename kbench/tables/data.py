"""What tables say about an example's data: real, synthetic in place of real ones, or random by intent."""

from __future__ import annotations

from kbench import datasets
from kbench.datasets import SYNTHETIC
from kbench.summary import Summary


def in_short(row: Summary) -> str:
    """`real data`, `synthetic data`, or what an example without a published dataset has; empty if unknown."""
    if not row.data_source:
        return ""
    if row.data.endswith(".py"):  # what its load_data returns: read, or drawn
        return "data from load_data()"
    if row.data_source == SYNTHETIC and row.data in datasets.names() and not datasets.is_published(row.data):
        return row.data.replace("_", " ")
    return f"{row.data_source} data"


def is_synthetic(row: Summary) -> bool:
    """Whether the row has synthetic data in place of real ones."""
    return in_short(row) == "synthetic data"


def remark(row: Summary) -> str:
    """What to do for real data."""
    how = " `--data real` takes the real ones, or says which files to get." if datasets.is_published(row.data) else ""
    return f"Synthetic data: same shapes, easier to learn; accuracies mean little.{how}"
