"""Starts the programs that install: uv, the C compiler, conda. Their output goes to a log, whole."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from kbench.environments.pip_config import uv_variables
from kbench.errors import Unavailable


class InstallFailed(Exception):
    """An installing program ended with an error. Its text is the essence of what it said."""


def uv_program() -> str:
    """The uv to use: the one installed with kbench, else the one on PATH. Raises Unavailable."""
    try:
        import uv

        return os.fsdecode(uv.find_uv_bin())
    except (ImportError, FileNotFoundError):
        found = shutil.which("uv")
    if found is None:
        raise Unavailable("uv, which installs the backends, was not found: install it (pip install uv)")
    return found


def uv_environment(indexes: Sequence[str] = ()) -> dict[str, str]:
    """The environment for uv: the user's, with pip's settings, and `indexes` after the user's own."""
    environ = {name: value for name, value in os.environ.items() if name not in NOT_FOR_INSTALLERS}
    environ.update(uv_variables(environ))
    if indexes:
        environ["UV_INDEX"] = " ".join([environ.get("UV_INDEX", ""), *indexes]).strip()
    return environ


def sync(python: Path, lock: Path, indexes: Sequence[str], log: Path, timeout: float) -> None:
    """Makes the environment of `python` hold exactly what `lock` says, by hash; raises InstallFailed.

    `indexes` are tried only where the user's own have not got all of it. `timeout` is in seconds.
    """
    command = [uv_program(), "pip", "sync", "--require-hashes", "--python", str(python), str(lock)]
    environ = uv_environment()
    if environ.pop("UV_NO_INDEX", ""):  # pip's no-index; uv has an option for it and no variable
        command.append("--no-index")
    try:
        _without_damage(command, log, environ, lock.parent, timeout)
    except InstallFailed as first:
        if not indexes or "--no-index" in command or "No space left" in str(first):
            raise
        run(command, log, uv_environment(indexes), lock.parent, timeout)


def _without_damage(command: Sequence[str], log: Path, environ: Mapping[str, str], cwd: Path, timeout: float) -> None:
    """Runs uv; what is damaged in its own cache, at which it does not look again, is fetched anew, once each."""
    cleaned: set[str] = set()
    while True:
        try:
            run(command, log, environ, cwd, timeout)
            return
        except InstallFailed as failure:
            found = DAMAGED.search(str(failure))
            package = (found[1] or found[2]) if found else ""
            if not package or package in cleaned or "No space left" in str(failure):
                raise
        run([uv_program(), "cache", "clean", package], log, environ, cwd, timeout)
        cleaned.add(package)


def run(command: Sequence[str], log: Path, environ: Mapping[str, str], cwd: Path, timeout: float) -> str:
    """Runs an installer, appends all it says to `log` and returns it; raises InstallFailed with the essence.

    `timeout` is in seconds. Passwords in addresses are left out of what it said.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(
            list(command),
            cwd=cwd,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
            preexec_fn=_ends_with_this_process(),
        )
        said, code = done.stdout, done.returncode
    except OSError as error:
        said, code = f"{command[0]} could not be started: {error.strerror}", None
    except subprocess.TimeoutExpired as error:
        partial = error.stdout or b""
        said = partial if isinstance(partial, str) else partial.decode("utf-8", "replace")
        said, code = f"{said}\n{Path(command[0]).name} did not end within {timeout:.0f} s", None
    said = re.sub(r"(://)[^/\s@]+@", r"\1***@", said)
    with log.open("a", encoding="utf-8") as file:
        file.write(f"$ {' '.join(command)}\n{said.rstrip()}\n[exit status {code}]\n")
    if code != 0:
        raise InstallFailed(essence(said) or f"{Path(command[0]).name} ended with status {code}")
    return said


def _ends_with_this_process() -> Callable[[], None] | None:
    """What makes a child end when this process is killed, so that it does not write on where the next one begins.

    Only Linux knows how, the one system that environments are made on.
    """
    if sys.platform != "linux":
        return None
    prctl, host = ctypes.CDLL(None).prctl, os.getpid()  # loaded here: between fork and exec little is allowed

    def ask() -> None:
        prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() != host:  # it was killed meanwhile
            os.kill(os.getpid(), signal.SIGKILL)

    return ask


def essence(said: str) -> str:
    """One line from an installer's output: what failed and the innermost cause, of uv's tree of causes."""
    lines = [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", said).splitlines() if line.strip()]
    parts: list[str] = []
    for line in lines:
        text = line.strip()
        marked = re.match(r"(?:\u00d7|error:|├─▶|╰─▶|Caused by:|cause:)\s*(.*)", text, re.IGNORECASE)
        if marked:
            parts.append(marked[1])
        elif parts and not re.match(r"(?:hint|help|warning)\b", text):
            parts[-1] += " " + text.lstrip("│ ")
    if not parts:
        return lines[-1].strip()[:300] if lines else ""
    told = parts[0] if len(parts) == 1 else f"{parts[0].rstrip('. :')}: {parts[-1]}"
    return told.rstrip(". ")[:300]


# What uv says of a package that is damaged in its cache.
DAMAGED = re.compile(r"Failed to install: .*\(([\w.-]+)==|Failed to download `([\w.-]+)==[^`]*`: invalid")

# They would point uv, conda and the Pythons at another environment than the one that is being made.
NOT_FOR_INSTALLERS = frozenset(
    ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "UV_PYTHON", "UV_SYSTEM_PYTHON", "UV_PROJECT_ENVIRONMENT")
)
