"""A cell of several workers: they are started, stopped for turns, limited, ended and recorded together."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from fake_runs import cell
from faults.staged_runs import run_all, staged, staged_task

from kbench import store
from kbench.cells import launcher, orphans
from kbench.cells.runner import EpochProgress, Listener
from kbench.features.workers import events, processes
from kbench.planning.tasks import CellTask
from kbench.records.values import Measured

GUEST = Path(__file__).with_name("workers_guest.py")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher, "POLL_SECONDS", 0.02)
    monkeypatch.setattr(launcher, "GRACE_SECONDS", 0.05)
    monkeypatch.setattr(launcher, "LINGER_SECONDS", 0.5)


class Stage:
    """A run of an example on backends, each with several workers; what it does stands in its file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.look: Callable[[CellTask, EpochProgress], None] = lambda task, done: None

    def run(
        self,
        does: str,
        *backends: str,
        in_turns: bool = False,
        watched: bool = False,
        epochs: int = 3,
        **settings: Any,
    ) -> dict[str, Measured]:
        """Backend -> what was measured. Beside those that are given there is one that does nothing special."""
        names = [f"keras9/{one}" for one in (*(backends or ("one",)), "other")]
        asked = {"workers": 2, "engine": "processes", **settings}
        tasks = [staged_task(cell("a", name, epochs=epochs), **asked) for name in names]
        code = f"if spec['backend'] != 'keras9/other':\n    exec({does!r})\n"
        here = staged(self.folder, GUEST, tasks, {"a": code})
        self.marked = f"{here.run.resolve()}|"
        run_all(tasks, here, Listener(lambda task: None, self.look, lambda task, outcome: None), watched, in_turns)
        self.folders = {task.backend: store.cell_folder(here.run, task).path for task in tasks}
        return {one.cell.backend.partition("/")[2]: one for one in store.read(here.run).measured}

    def fate(self, does: str, **settings: Any) -> tuple[str, str]:
        """Status and reason of the cell; the other one is ok whatever that does."""
        found = self.run(does, **settings)
        assert found["other"].outcome.status == "ok", found["other"].outcome
        return found["one"].outcome.status, found["one"].outcome.reason

    def guests(self) -> list[psutil.Process]:
        return [psutil.Process(number) for number in orphans.find(self.marked)]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def in_worker(number: int, what: str, epoch: int = 1) -> str:
    return f"if rank == {number} and epoch == {epoch}:\n    import signal\n    {what}"


@pytest.mark.parametrize("count", [2, 3])
def test_workers_find_each_other_and_what_each_did_is_recorded(stage: Stage, count: int) -> None:
    found = stage.run("", workers=count, samples=12, batch_size=12)["one"]
    assert found.outcome.status == "ok" and [one.epoch for one in found.epochs] == [1, 2, 3]
    told = [(one.epoch, one.rank, one.samples, one.batch_size) for one in events.told(found.facts)]
    assert sorted(told) == [(epoch, rank, 12 // count, 12 // count) for epoch in (1, 2, 3) for rank in range(count)]
    own = [f"{kind}.worker{rank}" for kind in ("events", "log", "spec") for rank in range(1, count)]
    there = {path.stem for path in stage.folders["keras9/one"].iterdir()}
    assert there == {"events", "log", "spec", "keras_home", "outcome", *own}


def test_a_worker_alone_has_one_process_and_no_word_of_workers_in_its_spec(stage: Stage) -> None:
    found = stage.run("assert 'workers' not in spec", workers=1, engine="")["one"]
    assert (found.outcome.status, events.told(found.facts)) == ("ok", [])


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "killed by SIGKILL (last event: "),
        ("os._exit(7)", "ended with exit status 7 (last event: "),
        ("os._exit(0)", "ended without a result (last event: "),
        ("raise ValueError('no such layer')", "ValueError: no such layer"),
    ],
)
def test_one_that_dies_ends_the_cell_and_is_named_and_not_those_that_lose_it(
    stage: Stage, number: int, what: str, reason: str
) -> None:
    status, found = stage.fate(in_worker(number, what))
    assert status == "failed" and found.startswith(f"worker {number}: {reason}"), found


@pytest.mark.parametrize(
    ("does", "said"),
    [
        (in_worker(1, "os.kill(os.getpid(), signal.SIGSTOP)"), "worker 0 waited for worker 1, which was stopped"),
        pytest.param(
            in_worker(0, "os.kill(os.getpid(), signal.SIGSTOP)"),
            "worker 1 waited for worker 0, which was stopped",
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            in_worker(1, "signal.pause()", 0),
            "worker 0 waited for worker 1, which told nothing",
            marks=pytest.mark.thorough,
        ),
        (in_worker(1, "signal.pause()"), "none of its workers told anything more after epoch 1"),
    ],
)
def test_a_hang_is_a_timeout_that_says_who_waited_for_whom(stage: Stage, does: str, said: str) -> None:
    status, reason = stage.fate(does, timeout=2.0)
    assert status == "timeout" and reason.startswith("not done after 2 s ("), reason
    assert said in reason and reason.endswith("; give it longer with --timeout")


