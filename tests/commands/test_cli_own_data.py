"""load_data of an example: it runs once for all backends, and what is wrong with it is one sentence."""

from __future__ import annotations

import pytest
from fake_bench import EXAMPLE, Bench

LOAD = """

def load_data():
    import numpy as np

    with open("{calls}", "a") as file:
        file.write("once ")
    random = np.random.RandomState(0)
    y = random.randint(0, 3, size=60)
    x = random.uniform(size=(60, 4, 4, 1)) + y[:, None, None, None]
    return {returned}
"""
RIGHT = "(x[:48], y[:48]), (x[48:], y[48:])"


def own_data(bench: Bench, returned: str = RIGHT) -> None:
    text = EXAMPLE.replace('DATA = "patterns.npz"\n', "")
    bench.example("my_example.py", text + LOAD.format(calls=bench.folder / "calls", returned=returned))


def test_it_runs_once_for_all_backends_and_layouts(bench: Bench) -> None:
    own_data(bench)
    bench.backend("keras9/other")
    said = bench.measure("--image-data-format", "both", backends="keras9/fake,keras9/other")
    assert said.status == 0, said.out + said.err
    assert "my_example.py: load_data() runs on keras9/fake, for all backends" in said.err
    assert (bench.folder / "calls").read_text() == "once "
    measured = bench.last().measured
    assert len(measured) == 4 and {one.facts.content_sha256 for one in measured} == {measured[0].facts.content_sha256}
    assert {one.facts.data for one in measured} == {"my_example.py"}
    assert "data from load_data()" in said.out and "real data" not in said.out + said.err  # they may be drawn


def test_when_it_gives_other_data_resume_measures_again(bench: Bench) -> None:
    own_data(bench)
    bench.measure()
    said = bench("resume")
    assert "0 of 1 cells" in said.out, "the same data"
    own_data(bench, "(x[:48] + 1, y[:48]), (x[48:], y[48:])")
    said = bench("resume")
    assert "my_example: its file has changed since: measured again" in said.out


WRONG = [
    ("x, y", "must return ((x_train, y_train), (x_val, y_val))"),
    ("None", "must return ((x_train, y_train), (x_val, y_val))"),
    ("(x, y, y, y), (x, y)", "or (x, y, sample_weight) in place of (x, y)"),
    ("1 / 0", "ZeroDivisionError: division by zero"),
    ("(x.astype(str), y), (x.astype(str), y)", "returns text as x_train: make it numbers there"),
    ("(x, y[:40]), (x, y)", "x_train in load_data of my_example.py has 60 samples and 40 targets: make them equal"),
    ("(x[:0], y[:0]), (x, y)", "y_train in load_data of my_example.py is empty"),
    ("(x, -y), (x, y)", "number the classes from 0, and store other targets as float32"),
    ("(x[:9], y[:9]), (x, y)", "asks for 32 samples, and its data 'my_example.py' has 9"),
]


@pytest.mark.parametrize(("returned", "words"), WRONG)
def test_wrong_data_is_one_sentence_and_no_run_is_made(bench: Bench, returned: str, words: str) -> None:
    own_data(bench, returned)
    said = bench.measure()
    last = said.err.splitlines()[-1]
    assert said.status == 2 and last.startswith("kbench: error: ") and words in last
    assert not bench.results.exists()


def test_a_file_with_both_or_neither_is_refused_before_anything_is_made(bench: Bench) -> None:
    bench.example("my_example.py", EXAMPLE + LOAD.format(calls="", returned="None"))
    assert "The example my_example.py has both DATA and load_data()." in bench.measure().err
    bench.example("my_example.py", EXAMPLE.replace('DATA = "patterns.npz"\n', ""))
    assert "The example my_example.py has neither DATA nor load_data()." in bench.measure().err
