"""Finds a Python for a backend: the user's, on PATH, of pyenv, uv or conda; makes one where need be."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import filelock

from kbench import paths
from kbench.environments import installers
from kbench.errors import Unavailable, UserError
from kbench.values import Backend

AS_IS = ",as-is"
PROBE_SECONDS = 30  # a Python on a cold network folder takes its time
MAKE_SECONDS = 900

# Runs on every Python 3; prints one line of JSON. conda's Python says that it has no shared library
# (LDLIBRARY) and ships it nevertheless: so the file itself is looked for.
PROBE = """
import glob, json, os, struct, sys, sysconfig
name = "libpython%d.%d%s" % (sys.version_info[0], sys.version_info[1], getattr(sys, "abiflags", ""))
value = sysconfig.get_config_var
folders = [value("LIBDIR"), os.path.join(sys.base_prefix, "lib")]
folders += [os.path.join(f, value("MULTIARCH")) for f in folders[:1] if f and value("MULTIARCH")]
found = [f for f in folders if f and (glob.glob(os.path.join(f, name + ".so*")) + glob.glob(
    os.path.join(f, name + ".dylib")))]
if sys.platform == "win32":
    found = [sys.base_prefix]
print(json.dumps({"version": "%d.%d.%d" % sys.version_info[:3], "bits": struct.calcsize("P") * 8,
    "prefix": sys.prefix, "library_folder": found[0] if found else ""}))
"""


@dataclass(frozen=True)
class Interpreter:
    """A Python that was started and answered."""

    path: Path
    version: str  # "3.6.15"
    bits: int  # 64
    prefix: Path  # of its environment
    library_folder: Path | None  # where its shared libpython lies; None where it has none

    @property
    def minor(self) -> str:
        """`3.6` of `3.6.15`."""
        return ".".join(self.version.split(".")[:2])


@dataclass(frozen=True)
class Choice:
    """What the user said with `--python`: make the environment from this Python, or use it as it is."""

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
        full for full, one in backends.items() if name in (full, one.generation, full.split("/")[-1], "all")
    )
    if not names:
        raise UserError(f"--python names an unknown backend, {name}: known are {', '.join(backends)}")
    if len(names) > 1 and name not in ("all", *(one.generation for one in backends.values())):
        raise UserError(f"--python {name}=... could mean {' or '.join(names)}: give the full name")
    path = paths.expanded(rest).absolute()
    if path.is_dir():
        inside = [path / "bin" / "python", path / "python.exe", path / "Scripts" / "python.exe"]
        path = next((one for one in inside if one.exists()), path)
    if not path.is_file():
        raise UserError(f"--python {text!r}: there is no Python at {path}")
    return names, Choice(path, as_is)


def find(
    backend: Backend,
    *,
    explicit: Path | None = None,
    cache: Path,
    report: Callable[[str], None],
) -> Interpreter:
    """A 64-bit Python of a version that the backend can use, with a shared libpython where it needs one.

    What is on the machine comes first; else uv or conda makes one under `cache`. Raises UserError where the
    explicit one does not fit, Unavailable where there is none.
    """
    if explicit is not None:
        return _explicit(backend, explicit)
    found, unfit = _search(backend, cache)
    if found is not None:
        return found
    for version in backend.python:
        for make in (_from_uv, _from_conda):
            made = make(version, cache, report)
            found = probe(made) if made else None
            if found is not None and found.minor == version and not _fault(found, backend):
                return found
    raise Unavailable(_not_found(backend, unfit))


def at_hand(backend: Backend, cache: Path) -> Interpreter:
    """The Python that is on this machine already. Raises Unavailable, also where uv or conda could make one."""
    found, unfit = _search(backend, cache)
    if found is None:
        raise Unavailable(_not_found(backend, unfit))
    return found


def _search(backend: Backend, cache: Path) -> tuple[Interpreter | None, str]:
    """(a fitting Python on this machine or None, what is wrong with one that nearly fits)."""
    unfit = ""
    for version in backend.python:
        for path in _on_this_machine(version, cache):
            found = probe(path)
            if found is None or found.minor != version:
                continue
            fault = _fault(found, backend)
            if not fault:
                return found, ""
            unfit = unfit or f" (the one at {path} {fault})"
    return None, unfit


def probe(path: Path) -> Interpreter | None:
    """What the Python at `path` says of itself; None where it does not start: a shim without a version."""
    try:
        done = subprocess.run(
            [str(path), "-I", "-c", PROBE],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PROBE_SECONDS,
        )
        told = json.loads(done.stdout)
        folder = told["library_folder"]
        return Interpreter(
            path, told["version"], told["bits"], Path(told["prefix"]), Path(folder) if folder else None
        )
    except (OSError, ValueError, KeyError, TypeError, subprocess.SubprocessError):
        return None


def _explicit(backend: Backend, path: Path) -> Interpreter:
    found = probe(path)
    if found is None:
        raise UserError(f"the Python named for {backend.name}, {path}, does not start")
    if found.minor not in backend.python:
        raise UserError(
            f"{backend.name} needs Python {' or '.join(backend.python)}, and {path} is {found.version}: name "
            "another one with --python"
        )
    fault = _fault(found, backend)
    if fault:
        raise UserError(f"the Python named for {backend.name}, {path}, {fault}: name another one with --python")
    return found


def _fault(found: Interpreter, backend: Backend) -> str:
    if found.bits != 64:
        return f"is a {found.bits}-bit one"
    if backend.shared_libpython and found.library_folder is None:
        return "has no shared libpython, which this backend needs"
    return ""


def _on_this_machine(version: str, cache: Path) -> Iterator[Path]:
    """Candidates, likeliest first; the same file only once. None of them has been started yet."""
    seen: set[Path] = set()
    for path in _candidates(version, cache):
        if path.is_file() and os.access(path, os.X_OK):
            real = path.resolve()
            if real not in seen or "shims" in path.parts:
                seen.add(real)
                yield path


def _candidates(version: str, cache: Path) -> Iterator[Path]:
    suffix = ".exe" if sys.platform == "win32" else ""
    if f"{sys.version_info[0]}.{sys.version_info[1]}" == version:
        yield Path(getattr(sys, "_base_executable", None) or sys.executable)
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    for folder in folders:
        yield folder / f"python{version}{suffix}"
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from _newest(root.glob(f"versions/{version}*/bin/python"), version)
    yield from _newest(root.glob(f"pyenv-win/versions/{version}*/python.exe"), version)
    conda = os.environ.get("CONDA_PREFIX")
    if conda:
        yield Path(conda) / ("python.exe" if suffix else "bin/python")
    for name in ("python3", "python"):
        for folder in folders:
            yield folder / f"{name}{suffix}"
    yield from _newest(_uv_folder(cache).glob(f"cpython-{version}*/bin/python3"), version)
    if (_conda_folder(version, cache) / "complete").is_file():
        yield _conda_python(version, cache)
    of_uv = _uv_find(version)
    if of_uv:
        yield of_uv


def _newest(paths: Iterable[Path], version: str) -> list[Path]:
    """Newest patch release first; `3.1*` also globs 3.10, so the version is compared whole."""
    dated = []
    for path in paths:
        number = re.search(rf"(?:^|[/\\-]){re.escape(version)}(?:\.(\d+))?(?=[/\\-])", str(path))
        if number:
            dated.append((int(number[1] or 0), path))
    return [path for _, path in sorted(dated, reverse=True)]


def _uv_find(version: str) -> Path | None:
    """What uv finds elsewhere: its own Pythons, Windows's registry. Downloads nothing."""
    try:
        done = subprocess.run(
            [installers.uv_program(), "python", "find", "--no-project", "--no-python-downloads", version],
            env=installers.uv_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PROBE_SECONDS,
        )
    except (OSError, Unavailable, subprocess.SubprocessError):
        return None
    return Path(done.stdout.strip()) if done.returncode == 0 and done.stdout.strip() else None


