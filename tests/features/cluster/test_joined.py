"""What machines with a worker each send of a block becomes one result."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kbench.features.cluster.joined import joined
from kbench.features.cluster.messages import Result

CELL = "cells/one__r1/"
LOST = {"status": "failed", "reason": "worker 0: RuntimeError: Connection closed by peer [127.0.1.2]", "seconds": 4.0}
LATE = {"status": "timeout", "reason": "not done after 9 s (0 of 2 epochs were done): worker 0 waited for those on"}


def sent(outcome: dict[str, Any], **files: bytes) -> Result:
    whole = {f"{CELL}{name}": content for name, content in files.items()}
    return Result(
        status="measured", files={"run.json": b"{}", f"{CELL}outcome.json": json.dumps(outcome).encode(), **whole}
    )


def outcome(*of_each: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(joined([sent(one) for one in of_each]).files[f"{CELL}outcome.json"])
    return found


def test_the_files_of_each_worker_lie_beside_those_of_the_first_and_no_others() -> None:
    first = sent({"status": "ok"}, **{"events.jsonl": b"0", "log.txt": b"0"})
    own = {"events.worker1.jsonl": b"1", "log.worker1.txt": b"1", "spec.worker1.json": b"1"}
    second = sent({"status": "ok"}, **own, **{"events.worker2.jsonl": b"of another", "events.jsonl": b"of another"})
    found = joined([first, second])
    assert found.status == "measured"
    assert found.files == {**first.files, **{f"{CELL}{name}": content for name, content in own.items()}}


def test_what_one_machine_sends_alone_stays_as_it_is() -> None:
    one = sent(LOST, **{"events.worker1.jsonl": b"1"})
    assert joined([one]) == one


@pytest.mark.parametrize("first", [LOST, LATE])
@pytest.mark.parametrize(
    ("other", "status", "reason"),
    [
        ({"status": "failed", "reason": "worker 1: killed by SIGKILL"}, "failed", "worker 1: killed by SIGKILL"),
        ({"status": "unavailable", "reason": "no Python 3.11"}, "unavailable", "worker 1: no Python 3.11"),
    ],
)
def test_the_worker_that_is_why_the_others_lost_it_is_named(
    first: dict[str, Any], other: dict[str, Any], status: str, reason: str
) -> None:
    assert outcome(first, other) == {**first, "status": status, "reason": reason}


def test_without_another_reason_the_first_ones_own_stays() -> None:
    assert outcome(LOST, {"status": "failed", "reason": "worker 1: ConnectionResetError"}) == LOST
    assert outcome(LATE, {"status": "ok"}) == LATE and outcome(LATE, LATE) == LATE
    own = {"status": "failed", "reason": "worker 0: ValueError: no such layer"}
    assert outcome(own, {"status": "failed", "reason": "worker 1: killed by SIGKILL"}) == own
    ok = {"status": "ok"}
    assert outcome(ok, {"status": "failed", "reason": "worker 1: killed by SIGKILL"}) == ok
    damaged = Result(status="measured", files={f"{CELL}outcome.json": b"{"})
    assert joined([damaged, damaged]) == damaged
