"""Handles signals that end a run like Ctrl-C: guests end, and measurements are kept."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import NoReturn

INTERRUPTED_STATUS = 130
ONE_REQUEST = 1.0  # seconds in which a second SIGTERM is the first one again


@contextlib.contextmanager
def ended_as_interrupted() -> Iterator[None]:
    """The first of SIGINT, SIGTERM and SIGHUP raises KeyboardInterrupt; a second one ends the process at once.

    In that case the watchdog ends the guests, and no file is half written. A second SIGHUP does nothing, because a
    terminal that closes sends two; nor does a SIGTERM within a second of the first, because `timeout` sends one to
    the process and one to its group.
    """
    ours: list[signal.Signals] = []
    asked: list[float] = []  # when it was to end

    def first(number: int, frame: object) -> NoReturn:
        asked.append(time.monotonic())
        for one in ours:
            signal.signal(one, signal.SIG_IGN if one == signal.SIGHUP else second)
        raise KeyboardInterrupt

    def second(number: int, frame: object) -> None:
        if number == signal.SIGTERM and time.monotonic() - asked[0] < ONE_REQUEST:
            return
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
