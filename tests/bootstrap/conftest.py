"""What the tests of the front door start from: a fake checkout, an empty cache, a ready environment."""

from __future__ import annotations

from pathlib import Path

import fake_checkout
import pytest

from kbench.bootstrap import entry, make_host_environment


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return fake_checkout.make_checkout(tmp_path / "check out")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def environment(checkout: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the fake checkout's own environment, ready."""
    monkeypatch.setattr(make_host_environment, "commands", fake_checkout.without_pip)
    lock = checkout / "requirements" / "host.lock"
    return entry.ensure(lock, cache, "the fake environment", "a moment").parent.parent
