"""Handles signals that end a run like Ctrl-C: guests end, and measurements are kept."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import NoReturn

INTERRUPTED_STATUS = 130


@contextlib.contextmanager
def ended_as_interrupted() -> Iterator[None]:
    """The first of SIGINT, SIGTERM and SIGHUP raises KeyboardInterrupt; a second one ends the process at once.

    In that case the watchdog ends the guests, and no file is half written. A second SIGHUP does nothing, because a
    terminal that closes sends two.
    """
    ours: list[signal.Signals] = []

    def first(number: int, frame: object) -> NoReturn:
        for one in ours:
            signal.signal(one, signal.SIG_IGN if one == signal.SIGHUP else second)
        raise KeyboardInterrupt

    def second(number: int, frame: object) -> NoReturn:
        with contextlib.suppress(OSError):
            os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, b"\nkbench: stopped at once.\n")
        os._exit(INTERRUPTED_STATUS)

    usual = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    if threading.current_thread() is threading.main_thread():  # only it may set handlers
        # Another handler, or none under nohup, was set on purpose.
        ours += [number for number in usual if usual[number] in (signal.SIG_DFL, signal.default_int_handler)]
    for number in ours:
        signal.signal(number, first)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, usual[number])