def test_one_that_starts_late_is_waited_for(stage: Stage) -> None:
    first = "Path(spec['events']).expanduser().with_name('events.jsonl')"
    late = f"while not {first}.exists() or b'loaded' not in {first}.read_bytes(): pass"
    assert stage.fate(in_worker(1, late, 0)) == ("ok", "")


def test_too_much_memory_of_all_together_ends_the_cell(stage: Stage) -> None:
    swell = (
        "held = bytearray(200 << 20); held[::4096] = b'1' * len(held[::4096])\nif epoch == 1:\n    import signal\n"
    )
    swell += "    signal.pause()"
    status, reason = stage.fate(swell, memory_limit_mib=300.0)
    assert status == "failed" and reason.startswith("stopped: it used ") and "--memory-limit (300 MiB)" in reason


def test_one_that_runs_out_of_memory_is_named(stage: Stage) -> None:
    found = stage.run(in_worker(1, "raise MemoryError('Unable to allocate 8 GiB')"))["one"].outcome
    assert (found.reason, found.out_of_memory) == ("worker 1: MemoryError: Unable to allocate 8 GiB", True)


def test_a_port_that_was_taken_meanwhile_is_named(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    with contextlib.ExitStack() as stack, socket.create_server(("127.0.0.1", 0)) as taken:
        there = processes.free_addresses(2)
        asked: list[int] = []

        def first_taken(count: int) -> list[str]:
            asked.append(count)
            return [f"127.0.0.1:{taken.getsockname()[1]}", there[1]] if len(asked) == 1 else free_addresses(count)

        free_addresses = processes.free_addresses
        monkeypatch.setattr(processes, "free_addresses", first_taken)
        stack.callback(taken.close)
        status, reason = stage.fate("")
    assert status == "failed" and reason.startswith("worker 0: another program took its port meanwhile (")
    assert "Address already in use" in reason and reason.endswith("; measure it again")


def test_ports_are_free_each_another_and_of_this_machine_alone() -> None:
    found = processes.free_addresses(4)
    assert len({*found}) == 4 and all(one.startswith("127.0.0.1:") for one in found)
    for one in found:
        with socket.create_server(("127.0.0.1", int(one.partition(":")[2]))):
            pass


def test_what_goes_on_after_the_first_ones_end_is_ended_and_the_cell_is_ok(stage: Stage) -> None:
    assert stage.fate(in_worker(1, "signal.pause()", 3)) == ("ok", "")


def test_in_turns_all_workers_of_a_cell_are_stopped_while_another_computes(stage: Stage) -> None:
    seen = set[tuple[str, int]]()

    def look(task: CellTask, done: EpochProgress) -> None:
        states: dict[str, list[bool]] = {}
        for one in stage.guests():
            with contextlib.suppress(psutil.Error):
                name = one.environ()[orphans.MARK].split("|")[2]
                states.setdefault(name, []).append(one.status() == psutil.STATUS_STOPPED)
        seen.update((name, sum(stopped)) for name, stopped in states.items() if len(stopped) == 2)

    stage.look = look
    found = stage.run("", "one", "two", in_turns=True, epochs=8)
    assert {name: one.outcome.status for name, one in found.items()} == dict.fromkeys(("one", "two", "other"), "ok")
    assert {stopped for _, stopped in seen} >= {0, 2}, "either all of them or none"


@pytest.mark.parametrize("in_turns", [False, True])
def test_a_killed_host_leaves_no_worker_behind(stage: Stage, in_turns: bool) -> None:
    def die(task: CellTask, done: EpochProgress) -> None:
        if len(stage.guests()) >= 3:
            os.kill(os.getpid(), signal.SIGKILL)

    stage.look = die
    host = os.fork()
    if host == 0:
        try:
            stage.run("", workers=3, watched=True, in_turns=in_turns, epochs=10**6)
        finally:
            os._exit(0)  # it should not come to that
    _, how = os.waitpid(host, 0)
    assert os.waitstatus_to_exitcode(how) == -signal.SIGKILL
    (run,) = (stage.folder / "results").iterdir()
    while orphans.find(f"{run.resolve()}|"):  # or the test does not end
        pass


def test_an_interrupt_ends_all_workers(stage: Stage) -> None:
    def interrupt(task: CellTask, done: EpochProgress) -> None:
        if len(stage.guests()) == 2:
            raise KeyboardInterrupt

    stage.look = interrupt
    with pytest.raises(KeyboardInterrupt):
        stage.run("", epochs=10**6)


def test_one_that_dies_in_turns_ends_its_cell_alone(stage: Stage) -> None:
    found = stage.run(in_worker(1, "os.kill(os.getpid(), signal.SIGKILL)"), in_turns=True)
    assert found["other"].outcome.status == "ok"
    assert found["one"].outcome.reason.startswith("worker 1: killed by SIGKILL")
