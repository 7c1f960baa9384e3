"""A guest's process: its output goes to a log, and it ends, with all that it started, when it has to."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from named_pipe import Pipe

from kbench.cells import launcher
from kbench.cells.launcher import Exit, launch, run_to_completion

FOREVER = "import signal; signal.pause()"
# A process that holds the pipe open: who reads the pipe sees its end once no such process is left.
HOLDER = "import os, signal; os.write(os.open('pipe', os.O_WRONLY), b'x'); signal.pause()"
WITH_GRANDCHILD = (
    f"import subprocess, sys, signal; subprocess.Popen([sys.executable, '-c', {HOLDER!r}]); signal.pause()"
)


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Pipe]:
    made = Pipe(tmp_path)
    yield made
    made.close()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher, "POLL_SECONDS", 0.01)


def run(
    code: str, folder: Path, timeout: float = 60.0, watch: Callable[[], None] = lambda: None, **variables: str
) -> Exit:
    return run_to_completion(
        launch(
            [sys.executable, "-c", code],
            variables=variables,
            folder=folder,
            log=folder / "log.txt",
            timeout=timeout,
            watch=watch,
        )
    )


def log(folder: Path) -> str:
    return (folder / "log.txt").read_text()


def test_stdout_and_stderr_go_to_the_log_whole_and_after_what_stood_there(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("before\n")
    code = "import os; os.write(1, b'out\\n'); os.write(2, b'err\\n')"
    assert run(code, tmp_path).code == 0
    assert log(tmp_path) == "before\nout\nerr\n"


def test_a_guest_has_just_the_given_variables_a_folder_and_no_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "hunter2")
    code = "import os, sys; print(os.getcwd(), os.environ.get('SECRET'), os.environ['GIVEN'], repr(sys.stdin.read()))"
    assert run(code, tmp_path, GIVEN="this").code == 0
    assert log(tmp_path) == f"{tmp_path.resolve()} None this ''\n"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("", 0),
        ("raise SystemExit(7)", 7),
        ("raise ValueError", 1),
        ("import os; os._exit(3)", 3),
        ("import os; os.abort()", -6),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", -11),
    ],
)
def test_the_code_says_how_a_guest_ended(tmp_path: Path, code: str, expected: int) -> None:
    ended = run(code, tmp_path)
    assert (ended.code, ended.timed_out) == (expected, False)
    assert ended.seconds > 0


def test_what_cannot_be_started_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        run_to_completion(
            launch(
                ["no/such/python"],
                variables={},
                folder=tmp_path,
                log=tmp_path / "log.txt",
                timeout=1,
                watch=lambda: None,
            )
        )


def test_an_interrupt_ends_the_guest_and_what_it_started(tmp_path: Path, pipe: Pipe) -> None:
    def interrupt_once_both_run() -> None:
        if pipe.started():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(WITH_GRANDCHILD, tmp_path, watch=interrupt_once_both_run)
    assert pipe.ended()


def test_the_host_looks_now_and_then_while_a_guest_runs(tmp_path: Path) -> None:
    looks: list[int] = []

    def watch() -> None:
        looks.append(1)
        if len(looks) == 3:
            (tmp_path / "go").touch()

    assert run("import os\nwhile not os.path.exists('go'): pass", tmp_path, watch=watch).code == 0
    assert len(looks) >= 3


def test_memory_is_that_of_the_process_and_all_below_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher, "MEMORY_SECONDS", 0.0)
    # Holds 64 MiB until it is told that it was looked at.
    hold = "x = bytearray(64 << 20); x[::4096] = b'1' * len(x[::4096]); open('held', 'w'); "
    hold += "wait = __import__('os').path.exists\nwhile not wait('seen'): pass"
    looks = iter(range(10**6))
    since: list[int] = []

    def watch() -> None:
        number = next(looks)
        if (tmp_path / "held").exists():
            since.append(number)
        if len(since) > 2:
            (tmp_path / "seen").touch()

    alone = run(hold, tmp_path, watch=watch).peak_memory_mib
    for name in ("held", "seen"):
        (tmp_path / name).unlink()
    since.clear()
    below = "x = bytearray(64 << 20); x[::4096] = b'1' * len(x[::4096])\nimport subprocess, sys\n"
    both = run(f"{below}subprocess.run([sys.executable, '-c', {hold!r}])", tmp_path, watch=watch).peak_memory_mib
    assert alone is not None and both is not None
    assert 64 < alone < 128 < both < 400


def test_memory_over_time_is_a_point_a_second_and_of_long_runs_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = launcher.MemoryWatch([os.getpid()], 0.0)
    for seconds in (0.0, 0.4, 1.1, 1.2, 1.2, 2.2):  # it was held after 1.2
        memory.sample(seconds)
    assert [at for at, _ in memory.points] == [0.0, 1.1, 2.2]
    assert all(1 < mib < 10_000 for _, mib in memory.points)
    monkeypatch.setattr(launcher, "MOST_POINTS", 6)
    for second in range(4, 40):
        memory.sample(float(second))
    times = [at for at, _ in memory.points]
    assert len(times) <= 6 and times[0] == 0.0 and times[-1] > 30.0
    gaps = [two - one for one, two in itertools.pairwise(times)]
    assert max(gaps) <= 2 * min(gaps), "evenly"


def test_time_in_which_the_host_was_stopped_itself_is_no_time_of_the_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(launcher, "time", clock)
    looks = iter((0.0, 0.0, 901.0))

    def watch() -> None:
        clock.now += next(looks)

    command = [sys.executable, "-c", FOREVER]
    running = launch(command, variables={}, folder=tmp_path, log=tmp_path / "log.txt", timeout=900.0, watch=watch)
    next(running)
    clock.now += 10_000.0  # SIGSTOP, and SIGCONT
    next(running)
    next(running)  # it looks again, and the time is over
    with pytest.raises(StopIteration) as end:
        next(running)
    assert end.value.value.timed_out and 901.0 <= end.value.value.seconds < 901.5


def test_a_kill_is_for_want_of_memory_if_the_kernel_says_so_or_it_held_nearly_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill = "import os; x = bytearray(64 << 20); open('held', 'w')\n"
    kill += "while not os.path.exists('go'): pass\nos.kill(os.getpid(), 9)"

    def short(kills: list[int], available: float) -> bool:
        monkeypatch.setattr(launcher.host, "oom_kills", lambda: kills.pop(0))
        monkeypatch.setattr(launcher.host, "available_mib", lambda: available)
        monkeypatch.setattr(launcher, "MEMORY_SECONDS", 0.0)
        for name in ("held", "go"):
            (tmp_path / name).unlink(missing_ok=True)
        looks = itertools.count()

        def watch() -> None:
            if (tmp_path / "held").exists() and next(looks) > 2:  # its memory has been read while it held it
                (tmp_path / "go").touch()

        ended = run(kill, tmp_path, watch=watch)
        assert ended.code == -9
        return ended.memory_short

    assert not short([3, 3], 1e6)
    assert short([3, 4], 1e6)
    assert short([3, 3], 70.0)


def test_a_crash_leaves_no_core_file_with_all_that_was_in_memory(tmp_path: Path) -> None:
    program = (
        "import resource, time\n"
        "for _ in range(1000):\n"  # it is set just after the start
        "    limit = resource.getrlimit(resource.RLIMIT_CORE)\n"
        "    if limit == (0, 0): break\n"
        "    time.sleep(0.01)\n"
        "print(limit)"
    )
    assert run(program, tmp_path).code == 0
    assert log(tmp_path) == "(0, 0)\n"


class Clock:
    """The launcher's clock, which only the test moves."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now
