"""Signals that end a run end it like Ctrl-C: no guest stays behind, and what was measured is kept."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import NoReturn


@contextlib.contextmanager
def ended_as_interrupted() -> Iterator[None]:
    """A batch system or a closed terminal ends a run as Ctrl-C does: no guest stays behind, results are kept."""

    def interrupt(number: int, frame: object) -> NoReturn:
        raise KeyboardInterrupt

    known = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    # Another handler, or none under nohup, is somebody's decision.
    ours = [number for number in known if signal.getsignal(number) is signal.SIG_DFL]
    if threading.current_thread() is not threading.main_thread():  # only that one may ask for signals
        ours = []
    for number in ours:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)
