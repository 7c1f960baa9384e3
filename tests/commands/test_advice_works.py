"""What a message says to type works, typed as it stands there, in the state in which it was printed."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest
from fake_bench import EXAMPLE, Said, call
from fake_runs import cell, fake_run

from kbench import store
from kbench.environments import interpreters
from kbench.records.values import OK, Outcome

PLAN = "--dry-run"  # in place of measuring
ALLOWED = "--allow fingerprint,machine"  # as it is advised there, of a run of another machine
# (what is typed, what its message says to type, what is added to that, what that prints)
ADVICE = [
    ("jax torch", "kbench --backends jax,torch", PLAN, "Plan: "),
    ("jax, torch --profile smoke", "kbench --backends jax,torch --profile smoke", PLAN, "Plan: "),
    ("--backends jax torch", "--backends jax,torch", PLAN, "Plan: "),
    ("--backends=jax --backends=torch", "--backends jax,torch", PLAN, "Plan: "),
    ("mnist_mlp", "kbench --backends jax,torch --examples mnist_mlp", PLAN, "Plan: "),
    ("mine.py", "kbench --examples mine.py --backends jax,torch", PLAN, "Plan: "),
    ("train.py", "kbench script train.py --backends jax,torch", PLAN, "Plan: "),
    ("backends=jax", "kbench --backends=jax", PLAN, "Plan: "),
    ("mine", "kbench report mine", "--no-plots", "mnist_cnn"),
    ("run", "kbench run --help", "", "usage: "),
    ("--backends jax --examples train.py", "kbench script train.py --backends jax", PLAN, "Plan: "),
    ("parity train.py --backends jax", "kbench parity --script train.py", f"--backends jax {PLAN}", "train"),
    ("compare mine,other", "compare mine other", "", "mine"),
    ("compare mine", "compare mine reference", ALLOWED, "B: reference"),
    ("list runs mine", "report mine", "--no-plots", "mnist_cnn"),
    ("list backends mnist_mlp", "list published mnist_mlp", "", "Sources: "),
    ("list examples --variables", "list backends --variables", "", "keras3/jax"),
    ("list --format csv", "list backends --format csv", "", "keras3/jax"),
    ("list --format csv", "list examples --format csv", "", "mnist_mlp"),
    ("new mnist_mlp", "kbench --backends jax,torch --profile smoke --examples mnist_mlp", PLAN, "Plan: "),
    ("new my_model", "kbench --backends jax,torch --profile smoke --examples my_model.py", PLAN, "Plan: "),
    ("resume sent", "kbench unpack sent", "", "sent"),
    ("script -m train.py --backends jax", "script train.py", f"--backends jax {PLAN}", "Plan: "),
    ("clean", "kbench clean environments", "", "Nothing to free."),
    ("", "kbench --help", "", "usage: "),
    ("run --backends jax --script train.py", "kbench script train.py", f"--backends jax {PLAN}", "Plan: "),
    ("compare small mine", "--profile quick", PLAN, "Plan: "),
    ("compare mine other published", "compare latest published", "", "mnist_cnn"),
]
# (what is typed, what its message says to add to that, what that prints)
ADDED = [
    ("compare mine reference", "--allow fingerprint,machine", "B: reference"),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["kbench"])
    monkeypatch.setenv("KBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(interpreters, "probe_once", lambda path: None)  # `list backends` starts each Python there is
    (tmp_path / "mine.py").write_text(EXAMPLE)
    (tmp_path / "train.py").write_text("import keras\nkeras.Sequential().fit([], [])\n")
    runs = tmp_path / "results"
    fates = [(cell(backend=f"keras3/{name}"), 1.0, Outcome(OK)) for name in ("jax", "torch")]
    for name in ("mine", "other", "sent"):
        fake_run(runs, fates, name)
    fake_run(runs, [(cell(backend="keras3/jax", profile="smoke", samples=128), 1.0, Outcome(OK))], "small")
    store.pack(runs / "sent", runs / "sent.kbench.zip")
    (runs / "sent" / "run.json").unlink()
    return tmp_path


@pytest.mark.parametrize(("typed", "advice", "prints"), ADDED, ids=lambda value: str(value)[:40])
def test_what_is_advised_to_add_works(
    folder: Path, capsys: pytest.CaptureFixture[str], typed: str, advice: str, prints: str
) -> None:
    assert advice in advised(call(capsys, *shlex.split(typed)))
    then = call(capsys, *shlex.split(f"{typed} {advice}"))
    assert then.status == 0 and prints in then.out, then


def advised(said: Said) -> list[str]:
    """All that it says to type: between backticks, or in a line of its own."""
    text = " ".join((said.out + " " + said.err).split())
    return re.findall(r"`([^`]+)`", text) + re.findall(r"kbench (?:[a-z-]+ ?)[^`|:]*", text)


@pytest.mark.parametrize(("typed", "advice", "more", "prints"), ADVICE, ids=lambda value: str(value)[:40])
def test_what_is_advised_works(
    folder: Path, capsys: pytest.CaptureFixture[str], typed: str, advice: str, more: str, prints: str
) -> None:
    first = call(capsys, *shlex.split(typed))
    found = [one for one in advised(first) if advice in one]
    assert found, (first, advised(first))
    words = shlex.split(min(found, key=len))
    then = call(capsys, *words[words[0] == "kbench" :], *more.split())
    assert then.status == 0 and prints in then.out, (words, then)


def test_without_the_reference_run_another_one_is_advised(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kbench.base.paths.project_folder", lambda name: folder / "installed" / name)
    monkeypatch.setattr("kbench.features.compare.command.known_examples", dict)
    first = call(capsys, "compare", "mine")
    assert "`compare mine other`" in first.err
    assert call(capsys, "compare", "mine", "other").status == 0
