"""Runs uv, the C compiler, py-rattler and what features install with. All of their output goes to a log."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path

import uv

from kbench import hooks
from kbench.base.masking import without_passwords
from kbench.base.whole_folders import whole
from kbench.environments.pip_config import uv_variables

LOOK_SECONDS = 0.5
_WATCH: ContextVar[Callable[[int], None]] = ContextVar("watch", default=lambda pid: None)


class InstallFailed(Exception):
    """An installer failed. The text is the essential line of its output; unreachable: whether no index answered."""

    unreachable = False


def uv_program() -> str:
    """The uv that is installed with kbench."""
    return os.fsdecode(uv.find_uv_bin())


def uv_environment() -> dict[str, str]:
    """The environment variables for uv: the user's, and pip's settings in uv's names."""
    environ = {name: value for name, value in os.environ.items() if name not in NOT_FOR_INSTALLERS}
    return {**environ, **uv_variables(environ)}


def sync(python: Path, lock: Path, indexes: Sequence[str], log: Path, timeout: float) -> None:
    """Installs exactly the packages of `lock`, checked by hash, for `python`; raises InstallFailed.

    If that fails, it tries again with the further `indexes` and without uv's cache, which may be damaged.
    `timeout` is in seconds.
    """
    command = ["sync", "--require-hashes", "--python", str(python), str(lock)]
    try:
        uv_pip(command, log, lock.parent, timeout)
        if damaged := hooks.changed_files(python.parents[1], thorough=True):
            raise InstallFailed(f"{damaged[0]} is not as its package has it")
    except InstallFailed as failure:
        if "No space left" in str(failure):
            raise
        for packages in python.parents[1].glob("lib/python*/site-packages"):
            shutil.rmtree(packages)  # a damaged one may not be uninstalled
            packages.mkdir()
        uv_pip([*command, "--no-cache"], log, lock.parent, timeout, indexes)


def uv_pip(command: Sequence[str], log: Path, cwd: Path, timeout: float, indexes: Sequence[str] = ()) -> None:
    """Runs `uv pip` with the user's indexes and the further `indexes`; raises InstallFailed."""
    environ, offline = uv_environment(), list[str]()
    if environ.pop("UV_NO_INDEX", ""):  # pip's no-index; uv has an option for it and no variable
        offline = ["--no-index"]
    elif indexes:
        environ["UV_INDEX"] = " ".join([environ.get("UV_INDEX", ""), *indexes]).strip()
    run([uv_program(), "pip", *command, *offline], log, environ, cwd, timeout)


def tools(lock: Path, parent: Path, log: Path, timeout: float) -> Path:
    """A folder below `parent` with the packages of `lock`, checked by hash; created if missing.

    Raises InstallFailed.
    """
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()[:12]
    folder = parent / f"{lock.stem}-{digest}"
    if not folder.is_dir():
        with whole(folder) as making:
            command = [
                uv_program(), "pip", "install", "--quiet", "--require-hashes", "--target", str(making),
                "--python", sys.executable, "--requirements", str(lock),
            ]  # fmt: skip
            run(command, log, uv_environment(), parent, timeout)
    return folder


def run(command: Sequence[str], log: Path, environ: Mapping[str, str], cwd: Path, timeout: float) -> str:
    """Runs an installer, appends its output to `log` and returns it; raises InstallFailed with the essence.

    `timeout` is in seconds. Passwords in addresses are left out of the output.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    code: int | None = None
    try:
        with subprocess.Popen(
            list(command),
            cwd=cwd,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            preexec_fn=_ends_with_this_process(),
        ) as process:
            try:
                output, code = _output(process, time.monotonic() + timeout), process.returncode
            except subprocess.TimeoutExpired:
                process.kill()
                output = f"{process.communicate()[0]}\n{Path(command[0]).name} did not end within {timeout:.0f} s"
            except BaseException:
                process.kill()
                raise
    except OSError as error:
        output = f"{command[0]} could not be started: {error.strerror}"
    output = without_passwords(output)
    with log.open("a", encoding="utf-8", errors="backslashreplace") as file:  # a path may be no text
        file.write(f"$ {' '.join(command)}\n{output.rstrip()}\n[exit status {code}]\n")
    if code != 0:
        address = _unreachable(output)
        failure = InstallFailed(
            f"{address} cannot be reached: {essence(output).rpartition(': ')[2]}"
            if address
            else essence(output) or f"{Path(command[0]).name} ended with status {code}"
        )
        failure.unreachable = bool(address)
        raise failure
    return output


@contextlib.contextmanager
def watched(look: Callable[[int], None]) -> Iterator[None]:
    """Meanwhile, `look` is called a few times a second with the process id of the installer that runs."""
    before = _WATCH.set(look)
    try:
        yield
    finally:
        _WATCH.reset(before)


def _output(process: subprocess.Popen[str], until: float) -> str:
    """The output of the process up to its end. Raises TimeoutExpired after `until` on the clock."""
    while True:
        try:
            return process.communicate(timeout=min(LOOK_SECONDS, max(0.0, until - time.monotonic())))[0]
        except subprocess.TimeoutExpired:  # which loses nothing
            if time.monotonic() >= until:
                raise
            _WATCH.get()(process.pid)


def _ends_with_this_process() -> Callable[[], None]:
    """A preexec_fn that ends the child when this process is killed, so that it cannot disturb the next attempt."""
    prctl, host = ctypes.CDLL(None).prctl, os.getpid()  # loaded here: between fork and exec little is allowed

    def ask() -> None:
        prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() != host:  # it was killed meanwhile
            os.kill(os.getpid(), signal.SIGKILL)

    return ask


def essence(output: str) -> str:
    """One line from an installer's output: what failed, and the innermost cause that uv names."""
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", output).splitlines() if line.strip()]
    parts: list[str] = []
    for text in lines:
        if marked := re.match(r"(?:\u00d7|error:|├─▶|╰─▶|Caused by:|cause:)\s*(.*)", text, re.IGNORECASE):
            parts.append(marked[1])
        elif parts and not re.match(r"(?:hint|help|warning)\b", text):
            parts[-1] += " " + text.lstrip("│ ")
    if not parts:
        return lines[-1][:300] if lines else ""
    conflicts = re.findall(r"Because (\S+ depends on \S+) and (\S+==\S+), we can", re.sub(r"\{.*?\}", "", parts[-1]))
    cause = f"{conflicts[-1][0]}, but {conflicts[-1][1]} is installed" if conflicts else parts[-1]
    text = parts[0] if len(parts) == 1 else f"{parts[0].rstrip('. :')}: {cause}"
    return text.rstrip(". ")[:300]


def _unreachable(output: str) -> str:
    """The address in uv's output to which no connection could be made; empty if that was not why it failed."""
    connects = re.search(r"client error \(Connect\)|dns error|connection refused|timed out", output, re.IGNORECASE)
    address = re.search(r"Failed to fetch:? `?(https?://[^\s`]+)", output)
    return address[1] if connects and address else ""


# These would point uv and Python at another environment than the one being created.
NOT_FOR_INSTALLERS = frozenset(
    ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "UV_PYTHON", "UV_SYSTEM_PYTHON", "UV_PROJECT_ENVIRONMENT")
)
