"""What installing a backend costs is kept beside its environment, or measured where an earlier kbench made it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kbench.base import disk_usage
from kbench.environments import costs, folders
from kbench.records.values import Environment

NAME = "keras9-tiny-cpu-py3.6-0123456789ab"


def made(cache: Path, **details: Any) -> Environment:
    """An environment with two packages, and what its marker says."""
    folder = cache / "environments" / NAME
    packages = folder / "lib" / "python3.6" / "site-packages"
    for name in ("keras", "tiny"):
        about = packages / f"{name}-1.0.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (packages / "large.bin").write_bytes(b"x" * (3 << 20))
    (folder / "bin").mkdir()
    (folder / "bin" / "python").touch()
    marker = {"schema": folders.SCHEMA, "folder": str(folder), "interpreter": "/usr/bin/python3.6", **details}
    (folder / folders.MARKER).write_text(json.dumps(marker))
    return Environment("keras9/tiny", "cpu", folder / "bin" / "python", folder, {}, "")


def of(environment: Environment) -> costs.Cost:
    found = costs.of(environment)
    assert found is not None
    return found


def test_what_was_recorded_when_it_was_made_is_given(tmp_path: Path) -> None:
    found = of(made(tmp_path, cost={"seconds": 12.5, "mib": 100.0, "packages": 7}))
    assert found == costs.Cost(seconds=12.5, mib=100.0, packages=7, python="3.6", python_made=False)


@pytest.mark.parametrize("cost", [{}, {"cost": {"seconds": "long"}}, {"cost": 5}])
def test_of_one_that_was_made_before_size_and_packages_are_measured_and_seconds_unknown(
    tmp_path: Path, cost: dict[str, Any]
) -> None:
    found = of(made(tmp_path, **cost))
    assert found.seconds is None and found.packages == 2
    assert 3 <= found.mib < 3.2


def test_packages_that_programs_have_added_do_not_count(tmp_path: Path) -> None:
    environment = made(tmp_path)
    assert environment.folder
    alone = of(environment).mib
    added = environment.folder / folders.ADDED / "0123"
    added.mkdir(parents=True)
    (added / "more.bin").write_bytes(b"x" * (5 << 20))
    assert of(environment).mib == pytest.approx(alone)
    assert disk_usage.size([environment.folder])[0] > (8 << 20)


def test_a_python_that_kbench_made_is_told(tmp_path: Path) -> None:
    own = str(tmp_path / "interpreters" / "py3.6-0123" / "bin" / "python3.6")
    assert of(made(tmp_path, interpreter=own)).python_made


def test_an_environment_of_the_users_has_no_cost(tmp_path: Path) -> None:
    assert costs.of(Environment("keras9/tiny", "cpu", tmp_path / "python", None, {}, "")) is None
