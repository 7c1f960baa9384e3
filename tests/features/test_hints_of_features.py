"""Likely first mistakes with commands and options of features: each gets one line that says what to type."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from fake_bench import gets_hint
from fake_runs import cell, fake_run

from kbench.records.values import OK, Outcome

MISTAKES = [
    ("parity --backends jax --examples train.py", "kbench parity --script train.py --backends jax"),
    ("parity train.py --backends jax", "kbench parity --script train.py"),
    ("--backends jax --fail-above 2", "--fail-above is an option of `compare`, not of `run`"),
    ("--backends jax --form symbolic", "--form is an option of `parity`, not of `run`"),
    ("compare reference", "`compare latest reference`"),
    ("compare mine,other", "Runs are named with blanks between them: `compare mine other`."),
    ("--backends jax --batch-size 32, --fail-above 2", "--fail-above is an option of `compare`"),
    ("parity --backends jax --epochs 3", "--epochs is an option of `run`, not of `parity`"),
    ("parity --backends jax --script train.py --lr 3", "follow --: `-- --lr 3`"),
    ("export mine --to csv", "a run's folder has summary.csv and epochs.csv already"),
    ("list runs mine", "`list runs` shows all runs; `report mine` shows one."),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["kbench"])
    (tmp_path / "train.py").write_text("import keras\nkeras.Sequential().fit([], [])\n")
    fake_run(tmp_path / "results", [(cell(), 1.0, Outcome(OK))], "mine")
    return tmp_path


@pytest.mark.parametrize(("typed", "hint"), MISTAKES, ids=lambda value: str(value)[:60])
def test_a_likely_mistake_gets_its_hint(
    folder: Path, capsys: pytest.CaptureFixture[str], typed: str, hint: str
) -> None:
    gets_hint(capsys, typed, hint)
