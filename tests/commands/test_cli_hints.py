"""Likely first mistakes on the command line: each gets one line that says what to type, and exit status 2."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from fake_bench import EXAMPLE, call, gets_hint
from fake_runs import cell, fake_run

from kbench.cli import arguments
from kbench.cli.options import how
from kbench.records.values import OK, Outcome

MISTAKES = [
    ("mine.py --backends jax", "kbench --examples mine.py --backends jax"),
    ("jax,torch", "kbench --backends jax,torch"),
    ("jax torch --profile smoke", "kbench --backends jax,torch --profile smoke"),
    ("jax --profile smoke", "kbench --backends jax --profile smoke"),
    ("run jax,torch", "`--backends jax,torch`"),
    ("keras3", "kbench --backends keras3"),
    ("all", "kbench --backends all"),
    ("mnist_mlp", "kbench --backends jax,torch --examples mnist_mlp"),
    ("mnist_mlp --backends jax", "kbench --examples mnist_mlp --backends jax"),
    ("run --backends jax mnist_mlp", "`--examples mnist_mlp`"),
    ("--exmaples mnist_mlp", "did you mean --examples?"),
    ("--backends jax --exmaples mnist_mlp", "did you mean --examples?"),
    ("--backend_s jax", "did you mean --backends?"),
    ("--backends jax --batch_size 8", "did you mean --batch-size?"),
    ("-backends jax", "It is --backends, with two dashes"),
    ("--backends jax profile smoke", "An option begins with two dashes: --profile"),
    ("--backends jax, torch", "`--backends jax,torch`"),
    ("--backends jax , torch", "`--backends jax,torch`"),
    ("--backends jax torch", "`--backends jax,torch`"),
    ("--backends jax --examples mnist_mlp mnist_cnn", "`--examples mnist_mlp,mnist_cnn`"),
    ("setup --backends jax, torch", "`--backends jax,torch`"),
    ("--backends jax report", "The command comes first: `kbench report ...`"),
    ("report --epochs 3", "--epochs is an option of `run`"),
    ("rn --backends jax", "did you mean run?"),
    ("Run --backends jax", "did you mean run?"),
    ("mine", "kbench report mine"),
    ("report folder", "folder has no run.json"),
    ("report yesterday", "the runs in results, newest first: mine"),
    ("report yesterday --results none", "There is no run 'yesterday': there are no runs in none."),
    ("--backends jax --examples mnist_cmm", "did you mean mnist_cnn?"),
    ("--backends jax;torch", "a list has commas, jax,torch."),
    ("--backends jax/torch", "a list has commas, jax,torch."),
    ("--backends jax|theano", "a list has commas, jax,theano."),
    ("--backends jax+torch", "a list has commas, jax,torch"),
    ("--backends [jax]", "did you mean jax?"),
    ("--backends tf", "did you mean tensorflow?"),
    ("--backends tensorflow==2.15", "a version follows an @, tensorflow@2.15."),
    ("--backends jax --device cuda", "use auto, cpu, gpu or gpu:N, such as gpu:0."),
    ("--backends=jax --backends=torch", "--backends is there twice: a list has commas, `--backends jax,torch`."),
    ("--backends jax --epochs x", "see `kbench run --help`."),
    ("report --plot-size x", "see `kbench report --help`."),
    ("--backends jax --examples mine", "did you mean mine.py?"),
    ("--backends jax --examples mien.py", "did you mean mine.py?"),
    ("--backends jax --examples mnist", "did you mean mnist_cnn, mnist_hrnn or mnist_mlp?"),
    ("--backends jax --examples folder", "it is a folder; name a file in it."),
    ("--backends jax --examples m*.py", "name the files themselves, such as mine.py."),
    ("--backends jax --examples https://example.org/a.py", "download the file"),
    ("--backends jax --examples qqq.py", "There is no example file qqq.py in "),
    ("--backends jax --examples queue.py", "it is a pipe or a device, and no file."),
    ("--backends jax --examples notes.txt", "the name of that file does not end with .py."),
    ("--backends jax --jit on,off", "A setting is part of a backend's name: `--backends NAME,NAME+jit=on`."),
    ("report mine --export x.md", "summary.csv and summary.md are in the run's folder"),
    ("doctor --data-dir x", "The folder is in the environment variable KBENCH_DATA."),
    ("report mine,reference", "`mine reference`"),
    ("report mine --columns time", "did you mean s/epoch?"),
    ("backends=jax", "An option begins with two dashes: `kbench --backends=jax`"),
    ("report mine --columns times_slower", "did you mean times slower?"),
    ("list foo", "`list` does not know 'foo': choose from"),
    ("clean everything", "`clean` does not know 'everything': choose from"),
    ("new mnist_mlp", "mnist_mlp is an example of kbench's own: choose another name"),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["kbench"])
    (tmp_path / "mine.py").write_text(EXAMPLE)
    (tmp_path / "folder").mkdir()
    (tmp_path / "notes.txt").write_text("notes")
    os.mkfifo(tmp_path / "queue.py")
    fake_run(tmp_path / "results", [(cell(), 1.0, Outcome(OK))], "mine")
    return tmp_path


@pytest.mark.parametrize(("typed", "hint"), MISTAKES, ids=lambda value: str(value)[:60])
def test_a_likely_mistake_gets_its_hint(
    folder: Path, capsys: pytest.CaptureFixture[str], typed: str, hint: str
) -> None:
    gets_hint(capsys, typed, hint)


def test_the_help_is_not_a_mistake(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = call(capsys, "help")
    assert said.status == 0 and "commands:" in said.out


def test_help_has_the_usual_options_and_help_all_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        arguments.parse(["run", "--help"])
    usual = capsys.readouterr().out
    with pytest.raises(SystemExit):
        arguments.parse(["run", "--help-all"])
    everything = capsys.readouterr().out
    assert "--backends" in usual and "--interleave" not in usual and "--help-all" in usual
    assert all(f"\n  {option}" in everything for option in ("--backends", "--interleave", "--timeout"))
    assert len(usual.splitlines()) < 80 < len(everything.splitlines())
    assert [len(re.findall(r"(?m)^  (?:-h, )?--", one)) for one in (usual, everything)] == [16, 41]


@pytest.mark.parametrize("command", [*arguments.commands()])
def test_the_help_of_an_option_names_no_option_and_no_backends_that_the_command_does_not_have(command: str) -> None:
    names = arguments.names_of(command)
    helps = {name: str(how(name, command).get("help", "")) for name in names}
    others = {name: {*re.findall(r"(?<![\w`-])--[a-z-]+", text)} - {*names} for name, text in helps.items()}
    of_programs = {"--variant": {"--units", "--mask"}}
    assert {name: found for name, found in others.items() if found} == (of_programs if command == "script" else {})
    without_keras = "native" in helps.get("--backends", "")
    assert without_keras <= (command in ("run", "setup", "parity"))


@pytest.mark.parametrize("columns", [40, 80, 120])
@pytest.mark.parametrize("command", ["", *arguments.commands()])
def test_help_fits_the_terminal_and_breaks_no_word_nor_a_command_to_type(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: int, command: str
) -> None:
    def shown(width: int) -> str:
        monkeypatch.setenv("COLUMNS", str(width))
        with pytest.raises(SystemExit):
            arguments.parse([*filter(None, [command]), "--help"])
        return capsys.readouterr().out

    lines = shown(columns).splitlines()
    commands = [line for line in lines if re.match(rf"  ([A-Z_]+=\S+ )*{arguments.program()}", line)]
    assert all(
        len(line) <= columns or len(line.strip().split(" [")) == 1 for line in lines if line not in commands
    ), lines
    assert " ".join(shown(columns).split()) == " ".join(shown(1000).split())
    assert all(line in shown(1000).splitlines() for line in commands)
