"""A test that hangs fails, and says so: nothing that a test waits for has to have a limit of its own."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

import pytest

SECONDS = 900.0  # far beyond what any test takes on a slow and busy machine


@contextlib.contextmanager
def ends_after(seconds: float) -> Iterator[None]:
    """Fail the test that goes on after so long. In the main thread, where tests run, and not on Windows."""
    if not hasattr(signal, "SIGALRM") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def over(number: int, frame: object) -> None:
        pytest.fail(f"this test did not end within {seconds:g} s: something that it waits for does not happen")

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
