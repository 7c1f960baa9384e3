"""Finds a Python for a backend: the user's choice, on PATH, from pyenv or conda; or else installs one."""

from __future__ import annotations

import functools
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import filelock

from kbench.base import paths
from kbench.base.whole_folders import whole_in_place
from kbench.environments import installers
from kbench.errors import Unavailable, UserError
from kbench.records.values import IN_FULL, Backend, bare

AS_IS = ",as-is"
PROBE_SECONDS = 30  # a Python on a cold network folder takes its time
MAKE_SECONDS = 900
RATTLER = Path(__file__).with_name("rattler.lock")
CHANNEL, DEFAULT_CHANNEL = "KBENCH_CHANNEL", "conda-forge"

# Runs on every Python 3; prints one line of JSON. conda's Python reports no shared library
# (LDLIBRARY) and ships it nevertheless: so the file itself is looked for.
PROBE = """
import glob, json, os, sys, sysconfig
name = "libpython%d.%d%s.so*" % (sys.version_info[0], sys.version_info[1], getattr(sys, "abiflags", ""))
value = sysconfig.get_config_var
folders = [value("LIBDIR"), os.path.join(sys.base_prefix, "lib")]
folders += [os.path.join(f, value("MULTIARCH")) for f in folders[:1] if f and value("MULTIARCH")]
found = [f for f in folders if f and glob.glob(os.path.join(f, name))]
print(json.dumps({"version": "%d.%d.%d" % sys.version_info[:3],
    "prefix": sys.prefix, "library_folder": found[0] if found else ""}))
"""


@dataclass(frozen=True)
class Interpreter:
    """A Python that starts."""

    path: Path
    version: str  # "3.6.15"
    prefix: Path  # of its environment
    library_folder: Path | None  # of its shared libpython; None if it has none

    @property
    def minor(self) -> str:
        """`3.6` of `3.6.15`."""
        return ".".join(self.version.split(".")[:2])


@dataclass(frozen=True)
class Choice:
    """The choice of `--python`: create an environment from this Python, or use it as it is."""

    path: Path
    as_is: bool


def parse_python_option(text: str, backends: Mapping[str, Backend]) -> tuple[tuple[str, ...], Choice]:
    """The backends and the choice of `keras2/name=/path/to/python` or `...=/path/to/python,as-is`.

    The name is a backend's full name, a bare one that only one generation has, a generation, or `all`; the
    path is a Python or the folder of an environment. Raises UserError.
    """
    name, separator, rest = (part.strip() for part in text.partition("="))
    as_is = rest.endswith(AS_IS)
    rest = rest.removesuffix(AS_IS).strip()
    if not separator or not name or not rest:
        raise UserError(
            f"--python {text!r} is not of the form keras2/name=/path/to/python or ...=/path/to/python,as-is"
        )
    names = tuple(
        full
        for full, one in backends.items()
        if name in (full, one.generation, bare(full)) or (name == "all" and one.kind not in IN_FULL)
    )
    if not names:
        raise UserError(f"--python names an unknown backend, {name}: known are {', '.join(backends)}")
    if len(names) > 1 and name not in ("all", *(one.generation for one in backends.values())):
        raise UserError(f"--python {name}=... could mean {' or '.join(names)}: give the full name")
    on_path = None if os.sep in rest or os.path.exists(rest) else shutil.which(rest)  # noqa: PTH110
    path = Path(on_path) if on_path else paths.with_home(rest).absolute()
    if path.is_dir():
        path = path / "bin" / "python"
    if not path.is_file():
        also = "" if os.sep in rest else f", nor on PATH a {rest}"
        raise UserError(f"--python {text!r}: there is no Python at {path}{also}")
    return names, Choice(path, as_is)


def find(
    backend: Backend,
    *,
    explicit: Path | None = None,
    cache: Path,
    report: Callable[[str], None],
) -> Interpreter:
    """A Python of a version that the backend can use, with a shared libpython if it needs one.

    One on the machine is preferred. Otherwise uv installs one under `cache`, or py-rattler does from conda packages.
    Raises UserError if the explicit one does not fit, Unavailable if there is none.
    """
    if explicit is not None:
        return fitting(backend, explicit)
    found, unfit = _search(backend, cache)
    why = ""
    for version, make in itertools.product(backend.python, (_from_uv, _from_channel)):
        if found is not None:
            return found
        try:
            make(version, cache, report)
            found, unfit = _search(backend, cache)
            why = "it does not start"
        except (installers.InstallFailed, OSError) as failure:
            why = str(failure)
    if found is None:
        instead = f"{unfit}, and {channel()} gave none that works ({why}): name another channel in KBENCH_CHANNEL,"
        raise Unavailable(_not_found(backend, instead))
    return found


def at_hand(backend: Backend, cache: Path, explicit: Path | None = None) -> Interpreter:
    """Like `find`, but installs nothing: raises Unavailable even if a Python could be installed."""
    if explicit is not None:
        return fitting(backend, explicit)
    found, unfit = _search(backend, cache)
    if found is None:
        instead = f"{unfit}: the first run tries to make it from {channel()}; or"
        raise Unavailable(_not_found(backend, instead))
    return found


