"""Runs whose files somebody changed: what reads them uses the rest or refuses in one sentence.

Each try changes one value, line or byte of a run, and types the commands that read runs, in this process.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import shutil
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fake_bench import CHECKOUT, PROGRAM, Bench, call
from fake_runs import cell, fake_run

from kbench import hooks, store
from kbench.cli import main
from kbench.errors import UserError
from kbench.records.values import OK, Outcome
from kbench.session import prepare
from kbench.store import packed, reading

NOTHING = object()  # in place of a value: it is left out
VALUES: list[Any] = [
    *(NOTHING, None, True, -1, 0, 1, 2**31, 10**400, -(10**18), 1e308, float("nan"), float("inf"), "", "x", "latest"),
    *(
        [],
        {},
        [[[]]],
        [None],
        [1] * 50,
        {"a": 1},
        {"": {"": None}},
        "0" * 64,
        "2026-13-45",
        "a" * 5000,
        "../../x",
        "/",
    ),
    *(
        "\x00",
        "\x1b[31m",
        "a\nb",
        "{}",
        "[]",
        "%s{0}$x",
        "=1+1",
        "| a |",
        "<script>alert(1)</script>",
        "nan",
        "e\u0301",
    ),
]
SURROGATE = '"\\ud800"'  # as JSON text: a half of a character
# A committed run -> how many of its cells are kept, of each status.
COMMITTED = {"reference": 3, "reference-full-mnist_cnn": 3, "reference-native": 3, "reference-coverage-keras3": 1}
TRIES = 20  # in the suite


@dataclass
class Tried:
    """What came of the tries: faults, and how often a command ended with each status."""

    faults: list[str] = field(default_factory=list)
    statuses: dict[tuple[str, object], int] = field(default_factory=dict)


def cut(name: str, folder: Path) -> None:
    """Unpack a committed run with a few of its cells."""
    files = packed._files(CHECKOUT / name, (CHECKOUT / "results" / f"{name}.kbench.zip").read_bytes())
    packed._write(files, folder)
    record, kept = json.loads((folder / "run.json").read_text()), []
    count: dict[str, int] = {}
    for described in record["plan"]["cells"]:
        one = reading._cell(folder, described)
        path, status = store.cell_folder(folder, one), store.outcome(folder, one).status
        count[status] = count.get(status, 0) + 1
        if count[status] <= COMMITTED[name]:
            kept.append(described)
            if path.events.is_file():  # coverage tells ten thousand events in a cell
                lines = path.events.read_bytes().splitlines(keepends=True)
                path.events.write_bytes(b"".join(lines[:200] + lines[-1:]))
        else:
            shutil.rmtree(path.path, ignore_errors=True)
    record["plan"]["cells"] = kept
    (folder / "run.json").write_text(json.dumps(record))


@pytest.fixture
def kinds(bench: Bench) -> list[Path]:
    """Whole runs of all kinds, in a folder of their own; those that are tried are copies beside a good run."""
    whole = bench.folder / "whole"
    for name in COMMITTED:
        cut(name, whole / name)
    (bench.folder / "train.py").write_text(PROGRAM)
    options = ("--backends", "fake", "--device", "cpu", "--repeats", "1", "--no-plots", "--results", str(whole))
    if "script" in hooks.commands():
        assert bench("script", "train.py", "--name", "script", *options).status == 0
    assert bench.measure("--name", "own", "--results", str(whole)).status == 0

    def measures(*_: object) -> object:
        raise UserError("It would measure.")

    bench.patch.setattr(prepare, "arrays", measures)
    shutil.copytree(whole / "reference-full-mnist_cnn", bench.results / "good")
    shutil.rmtree(whole / "own" / "plots", ignore_errors=True)
    return sorted(one for one in whole.iterdir() if one.is_dir())


def places(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to all that a JSON value is made of; of long lists, to some."""
    if path:
        yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value[:4]) if isinstance(value, list) else ()
    for key, one in inside:
        yield from places(one, (*path, key))


def changed_json(text: bytes, dice: random.Random) -> tuple[bytes, str]:
    """The same with another value somewhere; and what was done."""
    whole = json.loads(text)
    path = dice.choice(list(places(whole)))
    value, inside = dice.choice(VALUES), whole
    for key in path[:-1]:
        inside = inside[key]
    if value is NOTHING:
        del inside[path[-1]]
    else:
        inside[path[-1]] = value
    written = json.dumps(whole)
    if dice.random() < 0.02:
        written = written.replace('"x"', SURROGATE)
    return written.encode(), f"{path} = {str(value)[:30]!r}"


def changed_lines(text: bytes, dice: random.Random) -> tuple[bytes, str]:
    """Another value in one of the lines; or a line twice, cut, or of something else."""
    lines = text.splitlines()
    number = dice.randrange(len(lines))
    if (how := dice.random()) < 0.8:
        lines[number], what = changed_json(lines[number], dice)
    elif how < 0.9:
        lines[number], what = (
            dice.choice([b"", b"{", b"[]", b"5", b"\xff\xfe", b'{"event": 5}', lines[number][:9]]),
            "line",
        )
    else:
        lines.insert(dice.randrange(len(lines)), lines[number])
        what = "a line twice"
    return b"\n".join(lines) + b"\n", f"line {number}: {what}"


def changed_bytes(content: bytes, dice: random.Random) -> tuple[bytes, str]:
    """Bytes changed, cut, doubled or added."""
    place, many = dice.randrange(len(content) + 1), dice.randrange(1, 40)
    new = dice.choice([b"", dice.randbytes(many), content[place : place + many] * 2, b"\x00" * many])
    end = len(content) if dice.random() < 0.2 else place + dice.choice([0, 1, many])
    return content[:place] + new + content[end:], f"bytes {place} to {end}: {new[:20]!r}"


