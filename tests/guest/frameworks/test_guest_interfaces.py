"""What each framework answers, of the four interfaces: a new one answers what the others do, or says so here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from framework_answers import INTERFACES, classes, is_open, unanswered

from kbench.base import paths

FOLDER = paths.GUEST / "kbench_guest" / "frameworks"
GENERAL = {"KerasModels", "Keras2", "Keras3"}  # of no framework
# What kbench can do without: transfers are measured for programs on these.
UNKNOWN = {
    "transfer": {"keras2.TensorFlow1", "keras2.CNTK", "keras2.Theano", "keras2.MXNet", "keras2_plaidml.PlaidML"},
}


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
    assert {name.partition(".")[0] for name in found} >= {"keras2", "keras3", "exported"}
    for name, made in found.items():
        if name.rpartition(".")[2] in GENERAL:
            continue
        left_out = {question for question, names in UNKNOWN.items() if name in names}
        assert unanswered(made, interface) <= left_out, name


def test_what_is_said_to_be_unanswered_is(tmp_path: Path) -> None:
    found = frameworks(tmp_path)
    for question, names in UNKNOWN.items():
        assert names <= set(found)
        for name in names:
            assert is_open(getattr(found[name], question)), name
