"""All backends and examples that this kbench knows."""

from __future__ import annotations

from kbench import paths
from kbench.errors import UserError
from kbench.selection import backends, examples
from kbench.values import Backend, Example


def known_backends() -> dict[str, Backend]:
    """kbench's own backends, then those in the folder KBENCH_BACKENDS. Raises UserError."""
    own = backends.load_all(paths.project_folder("backends"))
    folder = paths.further_backends()
    further = {} if folder is None else backends.load_all(folder)
    for name in further:
        if name in own:
            raise UserError(f"KBENCH_BACKENDS has a {name}, which kbench has, too: rename its file.")
    return {**own, **further}


def known_examples() -> dict[str, Example]:
    """kbench's own examples. Raises UserError."""
    return examples.load_all(paths.project_folder("examples_models"))
