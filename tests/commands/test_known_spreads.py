"""What a run shows of how processes differ is kept for later runs, but not what a busy machine shows."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from fake_runs import analysis, cell, measured, replace

from kbench.analysis.times.spreads import Processes
from kbench.session import known_spreads


def kept(cache: Path) -> list[str]:
    file = cache / "process_spreads.csv"
    return [row["source"] for row in csv.DictReader(file.open())] if file.exists() else []


def test_rows_of_a_quiet_machine_are_kept_once_and_those_of_a_busy_one_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def observed(measured: Iterable[Any], short: Iterable[Any], source: str, usual_threads: int) -> list[Processes]:
        return [Processes("a/x", "other", (0.0, 0.1), (0.01, 0.01), source, "train.py")]

    monkeypatch.setenv("KBENCH_CACHE", str(tmp_path))
    monkeypatch.setattr(known_spreads, "observed", observed)
    busy = measured(cell(), 1.0)
    busy = replace(busy, outcome=replace(busy.outcome, others=0.5))
    known_spreads.keep(analysis([busy], name="busy"))
    assert kept(tmp_path) == []
    for name, created in (("quiet", "2026-01-01"), ("other", "2026-01-02"), ("renamed", "2026-01-01")):
        quiet = analysis([], name=name, created=created)
        known_spreads.keep(quiet)
    assert kept(tmp_path) == ["2026-01-02", "2026-01-01"]
