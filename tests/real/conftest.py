"""Fixtures for the tests of real backends: the kbench commands, and a folder that all test workers share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from real_runs import Finished, Kbench
from warm import Warm


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder that all workers of this session see, in which outputs are compared."""
    base = tmp_path_factory.getbasetemp()
    return (base if worker_id == "master" else base.parent) / "real"


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    processes = Warm()
    yield processes
    processes.close()


@pytest.fixture
def kbench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], warm: Warm) -> Kbench:
    return Kbench(tmp_path / "results", monkeypatch, capsys, warm)


@pytest.fixture(scope="module")
def kept() -> dict[str, Finished]:
    """Runs that several tests of a file look at: a file that is in TOGETHER, so that one worker has all its tests."""
    return {}