def mutate(run: Path, dice: random.Random) -> str:
    """Change something in the run's folder; returns what."""
    names = {"run.json", "spec.json", "outcome.json", "events.jsonl", "log.txt"}
    files = sorted(path for path in run.rglob("*") if path.name in names and path.stat().st_size)
    file = run / "run.json" if dice.random() < 0.35 else dice.choice(files)
    content, how = file.read_bytes(), dice.random()
    if how < 0.1 or file.suffix == ".txt":
        content, what = changed_bytes(content, dice)
    elif file.suffix == ".jsonl":
        content, what = changed_lines(content, dice)
    else:
        content, what = changed_json(content, dice)
    file.write_bytes(content)
    return f"{file.relative_to(run)}: {what}"


COMMANDS: dict[str, tuple[str, ...]] = {
    "list": ("list", "runs"),
    "report": ("report", "tried", "--no-plots"),
    "report csv": ("report", "tried", "--no-plots", "--format", "csv"),
    "report json": ("report", "tried", "--no-plots", "--format", "json"),
    "compare to it": ("compare", "good", "tried"),
    "compare it": ("compare", "tried", "good"),
    "resume": ("resume", "tried", "--no-plots"),
    "retry": ("resume", "tried", "--no-plots", "--retry", "failed"),
    "export": ("export", "tried", "--to", "json"),
    "pack": ("pack", "tried"),
}


def typed(argv: tuple[str, ...]) -> tuple[object, str, str]:
    """(exit status, output, errors) of a command; its status is what it raised, if it did."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            status: object = main.main(argv)
        except SystemExit as ended:
            status = ended.code
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            status = f"{type(error).__name__}: {error} ({last.filename}:{last.lineno})"
    return status, out.getvalue(), err.getvalue()


def fault(argv: tuple[str, ...], status: object, out: str, err: str) -> str:
    """What is wrong with how a command ended; empty if nothing is."""
    if status not in (0, 1, 2):
        return f"raised {status}"
    if "Traceback" in out + err:
        return "printed a traceback"
    if "\x1b[3" in out + err:
        return "printed an escape sequence"
    if status == 2 and (err.count("\n") != 1 or not err.startswith("kbench: error: ")):
        return f"said {err!r}"
    if argv[0] == "list" and (status != 0 or "good" not in out or "tried" not in out):
        return f"{status} {out} {err}"
    return ""


def check(commands: list[str], what: str, tried: Tried) -> None:
    for name in commands:
        argv = COMMANDS[name]
        status, out, err = typed(argv)
        tried.statuses[name, status] = tried.statuses.get((name, status), 0) + 1
        if wrong := fault(argv, status, out, err):
            tried.faults.append(f"{what}: {' '.join(argv)}: {wrong}")


def try_all(
    results: Path, kinds: list[Path], dice: random.Random, goes_on: Callable[[int], bool], most: int
) -> Tried:
    """Mutate copies of the runs, unpacked or packed, as long as it goes on; with so many commands each."""
    tried, run, number = Tried(), results / "tried", 0
    file = store.packed_file(run)
    while goes_on(number):
        shutil.rmtree(run, ignore_errors=True)
        file.unlink(missing_ok=True)
        kind = kinds[number % len(kinds)]
        shutil.copytree(kind, run)
        what = f"{number} {kind.name} {mutate(run, dice)}"
        commands = ["list", *dice.sample([one for one in COMMANDS if one != "list"], most)]
        if dice.random() < 0.2:  # as somebody sends it
            with contextlib.suppress(UserError):
                store.pack(run, file)
                shutil.rmtree(run)
                if dice.random() < 0.5:
                    content, more = changed_bytes(file.read_bytes(), dice)
                    file.write_bytes(content)
                    what += f", packed, {more}"
        check(commands, what, tried)
        number += 1
    return tried


@pytest.mark.parametrize(
    "change",
    [{"validation_samples": -1}, {"epochs": -1}, {"repeat": 10**400}, {"values": {"samples": -1}}, {"kind": []}],
    ids=str,
)
def test_what_no_run_can_have_is_damage_of_its_run_json_and_the_others_are_listed(
    tmp_path: Path, change: dict[str, Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("bad", "good"):
        run = fake_run(tmp_path / "results", [(cell(), 1.0, Outcome(OK))], name)
    record = json.loads((run.with_name("bad") / "run.json").read_text())
    for key, value in change.items():
        where = record["plan"] if key == "kind" else record["plan"]["cells"][0]
        where[key] = {**where[key], **value} if isinstance(value, dict) else value
    (run.with_name("bad") / "run.json").write_text(json.dumps(record))
    said = call(capsys, "report", "bad")
    assert said.status == 2 and "run.json is damaged: " in said.err and said.err.count("\n") == 1
    (run.parent / "worse").mkdir()
    (run.parent / "worse" / "run.json").write_text("{")
    listed = " ".join(call(capsys, "list", "runs").out.split())
    assert "good " in listed and "bad " in listed and "worse " in listed and listed.count("damaged") == 2


@pytest.mark.parametrize(("tries", "seed"), [(TRIES, 1), pytest.param(1000, 2, marks=pytest.mark.thorough)])
@pytest.mark.timeout(3600)
@pytest.mark.slow("all commands read each of many mutated runs")
def test_whatever_reads_runs_reads_or_refuses_a_mutated_one_and_lists_the_others(
    bench: Bench, kinds: list[Path], tries: int, seed: int
) -> None:
    most = 1 if tries == TRIES else 4
    tried = try_all(bench.results, kinds, random.Random(seed), lambda number: number < tries, most)
    assert not tried.faults, "\n".join(tried.faults)
    assert tried.statuses["list", 0] == tries
