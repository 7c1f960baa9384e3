"""`new`: a file that runs at once, and never one that was there."""

from __future__ import annotations

import re

import pytest
from fake_bench import Bench

from kbench.base import paths
from kbench.cli.options import OPTIONS
from kbench.selection import examples


def test_it_writes_an_example_and_says_how_to_run_it(bench: Bench) -> None:
    said = bench("new", "my_model")
    assert said.status == 0 and "--backends jax,torch --profile smoke --examples my_model.py" in said.err
    assert examples.load(bench.folder / "my_model.py").own_data
    again = bench("new", "my_model.py")
    assert (again.status, again.err) == (2, "kbench: error: my_model.py exists already: choose another name.\n")


def test_it_begins_with_any_example_that_kbench_has(bench: Bench) -> None:
    assert bench("new", "mine", "--like", "mnist_cnn").status == 0
    original = paths.project_folder("examples_models") / "mnist_cnn.py"
    assert (bench.folder / "mine.py").read_bytes() == original.read_bytes()
    kinds = {path.stem for path in (paths.project_folder("examples_models") / "kinds").glob("*.py")}
    assert kinds <= set(re.findall(r"\w+", OPTIONS["--like"]["help"]))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("mine", "--like", "siamse"), "there is no example 'siamse': did you mean siamese?"),
        (("no/such/folder/mine",), "There is no folder no/such/folder: make it first."),
        (
            ("mnist_mlp",),
            "mnist_mlp is an example of kbench's own: choose another name, or run it as it is with "
            "`kbench --backends jax,torch --profile smoke --examples mnist_mlp`.",
        ),
        (("a b",), "'a b' cannot be an example's name"),
        ((), "required: NAME"),
    ],
)
def test_a_wrong_request_is_one_sentence(bench: Bench, arguments: tuple[str, ...], words: str) -> None:
    said = bench("new", *arguments)
    assert said.status == 2 and words in said.err and len(said.err.splitlines()) == 1
