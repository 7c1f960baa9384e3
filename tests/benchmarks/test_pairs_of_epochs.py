"""The benchmarks that compare epochs of one process: which epochs are pairs, and what their ratios are."""

from __future__ import annotations

import socket
import struct
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fake_runs import cell, measured

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "guest"))

import script_overhead
import turns
import turns_pairs
from guest_modules import alone

from kbench.records.epochs import Turn

STEPS, EPOCHS = 50, 21
PAIRS = [(first, first + 1) for first in range(turns_pairs.FIRST, EPOCHS, 2)]


def test_one_epoch_of_each_pair_is_in_turns_in_an_order_that_changes() -> None:
    held = [tuple(turns_pairs.in_turns(epoch) for epoch in pair) for pair in PAIRS]
    assert set(held) == {(True, False), (False, True)}


def test_a_cell_passes_on_in_the_epochs_in_turns_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, guests = socket.socketpair()
    monkeypatch.setenv("KBENCH_TURNS", str(guests.fileno()))
    guest: Any = alone("turns")
    clock = SimpleNamespace(seconds=0.0)
    for module in (guest, turns_pairs):
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: clock.seconds))
    with ours, guests:
        taken = turns_pairs.in_pairs(guest, STEPS)(0)
        passed_on = []
        for epoch in range(1, EPOCHS + 1):
            for _ in range(STEPS - 1):
                if taken.is_over():
                    ours.send(struct.pack("!I", len(passed_on) + 1))
                    taken.yield_turn()
                    passed_on.append(epoch)
                clock.seconds += 0.03
    # A turn is over after half of an epoch's steps.
    assert all(passed_on.count(epoch) in (1, 2, 3) for epoch in range(1, EPOCHS + 1) if turns_pairs.in_turns(epoch))
    assert set(passed_on) == set(filter(turns_pairs.in_turns, range(1, EPOCHS + 1)))


def test_the_ratio_of_a_pair_is_in_turns_over_alone_while_another_cell_is_there() -> None:
    seconds = [9.0, *(1.5 if turns_pairs.in_turns(epoch) else 1.0 for epoch in range(2, EPOCHS + 1))]
    rounds = [(Turn(number, 0, 9),) for number in range(1, EPOCHS + 1)]
    one = measured(cell(backend="keras9/one"), *seconds, rounds=rounds)
    other = measured(cell(backend="keras9/other"), *seconds[:7], rounds=rounds)
    assert turns.ratios(one, [other]) == [1.5] * 3
    assert turns.ratios(one, []) == []


def test_the_ratio_of_a_pair_of_fits_is_observed_over_bare() -> None:
    assert script_overhead.ratios("observed 3.0 bare 2.0\nbare 4.0 observed 2.0\n") == [1.5, 0.5]
