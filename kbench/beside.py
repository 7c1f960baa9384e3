"""Do a part of some work in a process beside this one, where there is a second core for it."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import TypeVar

Result = TypeVar("Result")


def beside(work: Callable[[], Result]) -> Callable[[], Result]:
    """Begin `work` in a process of its own; returns what waits for its result, and raises what it raised.

    The result has to be one that pickle knows; what `work` needs does not, for the process is a copy of this one.
    Where there is one core, or a system that does not copy processes safely, it is done once it is waited for. So it
    is where the process came to its end without a word, for want of memory or by somebody's hand.
    """
    if not sys.platform.startswith("linux") or len(os.sched_getaffinity(0)) < 2:
        return work
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_told, args=(work, here, there), daemon=True)  # ends with this one
    with warnings.catch_warnings():
        # Python 3.12 warns of threads that the copy has not: numpy's, which it makes anew, and a progress bar's.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    there.close()

    def result() -> Result:
        try:
            with here:
                found, error = here.recv()
        except (EOFError, OSError):
            return work()
        finally:
            process.join()
        if error is not None:
            raise error
        return found  # type: ignore[no-any-return]

    return result


def _told(work: Callable[[], object], here: Connection, there: Connection) -> None:
    here.close()
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):  # who waits has gone, or is told so itself
        try:
            told: tuple[object, Exception | None] = (work(), None)
        except Exception as error:  # it is raised again by who waits
            told = (None, error)
        there.send(told)
