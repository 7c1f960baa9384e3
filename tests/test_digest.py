"""What is kept of a large run for `compare`: the rows that its raw files give, for as long as those are the same."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest
from fake_runs import cell, fake_run, learning, write_events

from kbench import results, side_rows
from kbench.results import digest, reading
from kbench.results.reading import RunRecord, RunResults
from kbench.values import FAILED, OK, Outcome


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run that counts as large, with its digest: two backends, repeats, a loss that diverged and a failed cell."""
    monkeypatch.setattr(reading, "LARGE", 1)
    fates = [(cell(backend=f"keras3/{name}", repeat=number), 1.0, Outcome(OK)) for name in "ab" for number in (1, 2)]
    made = fake_run(tmp_path, [*fates, (cell(backend="keras3/c"), 1.0, Outcome(FAILED, "it fell"))], "run")
    diverged = cell(backend="keras3/b", repeat=2)
    write_events(made, diverged, [{**event, "loss": math.nan} for event in learning(diverged, 2.0)])
    results.rebuild(made)
    return made


def from_raw_files(run: Path) -> str:
    read = results.read(run)
    return repr(tuple(side_rows.rows(read.measured, read.timed)))  # as text, where NaN equals itself


def kept(run: Path, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """The rows where they come from the digest alone; None where the raw files are read."""

    def never(record: RunRecord) -> RunResults:
        raise InterruptedError(f"{record.folder} is read")

    with monkeypatch.context() as patch:
        patch.setattr(digest, "measured_of", never)
        try:
            return repr(digest.begun(results.read_record(run))())
        except InterruptedError:
            return None


def test_rows_come_from_the_digest_and_are_those_of_the_raw_files(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = kept(run, monkeypatch)
    assert found == from_raw_files(run)
    assert "nan" in found and "it fell" in found


def test_it_is_derived_like_all_else(run: Path) -> None:
    before = (run / digest.NAME).read_bytes()
    (run / digest.NAME).unlink()
    results.rebuild(run)
    assert (run / digest.NAME).read_bytes() == before


def test_a_small_run_has_none_and_loses_one_that_it_had(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LARGE", 1_000_000)
    results.rebuild(run)
    assert not (run / digest.NAME).exists()
    assert repr(tuple(digest.begun(results.read_record(run))())) == from_raw_files(run)


@pytest.mark.parametrize("name", ["events.jsonl", "outcome.json", "spec.json"])
def test_where_a_raw_file_has_changed_since_the_raw_files_count(
    run: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = results.cell_folder(run, cell(backend="keras3/a")).path / name
    about = path.stat()
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns + 1))
    assert kept(run, monkeypatch) is None
    results.rebuild(run)
    path.write_bytes(path.read_bytes() + b"\n")
    assert kept(run, monkeypatch) is None
    results.rebuild(run)
    path.unlink()
    assert kept(run, monkeypatch) is None


def test_another_kbench_reads_the_raw_files(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digest, "_program", lambda: b"another")
    assert kept(run, monkeypatch) is None


@pytest.mark.parametrize("content", [b"", b"\x00", b"\x82\xa5stamp\xa1x", b"\xff" * 99, b"\x91" * 100_000])
def test_a_damaged_one_counts_as_none(run: Path, content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    (run / digest.NAME).write_bytes(content)
    assert kept(run, monkeypatch) is None
    whole = content + (run / digest.NAME).read_bytes()
    (run / digest.NAME).write_bytes(whole[: len(whole) // 2])
    assert kept(run, monkeypatch) is None
    (run / digest.NAME).unlink()
    (run / digest.NAME).mkdir()
    assert kept(run, monkeypatch) is None


def test_what_cannot_be_kept_is_read_each_time(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = cell(backend="keras3/a")
    write_events(
        run,
        one,
        [{**event, **({"loss": 10**40} if event["event"] == "model" else {})} for event in learning(one, 1.0)],
    )
    results.rebuild(run)
    assert not (run / digest.NAME).exists()
