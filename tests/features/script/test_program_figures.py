"""Figures that a program prints or computes itself are columns of its whole."""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path

import pytest
from fake_bench import Bench

from kbench.features.script import figures


@pytest.mark.parametrize(
    ("figure", "title"),
    [("accuracy: (.*)", "accuracy"), (r"^test\s+acc = ([\d.]+)%", "test acc"), ("(.*)", "(.*)"), ("score", "score")],
)
def test_its_column_is_called_by_the_words_before_the_group(figure: str, title: str) -> None:
    assert figures.title(figures.asked(figure)) == title


@pytest.mark.parametrize("text", ["accuracy: .*", "(a)(b)", "(a", "two words"])
def test_what_is_neither_a_name_nor_a_pattern_with_one_group_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        figures.asked(text)


def test_the_last_match_that_is_a_number_counts() -> None:
    text = "accuracy: 0.25\naccuracy: 9.5e-1 of all\naccuracy: none\nloss=-.5\nother: inf\n"
    asked = ("accuracy: (.*)", "loss=(.*)", "other: (.*)", "missing: (.*)", "variable")
    assert figures.printed(asked, text) == {"accuracy": 0.95, "loss": -0.5}


PROGRAM = "import keras\nmine = 0.5\nprint('accuracy: 0.25')\nprint('accuracy: 0.75')\n"


def test_figures_are_columns_of_the_whole_program_and_in_summary_csv(bench: Bench) -> None:
    path: Path = bench.example("train.py", PROGRAM)
    wanted = ("--figure", "accuracy: (.*)", "--figure", "mine", "--figure", "absent")
    said = bench("script", str(path), "--backends", "fake", "--repeats", "1", "--no-plots", *wanted)
    assert said.status == 0, said.err
    assert "accuracy" in said.out and "0.75" in said.out and "it has no variable absent at its end" in said.out
    rows = list(csv.DictReader((bench.runs()[-1] / "summary.csv").open()))
    (whole,) = [row for row in rows if row["example"].endswith("whole program")]
    assert json.loads(whole["final_metrics"]) == {"accuracy": 0.75, "mine": 0.5}
    assert float(whole["final_accuracy"]) == 0.75


def test_over_seeds_a_figure_is_compared_as_a_score(bench: Bench) -> None:
    bench.backend("keras9/other")
    path = bench.example("train.py", "import keras\nimport random\nprint('accuracy:', random.random())\n")
    options = ("--backends", "fake,other", "--seeds", "3", "--no-plots", "--figure", "accuracy: (.*)")
    said = bench("script", str(path), *options)
    assert said.status == 0, said.err
    assert "Over 3 seeds accuracy is " in " ".join(said.out.split())
