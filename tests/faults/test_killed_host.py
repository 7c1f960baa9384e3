"""The host is killed at any moment: nothing finished is lost or done twice, nothing is missing, nothing goes on."""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from fake_bench import CHECKOUT, EXAMPLE, Bench, dying
from named_pipe import Pipe

from kbench.cells import orphans

pytestmark = pytest.mark.slow("kills a host again and again")

EXAMPLES = [f"e{number}.py" for number in range(5)]
SHARE = 0.08  # of the time that a whole run takes, after which a host is killed at the latest
PATIENCE = 300  # seconds, after which a host that hangs fails the test
# Each try leaves a line that nothing takes back; one in ten leaves a process in a session of its own.
TRY = """
with open({journal!r}, "a") as journal:
    journal.write(folder.rpartition("/")[2] + "\\n")
if spec["example"].endswith("e0.py") and os.fork() == 0:
    os.setsid()
    __import__("signal").pause()
"""


class Hosts:
    """Runs kbench in forks of one process that has imported it."""

    def __init__(self) -> None:
        self._zygote = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("host_zygote.py"))],
            env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._answer() == "ready"

    def run(self, *argv: str, kill_after: float | None = None) -> int | None:
        """The exit status, or None where it was killed after so many seconds."""
        assert self._zygote.stdin
        self._zygote.stdin.write(json.dumps([argv, kill_after]) + "\n")
        self._zygote.stdin.flush()
        status = int(self._answer())
        return None if status == -signal.SIGKILL else status

    def _answer(self) -> str:
        # It answers each line by one: nothing is left between two of them that select would not see.
        assert self._zygote.stdout
        assert select.select([self._zygote.stdout], [], [], PATIENCE)[0], f"a host did not end within {PATIENCE} s"
        return self._zygote.stdout.readline().strip()

    def close(self) -> None:
        assert self._zygote.stdin and self._zygote.stdout
        self._zygote.stdin.close()
        try:
            self._zygote.wait(10)
        except subprocess.TimeoutExpired:
            self._zygote.kill()
            self._zygote.wait()
        self._zygote.stdout.close()


@pytest.fixture
def pipe(bench: Bench) -> Iterator[Pipe]:
    with contextlib.closing(Pipe(bench.folder)) as made:
        yield made


@pytest.fixture
def hosts(bench: Bench) -> Iterator[Hosts]:
    bench.measure()  # makes the environment
    with contextlib.closing(Hosts()) as made:
        yield made


def prepare(bench: Bench) -> Path:
    """Examples whose tries can be counted; returns the journal of the tries."""
    journal = bench.folder / "journal"
    journal.touch()
    for name in EXAMPLES:
        # The stub runs the whole example, whose imports it has not got: they are left out.
        code = EXAMPLE.replace("from keras.layers import Dense, Flatten\nfrom keras.models import Sequential\n", "")
        bench.example(name, code + TRY.format(journal=str(journal)))
    return journal


def asked(name: str, repeats: int) -> list[str]:
    options = ["--no-plots", "--profile", "smoke", "--device", "cpu", "--repeats", str(repeats), "--name", name]
    return ["run", "--backends", "fake", "--examples", ",".join(EXAMPLES), *options]


def tries(journal: Path) -> Counter[str]:
    return Counter(journal.read_text().split())


def finished(run: Path) -> dict[str, tuple[int, bytes]]:
    """Cell -> its outcome's file and what is in it."""
    return {path.parent.name: (path.stat().st_ino, path.read_bytes()) for path in run.glob("cells/*/outcome.json")}


def table(run: Path) -> str:
    """What was measured, without how long the processes took."""
    return (run / "summary.csv").read_text() + (run / "epochs.csv").read_text()


def gone(run: Path) -> bool:
    """Whether all guests of the run end by themselves."""
    marked = f"{run.resolve()}|"
    numbers = orphans.find(marked)
    found = [one for one in psutil.process_iter() if one.pid in numbers]
    _, alive = psutil.wait_procs(found, timeout=60)
    return not alive and not orphans.find(marked)


@pytest.mark.parametrize(("kills", "repeats"), [(3, 2), pytest.param(100, 10, marks=pytest.mark.thorough)])
def test_a_host_killed_again_and_again_loses_nothing_and_leaves_nothing(
    bench: Bench, hosts: Hosts, kills: int, repeats: int
) -> None:
    journal = prepare(bench)
    start = time.monotonic()
    assert hosts.run(*asked("whole", repeats)) == 0
    longest = SHARE * (time.monotonic() - start)
    whole = bench.results / "whole"
    assert len(finished(whole)) == len(EXAMPLES) * repeats
    moments = random.Random(20261121)
    killed, runs = 0, 0
    while killed < kills:
        runs += 1
        run = bench.results / f"run{runs}"
        before = tries(journal)
        done: dict[str, tuple[int, bytes]] = {}
        then = before
        status = None
        while status is None:
            # A run is there with all that it takes to go on with it, or its name is free.
            command = ["resume", "--no-plots", run.name] if run.exists() else asked(run.name, repeats)
            after = moments.uniform(0, longest) if killed < kills else None
            status = hosts.run(*command, kill_after=after)
            killed += status is None
            now = tries(journal)
            # What was finished before this host began was neither tried again nor touched.
            assert {cell: now[cell] - then[cell] for cell in done if now[cell] != then[cell]} == {}
            assert {cell: outcome for cell, outcome in finished(run).items() if cell in done} == done
            done, then = finished(run), tries(journal)
        assert status == 0
        assert set(done) == set(finished(whole))
        assert table(run) == table(whole)
        assert gone(run)


def test_a_held_guest_ends_though_its_host_and_the_watchdog_are_killed(bench: Bench, pipe: Pipe) -> None:
    hold = f"import os, signal; held = os.open({str(pipe.path)!r}, os.O_WRONLY); os.write(held, b'x')"
    bench.example("my_example.py", dying(f"{hold}; os.kill(os.getpid(), signal.SIGSTOP)"))
    host = bench.start("--backends", "fake", "--examples", "my_example.py", "--device", "cpu", "--name", "killed")
    try:
        assert pipe.starts()
        for child in psutil.Process(host.pid).children():
            if orphans.__name__ in child.cmdline():
                child.kill()
    finally:
        host.kill()
        host.communicate()
    assert pipe.ended() and gone(bench.results / "killed")


def test_guests_end_with_a_host_that_is_killed_and_so_does_what_they_started(bench: Bench, pipe: Pipe) -> None:
    # A guest that hears nothing and holds the pipe, as does what it started in another session.
    hold = f"import os, signal; held = os.open({str(pipe.path)!r}, os.O_WRONLY)"
    deaf = "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))"
    child = "\n    if os.fork() == 0:\n        os.setsid()\n        os.write(held, b'x')"
    bench.example("my_example.py", dying(f"{hold}; {deaf}{child}\n    while True: signal.pause()"))
    host = bench.start("--backends", "fake", "--examples", "my_example.py", "--device", "cpu", "--name", "killed")
    try:
        assert pipe.starts()
    finally:
        host.kill()
        host.communicate()
    assert pipe.ended()
    assert gone(bench.results / "killed")
