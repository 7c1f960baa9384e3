"""Test helper: skips a test that needs what this machine lacks. CI has everything, so there such a test fails."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from typing import NoReturn

import pytest


def skip(lacking: str) -> NoReturn:
    """Skip the running test; `lacking` says what is missing, and after a colon what to install."""
    if os.environ.get("CI", "").lower() in ("", "0", "false"):
        pytest.skip(lacking)
    pytest.fail(f"In CI no test is skipped. {lacking}", pytrace=False)


def summary(reports: Iterable[pytest.TestReport]) -> list[str]:
    """A line for each reason why tests were skipped, with their number."""
    reasons = Counter(str(report.longrepr[2]) for report in reports if isinstance(report.longrepr, tuple))
    return [
        f"{count} test{'s' if count > 1 else ''} skipped. {reason.removeprefix('Skipped: ')}"
        for reason, count in reasons.items()
    ]
