"""What happens to a run from outside, to its folder and streams: nothing measured is lost or hidden."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_bench import CHECKOUT, EXAMPLE, START, Bench, dying, without_plots
from named_pipe import Pipe

from kbench import store

OPTIONS = ("--backends", "fake", "--profile", "smoke", "--device", "cpu", "--name", "mine")
ENDS = dying("raise RuntimeError('enough')")


def process(*argv: str, **streams: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", START, *without_plots(argv)],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        **streams,
    )


@pytest.mark.parametrize("backends", ["fake", "fake,other"])
def test_a_run_whose_folder_gets_another_name_ends_in_a_sentence_and_goes_on_under_the_old_one(
    bench: Bench, backends: str
) -> None:
    run, moved = bench.results / "mine", bench.results / "moved"
    bench.backend("keras9/other")
    once = f"import os; os.path.exists({str(moved)!r}) or os.rename({str(run)!r}, {str(moved)!r})"
    bench.example("b.py", dying(once))
    bench.example("a.py")
    bench.example("c.py")
    said = bench.measure("--name", "mine", backends=backends, examples="a.py,b.py,c.py")
    assert said.status == 2 and said.err.count("kbench: error") == 1
    assert "mine was renamed or removed while it was measured, so nothing more is measured" in said.err
    assert "continue with `kbench resume results/mine`" in said.err
    assert not run.exists() and not list(moved.glob("cells/c__*"))
    bench.example("b.py")
    moved.rename(run)
    assert bench("resume", "mine").status == 0
    assert [one.outcome.status for one in bench.last().measured] == ["ok"] * 3 * (1 + backends.count(","))


def test_a_run_whose_folder_is_deleted_is_not_made_anew(bench: Bench) -> None:
    bench.example("a.py", dying(f"import shutil; shutil.rmtree({str(bench.results / 'mine')!r})"))
    bench.example("b.py")
    said = bench.measure("--name", "mine", examples="a.py,b.py")
    assert said.status == 2 and "was renamed or removed" in said.err
    assert bench.runs() == []


def test_what_a_program_writes_over_run_json_is_undone(bench: Bench) -> None:
    bench.example("a.py", dying(f"open({str(bench.results / 'mine' / 'run.json')!r}, 'w').write('{{}}')"))
    bench.example("b.py")
    assert bench.measure("--name", "mine", examples="a.py,b.py").status == 0
    assert "ended" in bench.last().provenance


def test_a_folder_of_results_whose_name_is_no_text_is_as_good_as_any(bench: Bench) -> None:
    place = bench.folder / os.fsdecode(b"bad\xff")
    done = process(*OPTIONS, "--examples", "my_example.py", "--results", str(place), capture_output=True)
    assert done.returncode == 0 and b"Traceback" not in done.stderr, done.stderr
    assert b"bad?/mine" in done.stdout and (place / "mine" / "summary.md").is_file()


def test_an_error_that_is_no_text_is_shown_in_every_table(bench: Bench) -> None:
    bench.example("my_example.py", dying("raise RuntimeError('no file \\udcff')"))
    bench.draw()
    said = bench.measure("--format", "markdown")
    assert said.status == 1 and "Traceback" not in said.err
    assert "no file \\udcff" in (bench.runs()[0] / "summary.csv").read_text()
    assert bench("report").status == 0


def test_a_reader_that_has_seen_enough_changes_nothing(bench: Bench) -> None:
    bench.example("ends.py", ENDS)
    started = bench.start(*OPTIONS, "--examples", "ends.py")
    assert started.stdout and started.stderr
    started.stdout.close()
    assert "Traceback" not in started.stderr.read() and started.wait() == 1
    assert (bench.results / "mine" / "summary.md").is_file()


def test_messages_that_cannot_be_written_end_no_run(bench: Bench) -> None:
    with Path("/dev/full").open("wb") as full:
        done = process(*OPTIONS, "--examples", "my_example.py", stdout=subprocess.PIPE, stderr=full)
    assert done.returncode == 0 and b"my_example" in done.stdout
    assert store.read(bench.results / "mine").measured[0].outcome.status == "ok"


@pytest.mark.parametrize("closed", [1, 2])
def test_a_closed_stream_is_as_good_as_none(bench: Bench, closed: int) -> None:
    assert process("list", "examples", preexec_fn=lambda: os.close(closed)).returncode == 0


def test_output_that_cannot_be_written_is_said_and_is_no_success(bench: Bench) -> None:
    with Path("/dev/full").open("wb") as full:
        done = process("list", "backends", stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr == b"kbench: error: Cannot write the output: No space left on device.\n"


def test_a_run_that_may_only_be_read_is_shown_and_what_was_not_written_is_said(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bench.measure("--name", "mine").status == 0
    shown = bench("report", "mine").out

    def refused(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "replace", refused)
    said = bench("report", "mine")
    assert said.status == 2 and "summary.csv: Read-only file system" in said.err
    assert said.out and said.out in shown


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP], ids=lambda how: how.name)
def test_a_signal_while_an_example_loads_its_data_leaves_nothing_in_the_temporary_folder(
    bench: Bench, tmp_path: Path, how: signal.Signals
) -> None:
    pipe = Pipe(bench.folder)
    loads = f"import os, signal\n    os.write(os.open({str(pipe.path)!r}, os.O_WRONLY), b'x')\n    signal.pause()\n"
    own = EXAMPLE.replace('DATA = "patterns.npz"\n', "")
    bench.example("my_example.py", f"{own}\n\ndef load_data():\n    {loads}")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    bench.patch.setenv("TMPDIR", str(temporary))
    started = bench.start(*OPTIONS, "--examples", "my_example.py")
    assert pipe.starts()
    started.send_signal(how)
    _, err = started.communicate()
    assert pipe.ended()
    pipe.close()
    assert started.returncode == 130 and err.endswith("kbench: interrupted.\n")
    assert list(temporary.iterdir()) == [] and bench.runs() == []
