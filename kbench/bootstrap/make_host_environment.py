"""Creates kbench's own environment from a lock file, with venv and pip: completely or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import importlib.metadata
import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from kbench.base import trusted
from kbench.base.whole_folders import whole_in_place
from kbench.bootstrap.host_environment import MARKER, digest, python_of, ready
from kbench.errors import UserError

PIP_WITH_PYTHON_OPTION = (22, 3)
LONGEST_REASON = 300  # characters
SILENT_SECONDS = 30.0  # between two lines where there is no terminal


def make(folder: Path, lock: Path, purpose: str, duration: str) -> None:
    """Create the environment of `lock` in `folder`, unless another process just did.

    Raises UserError if it cannot be made.
    """
    try:
        folder.parents[1].mkdir(trusted.OWN, parents=True, exist_ok=True)
        folder.parent.mkdir(exist_ok=True)
        with _locked(folder.with_suffix(".lock"), purpose) as held:
            if not ready(folder, lock):
                with _interrupts(signal.SIG_BLOCK):
                    _make(folder, lock, purpose, duration, held)
    except OSError as error:
        raise UserError(
            f"{purpose} cannot be made in {folder} ({error.strerror or error}): "
            "give another folder with the environment variable KBENCH_CACHE."
        ) from error


def _make(folder: Path, lock: Path, purpose: str, duration: str, held: IO[bytes]) -> None:
    """Create the environment in `folder`; leaves nothing there if that fails or is interrupted."""
    print(f"Setting up {purpose} in {folder} (once, {duration}) ...", file=sys.stderr, flush=True)
    start = time.monotonic()
    log = folder.with_suffix(".log")
    with whole_in_place(folder):
        for command in commands(folder, lock):
            _run(command, log, purpose, held)
        (folder / MARKER).write_text(digest(lock), encoding="ascii")
    log.unlink(missing_ok=True)
    print(f"Done in {time.monotonic() - start:.0f} s.", file=sys.stderr, flush=True)


def commands(folder: Path, lock: Path) -> tuple[list[str], list[str]]:
    """The two commands: create the environment, install into it."""
    # -I: no PYTHONPATH or user site, because pip would treat their packages as installed.
    create = [sys.executable, "-I", "-m", "venv", str(folder)]
    pip = [str(python_of(folder)), "-I", "-m", "pip"]
    if importlib.util.find_spec("ensurepip") is None:  # Debian and Ubuntu keep it in a package of its own
        if _pip_version() < PIP_WITH_PYTHON_OPTION:
            version = f"{sys.version_info.major}.{sys.version_info.minor}"
            raise UserError(
                f"this Python cannot make environments (it has no ensurepip): install python{version}-venv, "
                f"on Debian and Ubuntu with `sudo apt install python{version}-venv`, and start again."
            )
        create.append("--without-pip")
        pip = [sys.executable, "-I", "-m", "pip", "--python", str(python_of(folder))]
    options = ["--quiet", "--no-input", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:"]
    return create, [*pip, "install", *options, "--require-hashes", "-r", str(lock)]


def _pip_version() -> tuple[int, ...]:
    """The running Python's pip, as (major, minor); (0,) if it has none."""
    try:
        return tuple(int(part) for part in importlib.metadata.version("pip").split(".")[:2])
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return (0,)


def _run(command: list[str], log: Path, purpose: str, held: IO[bytes]) -> None:
    """Run one command with its output in `log`; raises UserError with the reason if it fails."""
    # PIP_USER=0: a `user = true` in the user's pip configuration is an error inside an environment.
    # The child inherits the file lock: if this process is killed, the folder stays locked until the child ends.
    # It leads a group, because venv starts a pip: what ends one must end both.
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PIP_USER": "0"},
            pass_fds=(held.fileno(),),
            process_group=0,
        ) as process,
    ):
        _wait(process)
    if process.returncode:
        reason = essence(log.read_text(encoding="utf-8", errors="replace"))
        raise UserError(f"{purpose} could not be made: {reason} (all of it is in {log}).")


def _wait(process: subprocess.Popen[bytes]) -> None:
    """Wait for its end, with a line that moves on a terminal, and elsewhere one every half minute."""
    start, moves = time.monotonic(), sys.stderr.isatty()
    said = start
    try:
        with _interrupts(signal.SIG_UNBLOCK):
            while True:
                try:
                    process.wait(1.0)
                    return
                except subprocess.TimeoutExpired:
                    now = time.monotonic()
                    text = f"  {_written(process.pid) >> 20} MiB written, {now - start:.0f} s"
                    if moves:
                        print(f"\r{text}", end="", file=sys.stderr, flush=True)
                    elif now - said >= SILENT_SECONDS:
                        said = now
                        print(text, file=sys.stderr, flush=True)
    except BaseException:
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            os.killpg(process.pid, signal.SIGKILL)
        raise
    finally:
        if moves:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


@contextlib.contextmanager
def _interrupts(how: int) -> Iterator[None]:
    """Ctrl-C waits (SIG_BLOCK) or comes through (SIG_UNBLOCK) in the block: no process starts that nobody ends."""
    usual = signal.pthread_sigmask(how, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, usual)


def _written(pid: int) -> int:
    """The bytes that the process has written so far: packages, and what is unpacked of them."""
    try:
        counts = Path(f"/proc/{pid}/io").read_text(encoding="ascii")
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in counts.splitlines() if line.startswith("wchar:")), 0)


def essence(output: str) -> str:
    """Why pip or venv failed: the most helpful line of its output, without a full stop."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    broken = [line.partition("connection broken by ")[2] for line in lines if "connection broken by " in line]
    if broken and (not errors or "Could not find a version" in errors[0]):
        system = re.search(r"\[Errno -?\d+\] [^'\"]+", broken[-1])
        reason = system.group() if system else broken[-1][:LONGEST_REASON]
        return f"pip reached no package index ({reason}): check the network and `pip config list`"
    return (errors[:1] or lines[-1:] or ["no reason was given"])[0][:LONGEST_REASON]


@contextlib.contextmanager
def _locked(path: Path, purpose: str) -> Iterator[IO[bytes]]:
    """Hold the file lock `path`, and print a message if another process has it."""
    with path.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"Waiting for another process to set up {purpose} ...", file=sys.stderr, flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file  # closing the file, here or in the last child that inherited it, frees the lock
