"""Tests that this machine cannot run are skipped and summed up in the last lines; in CI they fail."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow("runs pytest several times")

CHECKOUT = Path(__file__).resolve().parent.parent
LAST = "2 tests skipped. A tool is needed: install it."
TESTS = """
import left_out
import pytest

@pytest.fixture(scope="session")
def tool():
    left_out.skip("A tool is needed: install it.")

def test_one(tool): pass
def test_two(tool): pass
def test_without(): pass
"""


def run(folder: Path, ci: str, *options: str) -> tuple[int, list[str]]:
    """The tests above with this suite's conftest.py and options."""
    shutil.copy(CHECKOUT / "tests" / "conftest.py", folder)
    folder.joinpath("test_it.py").write_text(TESTS)
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", str(CHECKOUT / "pyproject.toml"), "--rootdir", str(folder), *options],
        cwd=folder,
        env={**os.environ, "CI": ci, "PYTHONPATH": os.pathsep.join(map(str, (CHECKOUT, CHECKOUT / "tests")))},
        capture_output=True,
        text=True,
    )
    return ended.returncode, ended.stdout.splitlines()


@pytest.mark.parametrize(
    "options", [("test_it.py",), pytest.param(("test_it.py", "-n", "2"), marks=pytest.mark.thorough)], ids=str
)
def test_the_last_line_says_how_many_tests_were_skipped_and_why(tmp_path: Path, options: tuple[str, ...]) -> None:
    status, lines = run(tmp_path, "", *options)
    assert (status, lines[-1]) == (0, LAST), lines


def test_in_ci_a_test_that_would_be_skipped_fails(tmp_path: Path) -> None:
    status, lines = run(tmp_path, "true", "test_it.py")
    assert status == 1
    assert "In CI no test is skipped. A tool is needed: install it." in lines
    assert "1 passed, 2 errors" in lines[-1]
