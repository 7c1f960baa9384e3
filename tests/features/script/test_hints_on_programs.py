"""Likely first mistakes with a program: each gets one line that says what to type."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from fake_bench import EXAMPLE, gets_hint

from kbench.cli import arguments

PROGRAM = "import keras\nkeras.Sequential().fit([], [])\n"

MISTAKES = [
    ("--backends jax --examples train.py", "kbench script train.py --backends jax"),
    ("train.py --backends jax", "kbench script train.py --backends jax"),
    ("train.py", "kbench script train.py --backends jax,torch"),
    ("train.ipynb --backends jax", "kbench script train.ipynb --backends jax"),
    ("--backends jax --script train.py", "kbench script train.py"),
    ("--backends jax train.py", "name it with --examples; to run a program as it is: `kbench script train.py"),
    ("script train.py --backends jax --epochs 3", "follow --: `-- --epochs 3`"),
    ("script train.py --backends jax --lr=0.1", "The program's own arguments follow --: `-- --lr=0.1`"),
    ("script train.py --backends jax more", "The program's own arguments follow --: `-- more`"),
    ("script train.py --backends jax --max-epoc 1 --max-stesp 3", "or did you mean --max-steps"),
    ("script train.py --backends jax --profile smoke", "--profile is an option of `run`; the program's own"),
    ("script trian.py --backends jax", "did you mean train.py?"),
    ("script train --backends jax", "did you mean train.py?"),
    ("script qqq.py --backends jax", "There is no script qqq.py in "),
    ("script patterns.npz --backends jax", "has null bytes, as data and UTF-16 have."),
    ("script terms.py --backends jax", "an expression has thousands of terms"),
    ("script train.py -- --backends jax", "the program's own arguments: put --backends before it."),
    ("script train.py --backends jax --variant --mask", "`--variant=--mask`"),
    ("script train.py --backends --threads 2", "--backends needs a value"),
    ("script -m train.py --backends jax", "leave out -m: `script train.py`."),
    ("script train.py --backends jax --with pandas numpy", "`--with pandas,numpy`"),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["kbench"])
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "mine.py").write_text(EXAMPLE)
    (tmp_path / "patterns.npz").write_bytes(b"PK\3\4\0\0")
    (tmp_path / "terms.py").write_text(f"x = {'1 + ' * 50_000}1\n")
    return tmp_path


@pytest.mark.parametrize(("typed", "hint"), MISTAKES, ids=lambda value: str(value)[:60])
def test_a_likely_mistake_gets_its_hint(
    folder: Path, capsys: pytest.CaptureFixture[str], typed: str, hint: str
) -> None:
    gets_hint(capsys, typed, hint)


def test_help_has_the_usual_options_and_help_all_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        arguments.parse(["script", "--help"])
    usual = capsys.readouterr().out
    with pytest.raises(SystemExit):
        arguments.parse(["script", "--help-all"])
    everything = capsys.readouterr().out
    assert "--max-epochs" in usual and "--interleave" not in usual and "--help-all" in usual
    assert all(f"\n  {option}" in everything for option in ("--backends", "--interleave", "--keep-files"))
    assert len(usual.splitlines()) < 80 < len(everything.splitlines())
