"""Test helper: skips a test, such as one that needs what this machine lacks. CI has everything, so there it fails."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from typing import NoReturn

import pytest


def in_ci() -> bool:
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def skip(lacking: str) -> NoReturn:
    """Skip the running test; `lacking` says what is missing, and after a colon what to install."""
    if not in_ci():
        pytest.skip(lacking)
    pytest.fail(f"In CI no test is skipped. {lacking}", pytrace=False)


def mark(item: pytest.Item, reason: str) -> None:
    """Leave out a collected test; not in CI."""
    assert not in_ci()
    item.add_marker(pytest.mark.skip(reason))


def summary(reports: Iterable[pytest.TestReport]) -> list[str]:
    """A line for each reason why tests were skipped, with their number."""
    reasons = Counter(str(report.longrepr[2]) for report in reports if isinstance(report.longrepr, tuple))
    return [
        f"{count} test{'s' if count > 1 else ''} skipped. {reason.removeprefix('Skipped: ')}"
        for reason, count in reasons.items()
    ]
