"""The fixed computation runs in a process of its own, with the variables and threads of a cell."""

from __future__ import annotations

import os

import pytest

from kbench.machine import fresh_process, reference_work

VARIABLES = {"PATH": os.environ["PATH"]}


def test_it_takes_some_of_a_second_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_work, "work", None)  # of this process
    seconds = [reference_work.measure(threads, VARIABLES) for threads in (1, 2)]
    assert all(taken is not None and 0.001 < taken < 30 for taken in seconds)
    assert seconds[0] != seconds[1]


def test_it_computes_the_same_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(reference_work, "_rounds", lambda matrix, number: seen.append((matrix.tobytes(), number)))
    assert reference_work.work(1) >= 0
    assert reference_work.work(1) >= 0
    assert seen[:2] == seen[2:]
    assert [number for _, number in seen[:2]] == [reference_work.WARMING, reference_work.ROUNDS]


def test_it_has_as_many_threads_as_a_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = []
    monkeypatch.setattr(reference_work, "ROUNDS", 1)
    within = reference_work.threadpoolctl.threadpool_limits

    def watched(limits_of: int, user_api: str) -> object:
        limits.append((limits_of, user_api))
        return within(limits_of, user_api=user_api)

    monkeypatch.setattr(reference_work.threadpoolctl, "threadpool_limits", watched)
    reference_work.work(3)
    assert limits == [(3, "blas")]


@pytest.mark.parametrize("program", ["/nowhere/python", "/bin/false", "/bin/echo"])
def test_where_it_cannot_be_timed_there_is_none(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    monkeypatch.setattr(fresh_process.sys, "executable", program)
    assert reference_work.measure(1, VARIABLES) is None
