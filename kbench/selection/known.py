"""All backends and examples that this kbench knows."""

from __future__ import annotations

from kbench.base import paths
from kbench.records.values import Backend, Example
from kbench.selection import backends, examples


def known_backends() -> dict[str, Backend]:
    """kbench's own backends, then those in the folder KBENCH_BACKENDS. Raises UserError."""
    return backends.load_all(paths.project_folder("backends"), paths.further_backends())


def known_examples() -> dict[str, Example]:
    """kbench's own examples. Raises UserError."""
    return examples.load_all(paths.project_folder("examples_models"))
