"""Cells that run side by side: one computes at a time, and what happens to one does not happen to the others."""

from __future__ import annotations

import math
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest
from fake_runs import cell
from staged_runs import run_all, staged, staged_task

from kbench import store
from kbench.base import paths
from kbench.cells import launcher, orphans, runner, turns
from kbench.cells.runner import EpochProgress, Listener
from kbench.machine import host
from kbench.planning.tasks import CellTask
from kbench.records.values import Outcome

GUEST = Path(__file__).with_name("stub_guest.py")
TURNS = f"""
sys.path.insert(0, {str(paths.GUEST)!r})
from kbench_guest.turns import TurnClient
turns = TurnClient(100)
for turn in range(5):
    turns.yield_turn()
    tell("note", text="round %d%s" % (turns.round, " again" * turns.again))
"""
BACKENDS = ("one", "two", "three")
DISTURBED = turns.DISTURBED


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher, "POLL_SECONDS", 0.02)
    monkeypatch.setattr(launcher, "GRACE_SECONDS", 0.05)
    monkeypatch.setattr(turns, "DISTURBED", math.inf)  # by what else runs on this machine


class Stage:
    """A run of one example on three backends, which does what is given for each of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines: list[str] = []
        self.steps = False  # whether the cell that is looked at has taken steps
        self.look: Callable[[CellTask], None] = lambda task: None

    def run(self, does: Mapping[str, str], watched: bool = False, **settings: Any) -> dict[str, Outcome]:
        """Backend -> what came of its cell. `does` stands in for taking turns. `watched`: as the program does it."""
        code = {f"keras9/{name}": does.get(name, TURNS) for name in BACKENDS}
        tasks = [staged_task(cell("a", name), **settings) for name in code]
        self.here = staged(self.folder, GUEST, tasks, {"a": f"exec({code!r}[spec['backend']])"})

        def look(task: CellTask, done: EpochProgress) -> None:
            self.steps = done.epochs > 0
            self.look(task)

        listener = Listener(lambda task: None, look, lambda task, outcome: None, self.lines.append)
        run_all(tasks, self.here, listener, watched, interleave=True)
        return self.outcomes()

    def outcomes(self) -> dict[str, Outcome]:
        return {one.cell.backend.partition("/")[2]: one.outcome for one in store.read(self.here.run).measured}

    def rounds(self, backend: str) -> list[str]:
        """The rounds in which the backend had its turns."""
        (one,) = (one for one in store.read(self.here.run).measured if one.cell.backend == f"keras9/{backend}")
        return [note.removeprefix("round ") for note in one.facts.notes]

    def guests(self) -> list[psutil.Process]:
        return [psutil.Process(number) for number in orphans.find(f"{self.here.run.resolve()}|")]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def statuses(outcomes: Mapping[str, Outcome]) -> dict[str, str]:
    return {name: outcome.status for name, outcome in outcomes.items()}


def test_each_has_one_turn_in_each_round_and_no_other_computes_beside_one_that_takes_steps(stage: Stage) -> None:
    most = 0
    started: set[int] = set()  # guests that were held once: they start side by side

    def look(task: CellTask) -> None:
        nonlocal most
        if not stage.steps:  # several start at once
            return
        while computing() > 1:  # a process is stopped a moment after it was told; or the test does not end
            pass
        most = max(most, computing())

    def computing() -> int:
        states = {process.pid: process.status() for process in stage.guests()}
        held = {pid for pid, state in states.items() if state in (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE)}
        started.update(held)
        return len(started & states.keys() - held)

    stage.look = look
    assert statuses(stage.run({})) == dict.fromkeys(BACKENDS, "ok")
    assert [stage.rounds(name) for name in BACKENDS] == [[*"12345"]] * 3
    assert most == 1


def test_a_turn_that_other_programs_disturb_is_taken_again_once_at_the_end_of_its_round(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[int] = []
    go_on = turns.ProcessTurn.go_on

    def seen(turn: turns.ProcessTurn, number: int) -> None:
        order.append(number)
        # As if others were busy in the first turns of the round 1 and in all of the round 2.
        busy = number == 2 or (number == 1 and not turn.again)
        monkeypatch.setattr(turns, "DISTURBED", -1e9 if busy else 1e9)
        go_on(turn, number)

    monkeypatch.setattr(turns.ProcessTurn, "go_on", seen)
    outcomes = stage.run({})
    assert statuses(outcomes) == dict.fromkeys(BACKENDS, "ok")
    assert [stage.rounds(name) for name in BACKENDS] == [["1", "1 again", "2", "2 again", "3"]] * 3
    assert [(one.disturbed_rounds, one.disturbed_again) for one in outcomes.values()] == [((1, 2), (2,))] * 3
    assert [number for number in order if number][:9] == [1] * 6 + [2] * 3  # first steps are in round 0


def test_the_turn_in_which_a_process_ends_is_judged_by_what_others_used_while_it_ran(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "DISTURBED", 1e6)
    monkeypatch.setattr(runner, "share_of_others", lambda before, after: 2e6)
    outcomes = stage.run({"one": "pass"})
    assert statuses(outcomes) == dict.fromkeys(BACKENDS, "ok")
    assert [one.disturbed_rounds for one in outcomes.values()] == [(), (5,), (5,)], "the first one had no turn"


@pytest.mark.parametrize(
    ("does", "status", "reason"),
    [
        ("import signal; os.kill(os.getpid(), signal.SIGKILL)", "failed", "killed by SIGKILL"),
        ("raise SystemExit(7)", "failed", "ended with exit status 7"),
        ("os.close(int(os.environ['KBENCH_TURNS']))", "ok", ""),
        ("os.write(int(os.environ['KBENCH_TURNS']), b'nonsense' * 100)", "ok", ""),
        ("pass", "ok", ""),
        (TURNS.replace("range(5)", "range(500)") + "raise ValueError", "failed", "ended with exit status 1"),
    ],
)
def test_what_happens_to_one_does_not_happen_to_the_others(stage: Stage, does: str, status: str, reason: str) -> None:
    outcomes = stage.run({"two": does})
    assert statuses(outcomes) == {"one": "ok", "two": status, "three": "ok"}
    assert outcomes["two"].reason.startswith(reason)
    assert stage.rounds("one") == stage.rounds("three") == [*"12345"]


def test_one_that_is_killed_while_it_is_held_is_missed_at_once(stage: Stage) -> None:
    def kill_the_held(task: CellTask) -> None:
        for process in stage.guests():
            if process.status() == psutil.STATUS_STOPPED and "keras9-one" in process.environ()[orphans.MARK]:
                process.send_signal(signal.SIGKILL)

    stage.look = kill_the_held
    outcomes = stage.run({name: TURNS.replace("range(5)", "range(50)") for name in BACKENDS})
    assert statuses(outcomes) == {"one": "failed", "two": "ok", "three": "ok"}
    assert outcomes["one"].reason.startswith("killed by SIGKILL")


def test_a_time_limit_leaves_out_the_time_in_which_a_cell_was_held(stage: Stage) -> None:
    outcomes = stage.run({"two": "__import__('time').sleep(2)\n" + TURNS, "three": "pass"}, timeout=1.5)
    assert outcomes["one"].status == "ok", "it was held for more than that"
    assert outcomes["two"].status == "timeout"


def test_more_memory_than_allowed_ends_one_alone(stage: Stage) -> None:
    swells = (
        "held = bytearray(300 << 20); held[::4096] = b'1' * len(held[::4096])\n"
        + TURNS
        + "__import__('signal').pause()"
    )
    outcomes = stage.run({"two": swells}, memory_limit_mib=200.0)
    assert statuses(outcomes) == {"one": "ok", "two": "failed", "three": "ok"}
    assert outcomes["two"].reason.startswith("stopped: it used")


def test_an_interrupt_ends_all_of_them_and_says_so_of_each(stage: Stage) -> None:
    def interrupt(task: CellTask) -> None:
        if len(stage.guests()) == 3:
            raise KeyboardInterrupt

    stage.look = interrupt
    with pytest.raises(KeyboardInterrupt):
        stage.run({})
    outcomes = stage.outcomes()
    assert statuses(outcomes) == dict.fromkeys(BACKENDS, "interrupted")
    assert {outcome.reason for outcome in outcomes.values()} == {"interrupted by the user"}


def test_a_killed_host_leaves_none_of_them_behind(stage: Stage) -> None:
    def die(task: CellTask) -> None:
        if len(stage.guests()) == 3:
            os.kill(os.getpid(), signal.SIGKILL)

    stage.look = die
    host = os.fork()
    if host == 0:
        try:
            stage.run({}, watched=True)
        finally:
            os._exit(0)  # it should not come to that
    _, how = os.waitpid(host, 0)
    assert os.waitstatus_to_exitcode(how) == -signal.SIGKILL
    (run,) = (stage.folder / "results").iterdir()
    while orphans.find(f"{run.resolve()}|"):  # or the test does not end
        time.sleep(0.01)


def test_where_memory_does_not_hold_all_fewer_run_side_by_side_and_the_run_says_so(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "available_mib", lambda: turns.LEAST_MIB * (len(stage.guests()) < 2) + 1)
    most: list[int] = []
    stage.look = lambda task: most.append(len(stage.guests()))
    assert statuses(stage.run({})) == dict.fromkeys(BACKENDS, "ok")
    assert stage.lines == ["a: memory for 2 of 3 cells side by side"]
    assert max(most) == 2


# It waits in each turn until its own process has used the core for a while, as a loader of data does.
LOADER = TURNS.replace(
    "for turn",
    """
