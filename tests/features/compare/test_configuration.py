"""What differs in how compared runs were set up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fake_runs import PROVENANCE, analysis, cell, measured

from kbench.features.compare import configuration, pairing
from kbench.features.compare import setup_table as setup
from kbench.features.compare.configuration import Difference
from kbench.features.compare.pairing import ComparedRun
from kbench.features.compare.values import About

ABOUTS = [About(letter, letter, "", "", "") for letter in "AB"]


def environment(numpy: str, threads: str, **more: str) -> dict[str, Any]:
    folder = f"~/.cache/kbench/environments/keras3-jax-cpu-py3.11-{more.get('hash', '0')}/lib"
    variables = {"OMP_NUM_THREADS": threads, "LD_LIBRARY_PATH": folder}
    return {"packages": {"numpy": numpy, "keras": "3.15.1"}, "variables": variables}


def side(request: Mapping[str, Any], environments: Mapping[str, Any], backend: str = "", **facts: Any) -> ComparedRun:
    provenance = {**PROVENANCE, **facts, "environments": environments}
    cells = [measured(cell(backend=name), 2.0, 1.0) for name in environments]
    return pairing.side(ABOUTS[0], analysis(cells, provenance=provenance, request=request), backend)


REQUEST = {"profile": "quick", "threads": 2, "epochs": None, "examples": ["a.py"], "backends": ["x"]}


def test_the_same_setup_has_no_difference() -> None:
    one = side(REQUEST, {"keras3/jax": environment("2.0", "2")})
    assert configuration.differences([one, one]) == []
    assert setup.table(ABOUTS, []) is None


def test_what_followed_from_the_course_of_a_run_or_came_after_it_is_no_setting() -> None:
    more = {"short": {"a__x": [[2, 1]]}, "extra_repeats": {"a__x": [2]}, "asked": {"explain": True}}
    more["data_sources"] = {"imdb": "real"}
    assert configuration.differences([side(REQUEST, {}), side({**REQUEST, **more}, {})]) == []


def test_a_setting_that_an_earlier_release_did_not_have_is_no_difference() -> None:
    newer = {**REQUEST, "threads_each": False, "values": {"workers": [1], "threads": [2]}}
    assert configuration.differences([side(newer, {}), side({**REQUEST, "values": {"threads": [2]}}, {})]) == []
    (found,) = configuration.differences([side(newer, {}), side({**newer, "threads_each": True}, {})])
    assert (found.name, found.values) == ("threads_each", ("no", "yes"))


def test_settings_machine_packages_and_variables_that_differ_are_listed() -> None:
    full = {**REQUEST, "profile": "full", "epochs": 3, "examples": ["b.py"]}
    both = ("keras3/jax", "keras3/torch")
    one = side(REQUEST, {name: environment("2.0", "2", hash="1") for name in both})
    two = side(full, {name: environment("2.1", "2", hash="2") for name in both}, memory_mib=12000)
    assert configuration.differences([one, two]) == [
        Difference("setting", "epochs", "", ("-", "3")),
        Difference("setting", "profile", "", ("quick", "full")),
        Difference("machine", "memory (MiB)", "", ("24000", "12000")),
        Difference("package", "numpy", "keras3/jax, keras3/torch", ("2.0", "2.1")),
    ]


def test_a_variable_or_package_that_one_side_lacks_is_a_dash() -> None:
    one, two = environment("2.0", "2"), environment("2.0", "4")
    del two["packages"]["numpy"]
    found = configuration.differences([side(REQUEST, {"keras3/jax": one}), side(REQUEST, {"keras3/jax": two})])
    assert found == [
        Difference("package", "numpy", "keras3/jax", ("2.0", "-")),
        Difference("variable", "OMP_NUM_THREADS", "keras3/jax", ("2", "4")),
    ]
    table = setup.table(ABOUTS, found)
    assert table is not None
    assert table.columns == ("what", "of", "A", "B")
    assert table.rows[1] == ("variable OMP_NUM_THREADS", "keras3/jax", "2", "4")


def test_environments_that_only_one_side_has_are_not_compared() -> None:
    one = side(REQUEST, {"keras3/jax": environment("2.0", "2")})
    two = side(REQUEST, {"keras3/torch": environment("2.1", "4")})
    assert configuration.differences([one, two]) == []


def test_a_program_and_damaged_records_are_shown_as_they_are() -> None:
    asked = {"script": {"arguments": ["--epochs", "3"], "max_epochs": 2}, "pythons": "no table"}
    other = {"script": {"arguments": []}}
    found = configuration.differences([side(asked, {}), side(other, {}, cpu="no table")])
    assert Difference("setting", "arguments", "", ("--epochs, 3", "-")) in found
    assert Difference("setting", "max-epochs", "", ("2", "-")) in found