def _uv_folder(cache: Path) -> Path:
    return cache / "interpreters" / "uv"


def _from_uv(version: str, cache: Path, report: Callable[[str], None]) -> Path | None:
    """A Python that uv downloads, kept under `cache`; None where it has none of this version or cannot."""
    folder = _uv_folder(cache)
    environ = {
        **installers.uv_environment(),
        "UV_PYTHON_INSTALL_DIR": str(folder),
        "UV_PYTHON_INSTALL_BIN": "0",
    }
    report(f"Python {version} is not on this machine: asking uv for it")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(folder.with_suffix(".lock")):
            installers.run(
                [installers.uv_program(), "python", "install", version],
                folder.with_suffix(".log"),
                environ,
                folder,
                MAKE_SECONDS,
            )
    except (installers.InstallFailed, Unavailable, OSError):
        return None
    return next(iter(_newest(folder.glob(f"cpython-{version}*/bin/python3"), version)), None)


def _conda_folder(version: str, cache: Path) -> Path:
    return cache / "interpreters" / f"py{version}"


def _conda_python(version: str, cache: Path) -> Path:
    return _conda_folder(version, cache) / ("python.exe" if sys.platform == "win32" else "bin/python")


def _from_conda(version: str, cache: Path, report: Callable[[str], None]) -> Path | None:
    """A Python from conda, mamba or micromamba, in its own folder under `cache`; None where that fails."""
    program = next(filter(None, map(shutil.which, ("micromamba", "mamba", "conda"))), None)
    if program is None:
        return None
    folder = _conda_folder(version, cache)
    report(f"Python {version} is not on this machine: making one with {Path(program).name} in {folder}")
    environ = {name: value for name, value in os.environ.items() if name not in installers.NOT_FOR_INSTALLERS}
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(folder.with_name(folder.name + ".lock")):
            if not (folder / "complete").is_file():
                shutil.rmtree(folder, ignore_errors=True)
                installers.run(
                    [program, "create", "-y", "-p", str(folder), "-c", "conda-forge", f"python={version}"],
                    folder.with_name(folder.name + ".log"),
                    environ,
                    folder.parent,
                    MAKE_SECONDS,
                )
                (folder / "complete").write_text("")
    except (installers.InstallFailed, OSError):
        shutil.rmtree(folder, ignore_errors=True)
        return None
    return _conda_python(version, cache)


def _not_found(backend: Backend, unfit: str) -> str:
    version = backend.python[0]
    patch = {"3.6": "3.6.15", "3.7": "3.7.17"}.get(version, version)
    shared = "PYTHON_CONFIGURE_OPTS=--enable-shared " if backend.shared_libpython else ""
    return (
        f"Python {' or '.join(backend.python)} was not found{unfit}: install it with pyenv ({shared}pyenv "
        f"install {patch}) or conda, or name one with --python {backend.name}=/path/to/python"
    )
