"""Entry point of run.py: hands over to kbench's own environment, or runs the checks. Needs no packages."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

from kbench.bootstrap import host_environment
from kbench.errors import UserError

CHECKOUT = Path(__file__).resolve().parents[2]
LOCKS = CHECKOUT / "requirements"
HANDED_OVER = "KBENCH_HANDED_OVER"  # set for the one exec, so that it can never be a loop
NO_INSTALL = "--no-install"
MOST_TEST_WORKERS = 4  # a worker runs real backends: about 1 GiB each


def main(arguments: list[str]) -> int:
    """Run `arguments` in the environment that they need; returns the exit status."""
    try:
        if sys.platform != "linux":
            raise UserError(f"kbench runs on Linux, and this is {sys.platform}.")
        if arguments[:1] == ["test"]:
            return test(arguments[1:])
        locks = (LOCKS / "host.lock", LOCKS / "test.lock")
        handed_over = os.environ.pop(HANDED_OVER, "")
        if handed_over or any(host_environment.ready(Path(sys.prefix), lock) for lock in locks):
            return _run_here(arguments)
        cache = host_environment.cache_folder()
        python = ensure(LOCKS / "host.lock", cache, "kbench's own environment", "about a minute")
        _hand_over([str(python), str(CHECKOUT / "run.py"), *arguments])
    except UserError as error:
        print(f"kbench: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("kbench: interrupted.", file=sys.stderr)
        return 130


def ensure(lock: Path, cache: Path, purpose: str, duration: str) -> Path:
    """The interpreter of `lock`'s environment, which is created if missing.

    `purpose` and `duration` go into the line on stderr: "kbench's own environment", "about half a minute".
    Raises UserError with pip's reason if it cannot be made.
    """
    folder = host_environment.folder_for(lock, cache)
    if not host_environment.ready(folder, lock):
        from kbench.bootstrap import make_host_environment  # here, because later calls do not need it

        make_host_environment.make(folder, lock, purpose, duration)
    return host_environment.python_of(folder)


def test(arguments: list[str]) -> int:
    """Linters and type checker in turn, pytest beside them. Returns 0, or 1 if one of them failed.

    `--lint` leaves pytest out; any other `arguments` are for pytest, which then runs alone. If the tests of
    report.html are among them, a browser is installed where that is possible, unless `--no-install` is given.
    """
    may_install = NO_INSTALL not in arguments
    arguments = [one for one in arguments if one != NO_INSTALL]
    cache = host_environment.cache_folder()
    python = ensure(LOCKS / "test.lock", cache, "the test environment", "about two minutes")
    if may_install and (not arguments or any("browser" in one for one in arguments)):
        from kbench.bootstrap import browser  # here, because other calls do not need it

        browser.install()
    if failed := _failed(checks(python, arguments)):
        print(f"kbench: failed: {', '.join(failed)}.", file=sys.stderr)
    return 1 if failed else 0


def checks(python: Path, arguments: list[str]) -> dict[str, list[str]]:
    """What `test` runs, by name. Pytest is last: it runs beside the others, and its closing line is the last."""
    pytest = [str(python), "-m", "pytest"]
    environment = python.parents[1]  # so that a fresh clone finds mypy's cache, and pytest's
    mypy = [str(python), "-m", "mypy", "--cache-dir"]
    lint = {
        "ruff check": [str(python), "-m", "ruff", "check"],
        "ruff format": [str(python), "-m", "ruff", "format", "--check"],
        "mypy": [*mypy, str(environment / "mypy_cache")],
        "mypy of the tests": [*mypy, str(environment / "mypy_cache_of_tests"), "--config-file", "tests/mypy.ini"],
        "import-linter": ["env", "PYTHONPATH=kbench/guest", str(python.with_name("lint-imports")), "--no-logo"],
        "lines": [str(python), "tests/lines_by_feature.py"],
    }
    if arguments == ["--lint"]:
        return lint
    if arguments:
        return {"pytest": [*pytest, *arguments]}
    # One more than the cores: many a test waits for a process. With two more, the suite took longer.
    workers = min(len(os.sched_getaffinity(0)) + 1, MOST_TEST_WORKERS)
    color = "yes" if sys.stdout.isatty() else "auto"  # it writes into a pipe
    kept = ("--whole-suite", "-o", f"cache_dir={environment / 'pytest_cache'}")
    return {**lint, "pytest": [*pytest, "--color", color, "-n", str(workers), *kept, "--durations", "20"]}


def _failed(every: dict[str, list[str]]) -> list[str]:
    """Run the checks; returns which failed. The last one runs beside the others, and is shown after them."""
    import subprocess  # here, because most calls do not need it

    # Without bytecode each of the tests' many processes would compile what it imports, and each worker all tests.
    left_out = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    started: dict[str, subprocess.Popen[bytes]] = {}
    failed = []

    def start(name: str, stdout: int | None = None, stderr: int | None = None) -> subprocess.Popen[bytes]:
        started[name] = subprocess.Popen(every[name], cwd=CHECKOUT, env=environment, stdout=stdout, stderr=stderr)
        return started[name]

    try:
        for last in [*every][1:][-1:]:
            start(last, subprocess.PIPE, subprocess.STDOUT)
        for name in every:
            print(f"== {name}", flush=True)
            process = started.get(name) or start(name)
            # What it said meanwhile is in the pipe; where that was full, it has waited.
            while process.stdout and (text := os.read(process.stdout.fileno(), 1 << 16)):
                sys.stdout.buffer.write(text)
                sys.stdout.buffer.flush()
            if process.wait() != 0:
                failed.append(name)
    finally:
        for process in started.values():
            process.kill()  # nothing where it has ended
    return failed


def _run_here(arguments: list[str]) -> int:
    """Run kbench in this interpreter, which has all packages."""
    # PYTHONPATH is for another Python; the variable stays set, for a backend's own Python.
    foreign = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    elsewhere = {CHECKOUT, *(Path(entry).absolute() for entry in foreign if entry)}
    own = [entry for entry in sys.path if Path(entry).absolute() not in elsewhere]
    sys.path[:] = [str(CHECKOUT), *own]
    from kbench.cli.main import main as kbench

    return kbench(arguments)


def _hand_over(command: list[str]) -> NoReturn:
    """Replace this process by `command`."""
    sys.stdout.flush()
    sys.stderr.flush()
    # PYTHONHOME names the standard library of another Python.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONHOME"}
    environment[HANDED_OVER] = "1"
    os.execve(command[0], command, environment)
