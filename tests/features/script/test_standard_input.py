"""What a program may read from the standard input, whoever writes into it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_bench import Bench

from kbench.features.script import standard_input
from kbench.screen import listener


@pytest.fixture
def reading(bench: Bench) -> Path:
    text = "import keras, sys\nprint(len(sys.stdin.read()))\n"
    return bench.example("reads.py", text)


def script(bench: Bench, path: Path) -> Any:
    return bench("script", str(path), "--backends", "fake", "--repeats", "1", "--device", "cpu", "--show-output")


def test_an_input_without_end_is_refused_before_anything_is_measured(
    bench: Bench, reading: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standard_input, "MOST_INPUT", 1 << 20)
    with (
        Path("/dev/zero").open("rb") as zeros,
        subprocess.Popen(["cat"], stdin=zeros, stdout=subprocess.PIPE) as endless,
    ):
        monkeypatch.setattr(sys, "stdin", endless.stdout)
        said = script(bench, reading)
        endless.kill()
    assert said.status == 2 and "has more than 1 MiB, and each cell would read it" in said.err
    assert bench.runs() == []


def test_an_input_whose_end_does_not_come_is_waited_for_and_said(
    bench: Bench, reading: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads, writes = os.pipe()
    os.write(writes, b"hello")
    said = []

    def say(line: str) -> None:
        said.append(line)
        if line.startswith("Waiting"):
            os.close(writes)

    monkeypatch.setattr(standard_input, "SILENT_SECONDS", 0.01)
    monkeypatch.setattr(listener, "print_note", say)
    with os.fdopen(reads) as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert "\n5\n" in script(bench, reading).out
    assert "Waiting for the end of the standard input, which every cell will read." in said