def _search(backend: Backend, cache: Path) -> tuple[Interpreter | None, str]:
    """(the Python or None, why the ones found do not fit)."""
    unfit = ""
    for version in backend.python:
        for path in _candidates(version, cache):
            found = probe_once(path) if os.access(path, os.X_OK) else None
            if found is not None and found.minor == version:
                fault = _fault(found, backend)
                if not fault:
                    return found, ""
                unfit = unfit or f" (the one at {path} {fault})"
    return None, unfit


def probe(path: Path) -> Interpreter | None:
    """What the Python at `path` reports about itself; None if it does not start."""
    try:
        done = subprocess.run(
            [str(path), "-I", "-c", PROBE],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PROBE_SECONDS,
            cwd="/",  # in a folder that was removed, pyenv's scripts look for its parent for ever
        )
        reported = json.loads(done.stdout)
        folder = reported["library_folder"]
        return Interpreter(path, reported["version"], Path(reported["prefix"]), Path(folder) if folder else None)
    except (OSError, ValueError, KeyError, TypeError, subprocess.SubprocessError):
        return None


def probe_once(path: Path) -> Interpreter | None:
    """The same, as it was reported first in this process: most backends look at the same few Pythons."""
    return _probed(path, path.stat().st_mtime_ns)


@functools.cache
def _probed(path: Path, changed: int) -> Interpreter | None:
    return probe(path)


def fitting(backend: Backend, path: Path) -> Interpreter:
    """The Python that the user named for it. Raises UserError if it does not fit."""
    found = probe(path)
    if found is None:
        raise UserError(f"the Python named for {backend.name}, {path}, does not start")
    if found.minor not in backend.python:
        raise UserError(
            f"{backend.name} needs Python {' or '.join(backend.python)}, and {path} is {found.version}: name "
            "another one with --python"
        )
    if fault := _fault(found, backend):
        raise UserError(f"the Python named for {backend.name}, {path}, {fault}: name another one with --python")
    return found


def _fault(found: Interpreter, backend: Backend) -> str:
    if backend.shared_libpython and found.library_folder is None:
        return "has no shared libpython, which this backend needs"
    return ""


def _candidates(version: str, cache: Path) -> Iterator[Path]:
    """Paths where a Python of this version may be, likeliest first."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    made = cache / "interpreters"
    folders = [Path(sys.base_prefix) / "bin", *map(Path, filter(None, os.environ.get("PATH", "").split(os.pathsep)))]
    folders += [one / "bin" for one in sorted(pyenv.glob(f"versions/{version}.*"), key=_patch, reverse=True)]
    folders += [Path(one) / "bin" for one in filter(None, [os.environ.get("CONDA_PREFIX")])]
    folders += [*made.glob(f"uv/cpython-{version}.*/bin"), *(one.parent / "bin" for one in made.glob("*/complete"))]
    return (folder / f"python{version}" for folder in folders)


def _patch(folder: Path) -> int:
    """9 of `3.6.9`: as a number, so that 3.6.15 is newer."""
    number = re.fullmatch(r"\d+\.\d+\.(\d+)", folder.name)
    return int(number[1]) if number else -1


def _from_uv(version: str, cache: Path, report: Callable[[str], None]) -> None:
    """Have uv install a Python in `cache`. Raises InstallFailed, OSError."""
    folder = cache / "interpreters" / "uv"
    environ = {**installers.uv_environment(), "UV_PYTHON_INSTALL_DIR": str(folder), "UV_PYTHON_INSTALL_BIN": "0"}
    report(f"Python {version} is not on this machine: asking uv for it")
    folder.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(folder.with_suffix(".lock")):
        command = [installers.uv_program(), "python", "install", version]
        installers.run(command, folder.with_suffix(".log"), environ, folder, MAKE_SECONDS)


def _from_channel(version: str, cache: Path, report: Callable[[str], None]) -> None:
    """Have py-rattler install a Python in `cache` from conda packages. Raises InstallFailed, OSError."""
    folder = cache / "interpreters" / f"py{version}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(folder.with_name(f"{folder.name}.lock")):
        if (folder / "complete").is_file():  # another kbench has just made it
            return
        log = folder.with_name(f"{folder.name}.log")
        report(f"Python {version} is not on this machine: making one from {channel()} in {folder}")
        tools = installers.tools(RATTLER, cache / "interpreters", log, MAKE_SECONDS)
        script = Path(__file__).with_name("make_python.py")
        folders = [str(folder), str(folder.parent / "packages")]
        command = [sys.executable, "-I", str(script), str(tools), channel(), version, *folders]
        with whole_in_place(folder):
            installers.run(command, log, os.environ, folder.parent, MAKE_SECONDS)
            (folder / "complete").touch()


def channel() -> str:
    """The conda channel: a name such as conda-forge, an address, or a folder."""
    chosen = os.environ.get(CHANNEL) or DEFAULT_CHANNEL
    here = paths.with_home(chosen)
    return here.absolute().as_uri() if here.is_dir() else chosen


def _not_found(backend: Backend, instead: str) -> str:
    shared = "PYTHON_CONFIGURE_OPTS=--enable-shared " if backend.shared_libpython else ""
    return (
        f"Python {' or '.join(backend.python)} was not found{instead} install it with pyenv ({shared}pyenv "
        f"install {backend.python[0]}) or conda, or name one with --python {backend.name}=/path/to/python"
    )
