"""Test helper: what `python run.py test` does beside its tests. It leaves out real tests, and keeps durations."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import left_out
import pytest

OPTION = "--whole-suite"
# What the outcome of a test in tests/real depends on, within the checkout; and beside it on KBENCH_ variables.
INPUTS = (
    "kbench", "backends", "datasets", "examples_models", "suites", "requirements", "run.py", "docs/tutorial.md",
    "docs/answers.md", "docs/answers", "docs/my_backends", "tests/audit", "tests/real", "tests/[!t]*.py",
)  # fmt: skip
REAL = "tests/real/"
UNCHANGED = "Nothing has changed since they passed here: `python run.py test tests/real` runs them."
PASSED, DURATIONS = "kbench/real_tests_passed", "kbench/durations"  # in pytest's cache
MOST_KEPT = 50  # inputs with which they passed
LONG_SECONDS = 10
SHA256 = pytest.StashKey[str]()
LINES = pytest.StashKey[list[str]]()


def inputs_sha256(checkout: Path) -> str:
    """Of the names and bytes of all INPUTS."""
    named = [path for pattern in INPUTS for path in checkout.glob(pattern)]
    files = {file for path in named for file in (path.rglob("*") if path.is_dir() else [path]) if file.is_file()}
    variables = sorted((name, value) for name, value in os.environ.items() if name.startswith("KBENCH_"))
    digest = hashlib.sha256(repr(variables).encode())
    for file in sorted(file for file in files if "__pycache__" not in file.parts):
        digest.update(f"{file.relative_to(checkout)} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def began(config: pytest.Config) -> None:
    if config.getoption(OPTION):
        config.stash[SHA256] = inputs_sha256(config.rootpath)


def leave_out_real_tests(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark them as skipped if all of them passed with the same inputs; never in CI."""
    if config.getoption(OPTION) and not left_out.in_ci() and config.stash[SHA256] in _cache(config).get(PASSED, []):
        for item in items:
            if item.nodeid.startswith(REAL):
                left_out.mark(item, UNCHANGED)


def note_why_slow(items: list[pytest.Item]) -> None:
    """What the marker says goes with the reports, which come from other processes."""
    for item in items:
        if marker := item.get_closest_marker("slow"):
            item.user_properties.append(("slow", marker.args[0]))


def ended(config: pytest.Config, stats: dict[str, list[Any]], status: int) -> list[str]:
    """Keeps durations, and that all real tests passed; returns a line for each test that does not say why it is slow.

    All real tests or nothing: some compare with each other what they computed.
    """
    if not config.getoption(OPTION):
        return []
    seconds: defaultdict[str, float] = defaultdict(float)
    explained, outcomes = set(), set()
    for report in itertools.chain.from_iterable(stats.values()):
        if not isinstance(report, pytest.TestReport):
            continue
        seconds[report.nodeid] += report.duration
        explained.update({report.nodeid} if dict(report.user_properties).get("slow") else ())
        outcomes.update({report.outcome} if report.nodeid.startswith(REAL) else ())
    cache, sha256 = _cache(config), config.stash[SHA256]
    before: dict[str, float] = cache.get(DURATIONS, {})
    cache.set(DURATIONS, {**before, **{name: round(took, 2) for name, took in seconds.items()}})
    whole = status in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
    if whole and outcomes == {"passed"} and sha256 == inputs_sha256(config.rootpath):  # none was edited meanwhile
        cache.set(PASSED, [*cache.get(PASSED, []), sha256][-MOST_KEPT:])
    return [
        f"{name} took {took:.0f} s{_before(before.get(name))}, and no marker says why: slow(...)"
        for name, took in sorted(seconds.items(), key=lambda item: -item[1])
        if took > LONG_SECONDS and name not in explained
    ]


def _before(seconds: float | None) -> str:
    return "" if seconds is None else f", {seconds:.0f} s before"


def _cache(config: pytest.Config) -> pytest.Cache:
    assert config.cache is not None
    return config.cache
