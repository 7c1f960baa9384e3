"""What each framework answers, of the four interfaces: a new one answers what the others do, or says so here."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import Any

import pytest
from guest_modules import guest

from kbench.base import paths

FOLDER = paths.GUEST / "kbench_guest" / "frameworks"
# What native frameworks leave out: their twins know their layers and weights themselves, and one step is no trial.
OF_TWINS = {
    "Weights": {"weights", "own_weights", "values", "shape_of", "dtype_of", "set_values"},
    "Steps": {"trial"},
    "Layers": {"describe"},
    "Device": {"transfer"},
}
GENERAL = {"KerasModels", "Keras2", "Keras3"}  # of no framework
# What kbench can do without: transfers are measured for programs on these, and unknown steps are timed whole.
UNKNOWN = {
    "transfer": {"keras2.TensorFlow1", "keras2.CNTK", "keras2.Theano", "keras2.MXNet", "keras2_plaidml.PlaidML"},
    "pending": {"native.AnyFramework"},
}


def frameworks(folder: Path) -> dict[str, Any]:
    """Every class of a framework, by its module and name."""
    found = {}
    with guest(folder, "frameworks.interface") as (interface,):
        for path in sorted(FOLDER.glob("*.py")):
            if "interface import" not in path.read_text() and not path.stem.startswith("keras"):
                continue
            module = importlib.import_module(f"kbench_guest.frameworks.{path.stem}")
            classes = [
                one for one in vars(module).values() if inspect.isclass(one) and one.__module__ == module.__name__
            ]
            found.update(
                {
                    f"{path.stem}.{one.__name__}": one
                    for one in classes
                    if inspect.isclass(one) and issubclass(one, interface.Framework)
                }
            )
    return found


def unanswered(made: Any, interface: Any) -> set[str]:
    """The questions of the interface that this class leaves open."""
    return {
        name
        for name, asked in vars(interface).items()
        if "raise NotImplementedError" in (inspect.getsource(asked) if inspect.isfunction(asked) else "")
        and getattr(made, name) is asked
    }


@pytest.mark.parametrize("interface", ["Device", "Weights", "Steps", "Layers"])
def test_every_framework_answers_all_that_its_kind_is_asked(interface: str, tmp_path: Path) -> None:
    found = frameworks(tmp_path)
    assert {name.partition(".")[0] for name in found} >= {"keras2", "keras3", "native", "exported"}
    for name, made in found.items():
        if name.rpartition(".")[2] in GENERAL:
            continue
        (asked,) = (base for base in made.__mro__ if base.__name__ == interface)
        left_out = OF_TWINS[interface] if name.partition(".")[0] == "native" else set()
        left_out = left_out | {question for question, names in UNKNOWN.items() if name in names}
        assert unanswered(made, asked) <= left_out, name


def test_what_is_said_to_be_unanswered_is(tmp_path: Path) -> None:
    found = frameworks(tmp_path)
    for question, names in UNKNOWN.items():
        assert names <= set(found)
        for name in names:
            assert "raise NotImplementedError" in inspect.getsource(getattr(found[name], question)), name
