"""The guest's side of the protocol: a JSON object a line, on disk as soon as it happens."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from guest_modules import alone

from kbench import paths, store

events = alone("events")

DIES = """
import os, sys
sys.path.insert(0, sys.argv[1])
from events import Events
told = Events(sys.argv[2])
told.write("start", schema=1)
told.write("epoch", epoch=1, seconds=0.5, samples=8)
os._exit(9)
"""


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_each_event_is_on_disk_before_the_next(tmp_path: Path) -> None:
    told = events.Events(str(tmp_path / "events"))
    for number in range(3):
        told.write("note", text=str(number))
        assert (tmp_path / "events").read_text().count("\n") == number + 1


def test_a_dying_process_leaves_all_that_it_told(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", DIES, str(paths.GUEST), str(tmp_path / "events")], check=False)
    assert done.returncode == 9
    assert [one["event"] for one in lines(tmp_path / "events")] == ["start", "epoch"]


def test_numbers_of_numpy_become_plain_ones(tmp_path: Path) -> None:
    told = events.Events(str(tmp_path / "events"))
    told.write("epoch", a=np.float32(0.5), b=np.int64(3), c=np.array(0.25), d=np.array([1, 2]))
    assert lines(tmp_path / "events") == [{"event": "epoch", "a": 0.5, "b": 3, "c": 0.25, "d": [1, 2]}]


def test_a_phase_is_told_with_its_seconds_unless_it_fails(tmp_path: Path) -> None:
    told = events.Events(str(tmp_path / "events"))
    with told.phase("build"):
        pass
    with pytest.raises(ValueError), told.phase("data"):
        raise ValueError
    (only,) = lines(tmp_path / "events")
    assert (only["event"], only["name"]) == ("phase", "build") and only["seconds"] >= 0


def test_the_host_understands_what_the_guest_writes(tmp_path: Path) -> None:
    told = events.Events(str(tmp_path / "events"))
    told.write("start", schema=1, pid=1, python="3.6.15")
    with told.phase("import"):
        pass
    told.write("epoch", epoch=1, seconds=0.5, samples=8, loss=float("nan"), accuracy=np.float32(0.5))
    told.write("error", kind="exception", message="\u00fc \u2028 \x1b[31m")
    told.write("end", seconds=1.0)
    understood = store.read_events(tmp_path / "events")
    assert understood.facts["events_damaged"] == 0
    assert understood.facts["error"] == "\u00fc \u2028 \x1b[31m"
    assert (understood.epochs[0].samples, understood.epochs[0].accuracy) == (8, 0.5)
    assert set(understood.phases) == {"import"}
