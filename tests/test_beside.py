"""Work in a process beside this one: its result comes back, or its error, and a process that dies loses nothing."""

from __future__ import annotations

import os
import signal
from multiprocessing import active_children

import pytest

from kbench.beside import beside
from kbench.errors import UserError


def test_the_work_is_done_by_another_process_and_its_result_comes_back() -> None:
    held = lambda: "what pickle does not know"  # noqa: E731
    done = beside(lambda: (held(), os.getpid()))
    said, process = done()
    assert said == "what pickle does not know"
    assert process != os.getpid()
    assert not active_children()


def test_an_error_is_raised_where_the_result_is_waited_for() -> None:
    def wrong() -> None:
        raise UserError("This cannot be.")

    done = beside(wrong)
    with pytest.raises(UserError, match="This cannot be"):
        done()
    assert not active_children()


def test_what_a_killed_process_has_not_done_is_done_here() -> None:
    own = os.getpid()

    def work() -> int:
        if os.getpid() != own:
            os.kill(os.getpid(), signal.SIGKILL)
        return os.getpid()

    assert beside(work)() == own


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_with_one_core_or_elsewhere_than_on_linux_it_is_done_here(
    platform: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    if platform == "linux":
        monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0})
    assert beside(os.getpid)() == os.getpid()
