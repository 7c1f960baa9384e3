"""kbench from Python: the words of the command line, typed requests and events, and results in return."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fake_bench import Bench

import kbench
from kbench import store
from kbench.cells import launcher
from kbench.cli import arguments, words
from kbench.errors import Interrupted, Stopped, UserError
from kbench.session import events, record

QUITE_OFTEN = (events.SessionNote, events.CellProgress, events.EnvironmentProgress)
SMOKE: dict[str, Any] = {"profile": "smoke", "device": "cpu"}


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
    found = kbench.run("fake", "my_example.py", profile="smoke", no_plots=True)
    assert found.status == 1 and found.summary["status"].tolist() == ["failed"]


def test_a_script_gets_its_arguments(bench: Bench) -> None:
    (bench.folder / "train.py").write_text("import sys\nimport keras\nassert sys.argv[1:] == ['--epochs', '2']\n")
    found = kbench.script("train.py", "fake", ["--epochs", "2"], repeats=1, no_plots=True)
    assert found.status == 0, found.cells["reason"].tolist()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"profle": "smoke"}, "`run` has no option 'profle': did you mean profile"),
        ({"profile": "large"}, "--profile: 'large' is none of smoke, quick, full"),
        ({"epochs": "ten"}, "--epochs: 'ten' is not a whole number"),
        ({"no_plots": "yes"}, "--no-plots: 'yes' is neither True nor False"),
        ({"dry_run": True}, "dry_run measures nothing"),
        ({"on": "tcp://127.0.0.1:9"}, "is an option of the command line alone"),
    ],
)
def test_a_wrong_word_is_one_sentence(bench: Bench, options: dict[str, str], words: str) -> None:
    with pytest.raises(UserError, match=words):
        kbench.run("fake", "my_example.py", **options)


def test_it_returns_its_own_run_whatever_else_is_measured_in_the_folder_meanwhile(bench: Bench) -> None:
    bench.example("other.py")
    at_end, others = record.at_end, list[Any]()

    def meanwhile(*asked: Any) -> Any:
        bench.patch.setattr(record, "at_end", at_end)
        others.append(kbench.run("fake", "other.py", name="zzz", no_plots=True, **SMOKE))
        return at_end(*asked)

    bench.patch.setattr(record, "at_end", meanwhile)
    found = kbench.run("fake", "my_example.py", no_plots=True, **SMOKE)
    assert [one.name for one in others] == ["zzz"]
    assert found.name != "zzz" and found.summary["example"].tolist() == ["my_example"]


def test_words_are_read_as_the_command_line_is(bench: Bench) -> None:
    typed = ["--backends", "fake,jax", "--threads", "1,2", "--pass-env", "A", "--pass-env", "B", "--no-plots"]
    typed += [
        "--budget",
        "90s",
        "--memory-limit",
        "2GiB",
        "--verbose",
        "--columns",
        "backend,verdict",
        "--data",
        "real",
    ]
    from_shell = vars(arguments.parse(typed))
    from_python = words.options(
        "run",
        {
            "backends": ["fake", "jax"], "threads": (1, 2), "pass_env": ["A", "B"], "no_plots": True,
            "budget": "90s", "memory_limit": "2GiB", "verbose": True, "dry_run": False, "columns": "backend,verdict",
            "data": "real", "epochs": None,
        },
    )  # fmt: skip
    del from_shell["argv"]
    assert from_python == from_shell


def test_a_request_is_the_one_that_the_same_command_keeps(bench: Bench) -> None:
    assert bench.measure("--repeats", "2", "--seeds", "different", "--name", "mine").status == 0
    asked = kbench.request("fake", "my_example.py", repeats=2, seeds="different", **SMOKE)
    kept = json.loads((bench.results / "mine" / "run.json").read_text())["request"]
    assert json.loads(msgspec.json.encode(asked)) == kept
    with pytest.raises(UserError, match="no_plots does not say what is measured"):
        kbench.request("fake", "my_example.py", no_plots=True)


def test_a_request_is_measured_without_a_word_and_each_event_is_told(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = kbench.request("fake", "my_example.py", epochs=2, repeats=1, **SMOKE)
    told: list[events.Event] = []
    capsys.readouterr()
    found = kbench.measure(replace(asked, seed=7), on_event=told.append, name="mine")
    assert capsys.readouterr() == ("", "")
    assert (found.folder, found.request["seed"]) == (bench.results / "mine", 7)
    assert [(one.cell.seed, one.outcome.status, len(one.epochs)) for one in found.measured] == [(7, "ok", 2)]
    assert not list(found.folder.glob("summary.*")) and not (found.folder / "report.html").exists()
    assert [type(one) for one in told if not isinstance(one, QUITE_OFTEN)] == [
        events.Planned, events.EnvironmentEnded, events.RunCreated, events.CellsStarted, events.CellStarted,
        events.CellEnded, events.CellsEnded,
    ]  # fmt: skip
    again = kbench.measure(asked)  # nobody listens
    assert again.folder != found.folder and capsys.readouterr() == ("", "")
    assert kbench.load("mine").status is None and found.provenance["command_line"] == "kbench.measure(...)"


def test_a_request_that_is_interrupted_or_stopped_says_where_its_measurements_are(bench: Bench) -> None:
    bench.example("other.py")
    asked = kbench.request("fake", "my_example.py,other.py", repeats=1, **SMOKE)
    real, begun = launcher.launch, Counter[str]()

    def second(command: Any, **how: Any) -> Any:
        begun["launched"] += 1
        if begun["launched"] == 2:
            raise KeyboardInterrupt
        return real(command, **how)

    bench.patch.setattr(launcher, "launch", second)
    with pytest.raises(Interrupted) as interrupted:
        kbench.measure(asked)
    fates = {one.cell.example: one.outcome.status for one in store.read(interrupted.value.run).measured}
    assert fates == {"my_example": "ok", "other": "interrupted"}
    bench.patch.setattr(launcher, "launch", real)

    def away(event: events.Event) -> None:
        if isinstance(event, events.CellEnded):
            event.run.rename(event.run.with_name("elsewhere"))

    with pytest.raises(Stopped, match="was renamed or removed while it was measured") as stopped:
        kbench.measure(asked, on_event=away, name="mine")
    assert stopped.value.run == bench.results / "mine"


def test_an_interrupted_run_comes_with_what_was_measured(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(command: Any, **how: Any) -> Any:
        raise KeyboardInterrupt

    bench.patch.setattr(launcher, "launch", refuse)
    found = kbench.run("fake", "my_example.py", no_plots=True, **SMOKE)
    assert found.status == 130 and found.summary["status"].tolist() == ["interrupted"]
    assert "kbench: interrupted; what was measured is kept." in capsys.readouterr().err


def test_the_call_is_kept_without_its_secrets(bench: Bench) -> None:
    (bench.folder / "train.py").write_text("import keras\n")
    found = kbench.script("train.py", "fake", ["--api-key", "hunter2"], repeats=1, no_plots=True, device="cpu")
    kept = "kbench.script(file='train.py', backends='fake', repeats=1, no_plots=True, device='cpu', arguments="
    assert found.provenance["command_line"] == f"{kept}['--api-key', '***'])"


PAGE = Path(__file__).parents[2] / "docs" / "results.md"


def test_the_program_of_the_page_measures(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    _, program = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    for written, here in (("jax", "fake"), ("mnist_mlp", "my_example.py"), ("(32, 128)", "(8, 16)")):
        assert written in program
        program = program.replace(written, here)
    exec(compile(program, str(PAGE), "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert [line.rpartition(" ")[0] for line in lines[::2]] == ["keras9/fake my_example ok"] * 2
    assert [line.partition(" [")[0] for line in lines[1::2]] == ["8 ok", "16 ok"]
