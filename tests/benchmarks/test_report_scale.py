"""The benchmark of large runs: what it generates is a whole run, which a command reads and analyses once."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kbench import store
from kbench.analysis import summaries
from kbench.cli import main
from kbench.records.values import OK, Measured
from kbench.store import files, guest_files

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import report_scale


def test_a_generated_run_has_as_many_cells_and_epochs_as_asked_for(tmp_path: Path) -> None:
    cells = report_scale.cells_of(20, repeats=2, epochs=3)
    read = store.read(report_scale.generate(tmp_path, "a", cells, 4, 0))
    assert [one.cell for one in read.measured] == cells
    assert len({one.cell.id for one in read.measured}) == 20
    for one in read.measured:
        assert one.outcome.status == OK and one.facts.events_damaged == 0
        assert len(one.epochs) == 3 and all(len(epoch.step_seconds) == 4 for epoch in one.epochs)


@pytest.mark.parametrize("argument", ["--cells=0", "--epochs=-1", "--steps=-1", "--repeats=many"])
def test_a_run_of_nothing_is_not_generated(argument: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["report_scale.py", argument])
    with pytest.raises(SystemExit) as ended:
        report_scale.main()
    assert ended.value.code == 2


def test_no_raw_file_is_read_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    each_is_read_once(tmp_path, monkeypatch, ["report", "a"])


def each_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]) -> None:
    """The raw files of the runs that a command names."""
    cells = report_scale.cells_of(4, repeats=2, epochs=3)
    for seed, name in enumerate("ab"):
        report_scale.generate(tmp_path, name, cells, 4, seed)
    opened: Counter[Path] = Counter()

    def counted(path: Path) -> object:
        opened[path] += 1
        return open_regular(path)

    open_regular = guest_files.open_regular
    monkeypatch.setattr(files, "open_regular", counted)
    assert main.main([*command, "--results", str(tmp_path)]) == 0
    raw = {path: count for path, count in opened.items() if path.name in ("events.jsonl", "outcome.json")}
    assert len(raw) == 8 * (len(command) - 1) and set(raw.values()) == {1}


def test_no_example_is_analysed_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = report_scale.cells_of(60, repeats=2, epochs=3)
    report_scale.generate(tmp_path, "a", cells, 4, 0)
    made: Counter[str] = Counter()

    def counted(function: Any) -> Any:
        def call(measured: Sequence[Measured], *more: object) -> object:
            made.update({f"{function.__name__} {one.cell.example}" for one in measured})
            return function(measured, *more)

        return call

    monkeypatch.setattr(summaries, "timed", counted(summaries.timed))
    assert main.main(["report", "a", "--results", str(tmp_path)]) == 0
    names = {one.example for one in cells}
    assert len(names) > 1 and made == {f"timed {name}": 1 for name in names}
