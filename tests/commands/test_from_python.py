"""kbench.run and kbench.script: the words of the command line, and DataFrames in return."""

from __future__ import annotations

import pytest
from fake_bench import Bench

import kbench
from kbench.errors import UserError


def test_a_run_comes_as_dataframes_and_shows_itself_in_a_notebook(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    found = kbench.run(
        ["fake"], "my_example.py", profile="smoke", device="cpu", image_data_format="both", name="mine"
    )
    assert capsys.readouterr().out == "", "stdout is the caller's"
    assert (found.status, found.name, found.folder.name) == (0, "mine", "mine")
    assert found.summary["backend"].tolist() == ["keras9/fake", "keras9/fake"]
    assert set(found.summary["image_data_format"]) == {"channels_first", "channels_last"}
    assert len(found.epochs) == 4
    shown = found._repr_html_()
    assert "my_example (smoke" in shown and shown.count("<table") == 1
    assert shown.count('src="data:image/png;base64,') == len(list((found.folder / "plots").glob("*.png"))) > 0
    assert kbench.load("mine").status is None


def test_a_cell_that_fails_is_told_by_the_status(bench: Bench) -> None:
    bench.example("my_example.py", (bench.folder / "my_example.py").read_text() + "\nraise ValueError\n")
    found = kbench.run("fake", "my_example.py", profile="smoke", no_plots=True, quiet=True)
    assert found.status == 1 and found.summary["status"].tolist() == ["failed"]


def test_a_script_gets_its_arguments(bench: Bench) -> None:
    (bench.folder / "train.py").write_text("import sys\nimport keras\nassert sys.argv[1:] == ['--epochs', '2']\n")
    found = kbench.script("train.py", "fake", ["--epochs", "2"], repeats=1, no_plots=True)
    assert found.status == 0, found.cells["reason"].tolist()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"profle": "smoke"}, "Unrecognized arguments: --profle"),
        ({"profile": "large"}, "invalid choice: 'large'"),
        ({"dry_run": True}, "dry_run measures nothing"),
        ({"on": "tcp://127.0.0.1:9"}, "gives a run for each kind of machine: use the command line"),
    ],
)
def test_a_wrong_word_is_one_sentence(bench: Bench, options: dict[str, str], words: str) -> None:
    with pytest.raises(UserError, match=words):
        kbench.run("fake", "my_example.py", **options)
