"""`python run.py test -m fast` runs the tests that start no process, and holds them to it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
STARTING = """
import subprocess

def start():
    subprocess.run(["true"])
"""
TESTS = """
import pytest
import starting

@pytest.mark.thorough
def test_thorough(): pass
def test_quick(): pass
def test_measuring(bench): pass
def test_with_a_browser(browser): pass
def test_unexpected(): starting.start()
"""


def test_fast_tests_measure_nothing_and_fail_if_they_start_a_process(tmp_path: Path) -> None:
    here = tmp_path / "cluster"  # a checkout may be in a folder of any name
    (here / "real").mkdir(parents=True)
    shutil.copy(CHECKOUT / "tests" / "conftest.py", here)
    for name, text in {
        "starting.py": STARTING,
        "test_it.py": TESTS,
        "test_processes.py": "import subprocess\n\ndef test_elsewhere(): subprocess.run(['true'])\n",
        "real/test_backends.py": "def test_slow(): pass\n",
    }.items():
        (here / name).write_text(text)
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-c",
            CHECKOUT / "pyproject.toml",
            "--rootdir",
            ".",
            "-m",
            "fast",
            "-q",
            ".",
        ],
        cwd=here,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (CHECKOUT, CHECKOUT / "tests")))},
        capture_output=True,
        text=True,
    )
    assert "A fast test starts no process (['true'])" in ended.stdout
    assert ended.stdout.splitlines()[-1].startswith("1 failed, 1 passed, 4 deselected"), ended.stdout
