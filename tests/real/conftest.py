"""What the tests of the real backends share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def probes(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder for the outputs of all backends, one for all workers of this session."""
    base = tmp_path_factory.getbasetemp()
    return (base if worker_id == "master" else base.parent) / "probes"
