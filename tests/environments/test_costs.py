"""What installing a backend costs is kept beside its environment."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from kbench.environments import costs, folders
from kbench.records.values import Environment

NAME = "keras9-tiny-cpu-py3.6-0123456789ab"


def made(cache: Path, interpreter: Path) -> Environment:
    """An environment with two packages of three MiB, and its marker."""
    folder = cache / "environments" / NAME
    packages = folder / "lib" / "python3.6" / "site-packages"
    for name in ("keras", "tiny"):
        about = packages / f"{name}-1.0.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (packages / "large.bin").write_bytes(b"x" * (3 << 20))
    (folder / "bin").mkdir()
    interpreter.parent.mkdir(parents=True, exist_ok=True)
    interpreter.touch()
    (folder / "bin" / "python").symlink_to(interpreter)
    marker = folders.Marker(folders.SCHEMA, str(folder), "", str(interpreter), "", {}, costs.recorded(folder, 12.5))
    (folder / folders.MARKER).write_bytes(msgspec.json.encode(marker))
    return Environment("keras9/tiny", "cpu", folder / "bin" / "python", folder, {}, "")


@pytest.mark.parametrize(("place", "python_made"), [("elsewhere", False), ("interpreters/py3.6-0123", True)])
def test_what_was_recorded_when_it_was_made_is_given(tmp_path: Path, place: str, python_made: bool) -> None:
    found = costs.of(made(tmp_path, tmp_path / place / "bin" / "python3.6"))
    assert found is not None and 3 <= found.recorded.mib < 3.2
    recorded = folders.Recorded(seconds=12.5, mib=found.recorded.mib, packages=2)
    assert found == costs.Cost(recorded, python="3.6", python_made=python_made)


def test_an_environment_of_the_users_has_no_cost(tmp_path: Path) -> None:
    assert costs.of(Environment("keras9/tiny", "cpu", tmp_path / "python", None, {}, "")) is None
