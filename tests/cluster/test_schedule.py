"""Which block goes to which machine next, and when a block is given up."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import Mock

import pytest

from kbench.cluster.loop import Loop
from kbench.cluster.messages import Block, Result
from kbench.cluster.schedule import MOST_ATTEMPTS, Schedule, Worker

BLOCKS = [Block(example="one", repeat=1), Block(example="two", repeat=1), Block(example="two", repeat=2)]


def worker(host: str, kind: str = "fast") -> Worker:
    return Worker(f"tcp://{host}:1", host, kind)


def taken(schedule: Schedule, *workers: Worker) -> list[str]:
    """The blocks that the workers get in turn until none gets one."""
    names = []
    while given := [block.name for one in workers if (block := schedule.take(one))]:
        names += given
    return names


def test_each_block_is_given_to_one_machine() -> None:
    assert taken(Schedule(BLOCKS, spread=False), worker("a"), worker("b", "slow")) == [
        "one__r1",
        "two__r1",
        "two__r2",
    ]


def test_what_is_measured_already_is_not_given_out() -> None:
    schedule = Schedule(BLOCKS, spread=False, measured={"two__r1"})
    assert taken(schedule, worker("a")) == ["one__r1", "two__r2"]


def test_spread_gives_each_block_to_each_kind_of_machine_once() -> None:
    schedule = Schedule(BLOCKS[:2], spread=True, measured={"one__r1__slow"})
    assert schedule.waits_for_machines
    assert sorted(taken(schedule, worker("a"), worker("b"), worker("c", "slow"))) == [
        "one__r1__fast", "two__r1__fast", "two__r1__slow",
    ]  # fmt: skip
    assert not schedule.waits_for_machines and not schedule.open


def test_a_block_goes_to_another_machine_than_the_one_that_failed() -> None:
    schedule = Schedule(BLOCKS[:1], spread=False)
    block = schedule.take(worker("a"))
    assert block
    schedule.put_back(block, "a")
    assert schedule.take(worker("a")) is None
    assert schedule.take(worker("b")) == block


def test_a_block_whose_worker_was_lost_may_go_to_the_same_machine() -> None:
    schedule = Schedule(BLOCKS[:1], spread=False)
    for _ in range(MOST_ATTEMPTS):
        block = schedule.take(worker("a"))
        assert block
        schedule.put_back(block)
    assert schedule.take(worker("a")) is None
    assert schedule.given_up == [BLOCKS[0]]


def test_a_block_that_failed_on_every_machine_is_given_up() -> None:
    schedule = Schedule(BLOCKS[:1], spread=False)
    block = schedule.take(worker("a"))
    assert block
    schedule.put_back(block, "a")
    schedule.give_up_stuck([])  # more may come
    schedule.give_up_stuck([worker("a"), worker("b")])
    assert not schedule.given_up
    schedule.give_up_stuck([worker("a")])
    assert schedule.given_up == [block] and not schedule.open


def test_a_scheduler_that_goes_at_any_moment_fails_no_block(tmp_path: Path) -> None:
    fleet = Mock()
    fleet.workers.return_value = [worker("a")]
    fleet.result.return_value = Result(status="failed", reason="Dask could not run it")

    def ended() -> bool:
        fleet.workers.side_effect = ConnectionError("the scheduler is gone")
        return True

    fleet.submit.return_value.done = ended
    with pytest.raises(ConnectionError):
        Loop(tmp_path, fleet, Mock(), Schedule(BLOCKS[:1], spread=False), print).run()
    (attempt,) = (tmp_path / "attempts.jsonl").read_text().splitlines()
    assert json.loads(attempt)["status"] == "stopped"
