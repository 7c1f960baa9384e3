"""What each framework answers, of the four interfaces: a new one answers what the others do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from framework_answers import INTERFACES, classes, unanswered

from kbench.base import paths

FOLDER = paths.GUEST / "kbench_guest" / "frameworks"
GENERAL = {"KerasModels", "Keras2", "Keras3"}  # of no framework


def frameworks(folder: Path) -> dict[str, Any]:
    """Every class of a framework, by its module and name."""
    files = [
        path
        for path in sorted(FOLDER.glob("*.py"))
        if "interface import" in path.read_text() or path.stem.startswith("keras")
    ]
    return classes(folder, [f"kbench_guest.frameworks.{path.stem}" for path in files])


@pytest.mark.parametrize("interface", INTERFACES)
def test_every_framework_answers_all_that_its_kind_is_asked(interface: str, tmp_path: Path) -> None:
    found = frameworks(tmp_path)
    assert {name.partition(".")[0] for name in found} >= {"keras2_theano", "keras3_jax"}
    for name, made in found.items():
        if name.rpartition(".")[2] in GENERAL:
            continue
        assert not unanswered(made, interface), name
