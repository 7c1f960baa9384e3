"""The host is killed at any moment: nothing finished is lost or done twice, nothing is missing, nothing goes on."""

from __future__ import annotations

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
from fake_bench import CHECKOUT, EXAMPLE, Bench

from kbench import leftovers

KILLS = 100
EXAMPLES = [f"e{number}.py" for number in range(5)]
REPEATS = 10
CELLS = len(EXAMPLES) * REPEATS
SHARE = 0.06  # of the time that a whole run takes, after which a host is killed at the latest
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

    def run(self, *argv: str, kill_after: float | None = None) -> int | None:
        """The exit status, or None where it was killed after so many seconds."""
        assert self._zygote.stdin and self._zygote.stdout
        self._zygote.stdin.write(json.dumps(argv) + "\n")
        self._zygote.stdin.flush()
        host = int(self._zygote.stdout.readline().split()[1])
        if kill_after is not None and not select.select([self._zygote.stdout], [], [], kill_after)[0]:
            os.kill(host, signal.SIGKILL)
        status = int(self._zygote.stdout.readline().split()[1])
        return None if status == -signal.SIGKILL else status

    def close(self) -> None:
        assert self._zygote.stdin and self._zygote.stdout
        self._zygote.stdin.close()
        self._zygote.wait()
        self._zygote.stdout.close()


@pytest.fixture
def hosts(bench: Bench) -> Iterator[Hosts]:
    bench.measure()  # makes the environment
    made = Hosts()
    yield made
    made.close()


def prepare(bench: Bench) -> Path:
    """Examples whose tries can be counted; returns the journal of the tries."""
    journal = bench.folder / "journal"
    journal.touch()
    for name in EXAMPLES:
        # The stub runs the whole example, whose imports it has not got: they are left out.
        code = EXAMPLE.replace("from keras.layers import Dense, Flatten\nfrom keras.models import Sequential\n", "")
        bench.example(name, code + TRY.format(journal=str(journal)))
    return journal


def asked(name: str) -> list[str]:
    options = ["--profile", "smoke", "--device", "cpu", "--repeats", str(REPEATS), "--name", name]
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
    found = leftovers.find(f"{run.resolve()}|")
    _, alive = psutil.wait_procs(found, timeout=20)
    return not alive and not leftovers.find(f"{run.resolve()}|")


def test_a_host_killed_a_hundred_times_loses_nothing_and_leaves_nothing(bench: Bench, hosts: Hosts) -> None:
    journal = prepare(bench)
    start = time.monotonic()
    assert hosts.run(*asked("whole")) == 0
    longest = SHARE * (time.monotonic() - start)
    whole = bench.results / "whole"
    assert len(finished(whole)) == CELLS
    moments = random.Random(20261121)
    killed, runs = 0, 0
    while killed < KILLS:
        runs += 1
        run = bench.results / f"run{runs}"
        before = tries(journal)
        done: dict[str, tuple[int, bytes]] = {}
        then = before
        status = None
        while status is None:
            command = ["resume", run.name] if (run / "run.json").exists() else asked(run.name)
            if not (run / "run.json").exists() and run.exists():
                run.rmdir()  # it was killed before there was anything to go on with
            after = moments.uniform(0, longest) if killed < KILLS else None
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


def test_guests_end_with_a_host_that_is_killed_and_so_does_what_they_started(bench: Bench, hosts: Hosts) -> None:
    journal = prepare(bench)
    hang = "\n__import__('signal').pthread_sigmask(0, range(1, 32))\nwhile True: pass\n"
    bench.example("e0.py", (bench.folder / "e0.py").read_text() + hang)
    seconds = 0.5
    while not journal.read_text():
        hosts.run(*asked(f"killed{time.monotonic_ns()}"), kill_after=seconds)
        seconds *= 2  # on a busy machine a guest takes long to start
        assert seconds < 120
    for run in bench.results.glob("killed*"):
        assert gone(run)
