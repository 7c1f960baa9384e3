"""Which block goes to which machine next, and when a block is given up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from kbench.features.cluster import loop
from kbench.features.cluster.loop import Loop
from kbench.features.cluster.messages import Block, Result
from kbench.features.cluster.schedule import MOST_ATTEMPTS, Schedule, Worker

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


def orders() -> Mock:
    """One for each host."""
    return Mock(of=lambda block, hosts: [(block.name, number) for number in range(len(hosts))])


def test_a_scheduler_that_goes_at_any_moment_fails_no_block(tmp_path: Path) -> None:
    fleet = Mock()
    fleet.workers.return_value = [worker("a")]
    fleet.result.return_value = Result(status="failed", reason="Dask could not run it")

    def ended() -> bool:
        fleet.workers.side_effect = ConnectionError("the scheduler is gone")
        return True

    fleet.submit.return_value.done = ended
    with pytest.raises(ConnectionError):
        Loop(tmp_path, fleet, orders(), Schedule(BLOCKS[:1], spread=False), print).run()
    (attempt,) = (tmp_path / "attempts.jsonl").read_text().splitlines()
    assert json.loads(attempt)["status"] == "stopped"


PAIR = [worker("a"), worker("b")]


def test_a_block_with_a_worker_per_machine_takes_so_many_of_one_kind_at_once() -> None:
    schedule = Schedule(BLOCKS[:1], spread=False, machines=2)
    slow, idle = worker("s", "slow"), [worker("b"), worker("c")]
    assert schedule.take(slow, idle) is None and schedule.take(worker("a"), [slow]) is None
    assert schedule.take(worker("a"), [slow, *idle]) == BLOCKS[0]
    assert schedule.together(BLOCKS[0], worker("a"), [slow, *idle]) == PAIR
    assert schedule.waiting == "Waiting for 2 machines of one kind: a block takes so many at once."


def test_a_machine_that_failed_has_no_part_in_its_block_again_and_without_enough_others_it_is_given_up() -> None:
    schedule = Schedule(BLOCKS[:1], spread=False, machines=2)
    block = schedule.take(worker("a"), PAIR[1:])
    assert block
    schedule.put_back(block, "b")
    assert schedule.take(worker("a"), PAIR[1:]) is None and schedule.take(worker("b"), PAIR[:1]) is None
    assert schedule.together(block, worker("a"), [worker("b"), worker("c")]) == [worker("a"), worker("c")]
    schedule.give_up_stuck([*PAIR, worker("c")])
    assert not schedule.given_up
    schedule.give_up_stuck([*PAIR, worker("s", "slow")])
    assert schedule.given_up == [block]


def test_too_few_machines_are_waited_for_while_nothing_has_failed() -> None:
    schedule = Schedule(BLOCKS[:1], spread=False, machines=2)
    schedule.give_up_stuck([worker("a")])
    assert schedule.open and not schedule.given_up


class Cluster:
    """Stands for a fleet: what becomes of each order, by the attempt's number, and which were cancelled."""

    def __init__(self, *attempts: list[Result | None]) -> None:
        self.given: list[list[Mock]] = []
        self.cancelled: list[Mock] = []
        self._attempts = attempts

    def workers(self) -> list[Worker]:
        return PAIR

    def submit(self, order: tuple[str, int], one: Worker) -> Mock:
        _, number = order
        if number == 0:
            self.given.append([])
        found = self._attempts[len(self.given) - 1][number]
        self.given[-1].append(Mock(result=found, done=lambda: found is not None))
        return self.given[-1][-1]

    def result(self, future: Mock) -> Any:
        return future.result

    def cancel(self, futures: list[Mock]) -> None:
        self.cancelled += futures


def attempts(run: Path) -> list[tuple[str, str, str]]:
    lines = map(json.loads, (run / "attempts.jsonl").read_text().splitlines())
    return [(one["worker"], one["status"], one["reason"]) for one in lines]


def test_if_one_of_its_machines_fails_the_whole_block_is_put_back_and_a_sentence_says_which(tmp_path: Path) -> None:
    fleet = Cluster([None, Result(status="failed", reason="it has no Python")])
    schedule, said = Schedule(BLOCKS[:1], spread=False, machines=2), list[str]()
    Loop(tmp_path, fleet, orders(), schedule, said.append).run()
    assert schedule.given_up == [BLOCKS[0]], "no other two machines are left"
    assert attempts(tmp_path) == [
        ("tcp://b:1", "failed", "it has no Python"),
        ("tcp://a:1", "stopped", "worker 1 on b: it has no Python"),
    ]
    assert fleet.cancelled == fleet.given[0][:1]
    assert said[0] == "[a, b] one: started" and said[-1].endswith(" s: worker 1 on b: it has no Python")


def test_a_machine_that_does_not_end_with_the_first_ones_is_not_waited_for_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "LATER", 0.0)
    fleet = Cluster([Result(status="measured"), None])
    Loop(tmp_path, fleet, orders(), Schedule(BLOCKS[:1], spread=False, machines=2), print).run()
    assert attempts(tmp_path)[0] == ("tcp://b:1", "failed", "it had not ended 0 s after the first worker")
