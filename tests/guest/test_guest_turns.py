"""A guest's turns: when one is over, what the host is told, and what happens without a host."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from guest_modules import alone

STEPS = 200  # so that a turn's part is ten of them


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    ours, guests = socket.socketpair()
    monkeypatch.setenv("KBENCH_TURNS", str(guests.fileno()))
    with ours, guests:
        yield ours


@pytest.fixture
def turns(host: socket.socket, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module, with a clock of the test's."""
    module: Any = alone("turns")
    module.now = 0.0
    monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: module.now))
    return module


def test_a_cell_that_runs_alone_takes_no_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KBENCH_TURNS", raising=False)
    assert not alone("turns").TurnClient(STEPS)


def test_the_first_turn_is_over_after_the_first_step(turns: Any) -> None:
    taken = turns.TurnClient(STEPS)
    assert taken and taken.round == 0 and taken.is_over()


@pytest.mark.parametrize(
    ("seconds_of_a_step", "steps"),
    [
        (0.001, 250),  # at least 0.25 seconds
        (0.1, 10),  # a twentieth of all steps
        (0.5, 4),  # no more than 2 seconds
        (9.0, 1),
    ],
)
def test_a_turn_is_over_after_a_part_of_the_steps_within_limits(
    turns: Any, host: socket.socket, seconds_of_a_step: float, steps: int
) -> None:
    taken = turns.TurnClient(STEPS)
    host.send(struct.pack("!I", 7))
    taken.yield_turn()
    done = 0
    while not taken.is_over() or done == 0:
        turns.now += seconds_of_a_step
        done += 1
    assert (taken.round, done) == (7, pytest.approx(steps, abs=1))


def test_a_turn_in_the_same_round_as_the_last_one_is_taken_again(turns: Any, host: socket.socket) -> None:
    taken = turns.TurnClient(STEPS)
    seen = [taken.turn]
    for number in (1, 1, 2, 3, 3):
        host.send(struct.pack("!I", number))
        taken.yield_turn()
        seen.append(taken.turn)
    assert seen == [(0, 0), (1, 0), (1, 1), (2, 0), (3, 0), (3, 1)]


def test_the_host_is_told_and_the_time_until_it_answers_is_a_pause(turns: Any, host: socket.socket) -> None:
    taken = turns.TurnClient(STEPS)

    def answer() -> None:
        assert host.recv(16) == b"."
        turns.now = 5.0
        host.send(struct.pack("!I", 300))

    beside = threading.Thread(target=answer)
    beside.start()
    assert taken.yield_turn() == (0.0, 5.0)
    beside.join()
    assert taken.round == 300 and turns.held_seconds() == 5.0


def test_without_a_host_there_are_no_more_turns(turns: Any, host: socket.socket) -> None:
    taken = turns.TurnClient(STEPS)
    host.close()
    taken.yield_turn()
    assert not taken


@pytest.mark.parametrize(("seconds_of_a_step", "slow"), [(0.01, False), (0.05, True)])
def test_a_turn_of_slow_steps_says_so(turns: Any, host: socket.socket, seconds_of_a_step: float, slow: bool) -> None:
    taken = turns.TurnClient(STEPS)
    for number in (1, 2):
        host.send(struct.pack("!I", number))
        taken.yield_turn()
        assert taken.slow is (slow and number == 2)
        for _ in range(10):
            taken.is_over()
            turns.now += seconds_of_a_step


@pytest.mark.parametrize(
    ("seconds_of_a_turn", "turns_taken"),
    [
        (0.5, 6),  # five behind the one that warms up
        (0.25, 7),  # as many as make one and a half seconds
        (9.0, 4),  # three, if they are long
    ],
)
def test_a_process_that_only_times_steps_is_settled_after_a_few_turns_and_seconds(
    turns: Any, host: socket.socket, seconds_of_a_turn: float, turns_taken: int
) -> None:
    taken, whole, done = turns.TurnClient(None), turns.TurnClient(STEPS), 0
    while not taken.is_settled():
        assert not whole.is_settled(), "it does all its steps"
        done += bool(taken.round)
        host.send(struct.pack("!I", done + 1))
        taken.yield_turn()
        turns.now += seconds_of_a_turn
    assert done + 1 == turns_taken


def test_a_disturbed_turn_settles_nothing_but_only_so_often(turns: Any, host: socket.socket) -> None:
    def settled_after(disturbed: int) -> int:
        """Behind the one that warms up, of which the first ones are disturbed."""
        taken, done = turns.TurnClient(None), 0
        while not taken.is_settled():
            lost = turns.LOST if 2 <= done < 2 + disturbed else 0  # the turn that is over
            done += 1
            host.send(struct.pack("!I", done | lost))
            taken.yield_turn()
            assert taken.turn == (done, 0)
            turns.now += 0.5
        return done - 1

    assert settled_after(0) == turns.SETTLED_TURNS
    assert settled_after(3) == turns.SETTLED_TURNS + 3
    assert settled_after(1000) == turns.SETTLED_TURNS + turns.MOST_LOST


def test_being_held_adds_its_share_to_what_a_call_waits_at_its_end(turns: Any) -> None:
    call = turns.Call()
    turns.now = 10.0
    turns.leave_out(8.0)
    assert turns.held_seconds() == 8.0
    assert call.added(2.0) == pytest.approx(1.6)  # it was held for 8 of its 10 seconds
    turns.now = 20.0
    assert turns.Call().added(2.0) == 0.0
