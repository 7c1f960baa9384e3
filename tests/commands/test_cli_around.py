"""What surrounds a command: its folder, the Pythons on PATH, the machine's cores."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from fake_bench import Bench, refused

RUN = ("--backends", "fake", "--examples", "my_example.py", "--profile", "smoke", "--device", "cpu")


def test_a_current_folder_that_was_removed_is_one_sentence(bench: Bench) -> None:
    gone = bench.folder / "gone"
    gone.mkdir()
    bench.patch.chdir(gone)
    gone.rmdir()
    refused(bench(*RUN), "The current folder was removed.")


def test_more_threads_than_cores_are_remarked_on_in_the_plan(bench: Bench) -> None:
    assert "4096 are more than the cores here" in bench(*RUN, "--threads", "1,4096", "--dry-run").out
    assert "cores here" not in bench(*RUN, "--threads", "1", "--dry-run").out


@pytest.mark.processes
def test_a_python_is_looked_for_on_path(bench: Bench) -> None:
    bench.patch.setenv("PATH", str(Path(sys.executable).parent))
    assert bench(*RUN, "--python", f"fake={Path(sys.executable).name}", "--dry-run").status == 0
