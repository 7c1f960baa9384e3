"""The whole suite leaves out real tests that passed with the same inputs, and names slow tests that say no reason."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow("runs pytest several times")
CHECKOUT = Path(__file__).resolve().parent.parent
SKIPPED = "2 tests skipped. Nothing has changed since they passed here: `python run.py test tests/real` runs them."
TESTS = """
import whole_suite

def test_one(): whole_suite.LONG_SECONDS

def test_two():
    if "broken" in open("kbench/host.py").read(): raise ValueError
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name, text in {
        "tests/real/test_it.py": TESTS,
        "tests/test_other.py": "def test_other(): pass",
        "kbench/host.py": "",
        "README.md": "",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    shutil.copy(CHECKOUT / "tests" / "conftest.py", tmp_path / "tests")
    return tmp_path


def run(checkout: Path, *options: str, ci: str = "", long: float = 10.0) -> list[str]:
    """The lines that it ends with, from the one with the numbers of tests."""
    (checkout / "set_long.py").write_text(f"import whole_suite\nwhole_suite.LONG_SECONDS = {long}\n")
    folders = (checkout, CHECKOUT, CHECKOUT / "tests")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-c",
        str(CHECKOUT / "pyproject.toml"),
        "--rootdir",
        str(checkout),
        "-q",
    ]
    ended = subprocess.run(
        [*command, "-p", "set_long", "-o", f"cache_dir={checkout / 'cache'}", *options, "tests"],
        cwd=checkout,
        env={**os.environ, "CI": ci, "PYTHONPATH": os.pathsep.join(map(str, folders))},
        capture_output=True,
        text=True,
    )
    lines = ended.stdout.splitlines()
    place = next(number for number, line in enumerate(lines) if re.match(r"\d+ (passed|failed)", line))
    return [lines[place].partition(" in ")[0], *lines[place + 1 :]]


WHOLE = "--whole-suite"


@pytest.mark.thorough
def test_real_tests_that_passed_are_left_out_until_something_changes(checkout: Path) -> None:
    in_two_processes = (WHOLE, "-n", "2")
    assert run(checkout, *in_two_processes) == ["3 passed"]
    (checkout / "README.md").write_text("which they do not depend on")
    assert run(checkout, *in_two_processes) == ["1 passed, 2 skipped", SKIPPED]
    assert run(checkout) == ["3 passed"], "all that is asked for by its name runs"
    assert run(checkout, WHOLE, ci="true") == ["3 passed"]
    (checkout / "kbench" / "host.py").write_text("another")
    assert run(checkout, WHOLE) == ["3 passed"]


def test_where_a_real_test_fails_all_of_them_run_again(checkout: Path) -> None:
    """Some compare with each other what they computed: the later of two that differ fails."""
    (checkout / "kbench" / "host.py").write_text("broken")
    for _ in range(2):
        assert run(checkout, WHOLE)[0] == "1 failed, 2 passed"


def test_a_slow_test_is_named_unless_it_says_why(checkout: Path) -> None:
    reason = 'import pytest\npytestmark = pytest.mark.slow("it starts a framework")\n'
    path = checkout / "tests" / "real" / "test_it.py"
    path.write_text(reason + path.read_text())
    for before in ("", ", 0 s before"):
        _, slow = run(checkout, WHOLE, long=0.0)[:2]
        assert slow == f"tests/test_other.py::test_other took 0 s{before}, and no marker says why: slow(...)"


GROUP = """
import os
import pytest

@pytest.mark.parametrize("number", range(6))
def test_of_a_group(number):
    with open("workers", "a") as file:
        file.write(os.environ["PYTEST_XDIST_WORKER"] + "\\n")
"""


def test_the_tests_of_a_group_have_one_worker(checkout: Path) -> None:
    for name in ("backends", "kinds"):
        (checkout / "tests" / "real" / f"test_real_{name}.py").write_text(GROUP)
    assert run(checkout, "-n", "2") == ["15 passed"]
    assert len(set((checkout / "workers").read_text().split())) == 1
