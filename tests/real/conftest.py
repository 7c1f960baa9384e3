"""What the tests of the real backends share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder that all workers of this session see: each backend is measured once, and outputs are compared."""
    base = tmp_path_factory.getbasetemp()
    return (base if worker_id == "master" else base.parent) / "real"
