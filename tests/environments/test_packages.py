"""An environment's packages are listed from its metadata, whoever made it and in whatever state it is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kbench.environments import packages
from kbench.records.values import Environment


def environment(python: Path, folder: Path | None = None) -> Environment:
    return Environment("keras9/fake", "cpu", python, folder, {}, "")


def install(site: Path, name: str, version: str, kind: str = "dist-info") -> None:
    folder = site / f"{name}-{version}.{kind}"
    folder.mkdir(parents=True)
    file = "METADATA" if kind == "dist-info" else "PKG-INFO"
    (folder / file).write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


def test_an_environment_of_kbenchs_own_is_not_started(tmp_path: Path) -> None:
    site = tmp_path / "lib" / "python3.6" / "site-packages"
    install(site, "Keras_Applications", "1.0.8")
    install(site, "torch", "2.13.0+cpu")
    install(site, "old.style", "3", "egg-info")
    found = packages.packages(environment(tmp_path / "no" / "python", tmp_path))
    assert list(found.items()) == [("keras-applications", "1.0.8"), ("old-style", "3"), ("torch", "2.13.0+cpu")]


def test_the_users_own_python_says_where_it_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))  # which no cell inherits
    install(tmp_path, "not-seen", "1")
    found = packages.packages(environment(Path(sys.executable)))
    assert found["pytest"] == pytest.__version__
    assert "not-seen" not in found


def test_what_cannot_be_read_is_empty_and_no_error(tmp_path: Path) -> None:
    assert packages.packages(environment(tmp_path / "python")) == {}
    assert packages.packages(environment(tmp_path / "python", tmp_path)) == {}
    mute = tmp_path / "mute"
    mute.write_text("#!/bin/sh\n")
    mute.chmod(0o755)
    assert packages.packages(environment(mute)) == {}
    (tmp_path / "lib" / "python3.6" / "site-packages" / "half-1.dist-info").mkdir(parents=True)
    assert packages.packages(environment(tmp_path / "python", tmp_path)) == {}