import os, time
ready, work = os.pipe(), os.pipe()
if os.fork() == 0:
    while os.read(work[0], 1):
        until = time.process_time() + 0.3
        while time.process_time() < until:
            pass
        os.write(ready[1], b"1")
    os._exit(0)
for turn""",
).replace("turns.yield_turn()", "os.write(work[1], b'1'); os.read(ready[0], 1); turns.yield_turn()")


def test_what_its_own_processes_compute_does_not_disturb_a_turn(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy_seconds() -> float:
        """As if nothing else ran on this machine."""
        return sum(sum(guest.cpu_times()[:2]) for guest in stage.guests())

    monkeypatch.setattr(turns, "DISTURBED", DISTURBED)
    monkeypatch.setattr(turns, "_busy_seconds", busy_seconds)
    assert statuses(stage.run({"one": LOADER})) == dict.fromkeys(BACKENDS, "ok")
    assert stage.rounds("one") == [*"12345"]


@pytest.mark.parametrize(("busy", "disturbed"), [(1.05, []), (1.5, [3])])
def test_a_round_in_which_other_programs_took_much_of_the_time_is_noted(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, busy: float, disturbed: list[int]
) -> None:
    cores = len(os.sched_getaffinity(0))
    this = psutil.Process()
    looks = iter(
        [turns.Look(10.0, 7.0, {this: (5.0, 0.0)}), turns.Look(11.0, 7.0 + busy * cores, {this: (5.0 + cores, 0.0)})]
    )
    monkeypatch.setattr(turns, "look", lambda pids: next(looks))
    monkeypatch.setattr(turns, "DISTURBED", DISTURBED)
    ours, guests = socket.socketpair()
    with ours, guests:
        with subprocess.Popen(["true"], start_new_session=True) as process:
            turn = turns.ProcessTurn(ours, guests, pids=(process.pid,))
        turn.go_on(3)
        turn.hold()
    assert turn.disturbed == disturbed
