"""Finds or creates a backend's environment: one per lock file, build and Python version, kept in the cache."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import filelock
import msgspec
from packaging.utils import canonicalize_name

from kbench import hooks
from kbench.base import paths
from kbench.base.whole_folders import whole_in_place
from kbench.environments import costs, folders, installers, interpreters
from kbench.environments.folders import MARKER, SCHEMA, finished, installed, lock_sha256, lock_text, path_of
from kbench.environments.folders import python as python_of
from kbench.environments.interpreters import Choice, Interpreter
from kbench.environments.packages import pinned
from kbench.errors import Unavailable, UserError
from kbench.records.values import Backend, Build, Environment

LIBRARIES = "kbench-lib"
INSTALL_SECONDS = 3600  # several GB of CUDA libraries over a slow line

IMPORT_ONCE = """
import importlib, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except Exception:
        pass
"""
CHECK_AS_IS = """
import importlib.util, sys
wanted = sys.argv[1:]
print(" ".join(["missing:"] + [name for name in wanted if importlib.util.find_spec(name) is None]))
"""


def find(
    backend: Backend, build: Build, *, explicit: Choice | None = None, cache: Path | None = None
) -> Environment | None:
    """The finished environment, or None. Milliseconds: starts no process and installs nothing.

    An existing environment of the user's (`explicit.as_is`) has to be checked: only `ensure` does that.
    """
    if build.lock is None or (explicit is not None and explicit.as_is):
        return None
    cache = paths.cache_folder() if cache is None else cache
    for version in backend.python:
        folder = path_of(backend, build, version, explicit, cache)
        details = finished(folder)
        if details is not None:
            return _environment(backend, build, folder, details.library_folder, cache)
    return None


def ensure(
    backend: Backend,
    build: Build,
    *,
    explicit: Choice | None = None,
    cache: Path | None = None,
    report: Callable[[str], None] = lambda text: None,
) -> Environment:
    """The backend's environment, created if missing. `report` gets a line per slow step.

    If two processes ask at once, one creates it and the other waits. Raises Unavailable if it cannot be created on
    this machine, UserError if the user's own Python does not fit; the text is one sentence.
    """
    cache = paths.cache_folder() if cache is None else cache
    check_programs(backend)
    try:
        if explicit is not None and explicit.as_is:
            return _as_is(backend, build, explicit, cache)
        found = find(backend, build, explicit=explicit, cache=cache)
        if found is not None:
            return found
        check_platform(backend, build)
        (cache / "environments" / "logs").mkdir(parents=True, exist_ok=True)
        interpreter = interpreters.find(
            backend, explicit=explicit.path if explicit else None, cache=cache, report=report
        )
        folder = path_of(backend, build, interpreter.minor, explicit, cache)
        with _locked(folder, report):
            if finished(folder) is None:
                _make(backend, build, folder, interpreter, report)
        return _environment(backend, build, folder, str(interpreter.library_folder or ""), cache)
    except OSError as error:
        room = "" if isinstance(error, NotADirectoryError | FileExistsError) else "free some space or "
        raise Unavailable(
            f"the cache folder {cache} cannot be written ({error.strerror or error}): {room}name another folder with "
            "KBENCH_CACHE"
        ) from None


def variables(
    environment: Environment, threads: int, example: str = "{example}", compiled: str = "", workers: int = 1
) -> dict[str, str]:
    """The environment variables of one cell: those of the backend and its build, every placeholder filled in.

    `workers`: how many of them are in the process, each with so many threads. `example`: for folders of one example.
    `compiled`: a folder for compiled code that the repeats of a cell share; if empty, variables that name it are left
    out. `{inherited}` is the variable's value in kbench's own environment.
    """
    filled = {}
    for name, text in environment.variables.items():
        if "{compiled}" in text and not compiled:
            continue
        value = text.replace("{threads}", str(threads)).replace("{threads_from_2}", str(max(2, threads)))
        value = value.replace("{process_threads}", str(threads * workers))
        value = value.replace("{example}", example).replace("{compiled}", compiled)
        if "{inherited}" in value:
            value = value.replace("{inherited}", os.environ.get(name, ""))
            # An empty entry of a search path would mean the current folder.
            value = os.pathsep.join(part for part in value.split(os.pathsep) if part)
        filled[name] = value
    return filled


def _make(
    backend: Backend, build: Build, folder: Path, interpreter: Interpreter, report: Callable[[str], None]
) -> None:
    """Creates the environment in its final place (a venv cannot be moved), and the marker last."""
    assert build.lock is not None
    log = folder.parent / "logs" / f"{folder.name}.log"
    log.unlink(missing_ok=True)
    count = len(pinned(lock_text(build)))
    report(
        f"{backend.name}: making its environment ({build.name}, Python {interpreter.version}, "
        f"{count} packages) in {folder}"
    )
    started = time.monotonic()
    command = [installers.uv_program(), "venv", "--python", str(interpreter.path), str(folder)]
    try:
        with whole_in_place(folder):
            installers.run(command, log, installers.uv_environment(), folder.parent, INSTALL_SECONDS)
            python = python_of(folder)
            installers.sync(python, build.lock, build.indexes, log, INSTALL_SECONDS)
            if build.debian_lock and not hooks.add_packages(backend, build, folder, log):
                raise installers.InstallFailed("this kbench has no feature that unpacks packages of Debian")
            _add_libraries(backend, folder, log)
            _check_installed(build, python, folder, log)
            made = _environment(backend, build, folder, str(interpreter.library_folder or ""), folder.parent.parent)
            _import_once(backend, made, log)
            _mark(build, folder, interpreter, time.monotonic() - started)
    except installers.InstallFailed as failure:
        raise Unavailable(f"the environment of {backend.name} could not be made: {failure} (see {log})") from None


def _mark(build: Build, folder: Path, interpreter: Interpreter, seconds: float) -> None:
    library, cost = str(interpreter.library_folder or ""), costs.recorded(folder, seconds)
    marker = folders.Marker(
        SCHEMA, str(folder), lock_sha256(build), str(interpreter.path), library, installed(folder), cost
    )
    draft = folder / f"{MARKER}.draft"
    draft.write_bytes(msgspec.json.encode(marker))
    draft.replace(folder / MARKER)


def _add_libraries(backend: Backend, folder: Path, log: Path) -> None:
    """Puts the shared libraries that the packages need into a folder of the environment."""
    if not backend.libraries and not backend.compiled:
        return
    target = folder / LIBRARIES
    target.mkdir()
    for name, existing in backend.libraries.items():
        if not (folder / existing).is_file():
            raise installers.InstallFailed(f"its packages brought no {existing}, which stands in for {name}")
        (target / name).symlink_to(folder / existing)
    for name, source in backend.compiled.items():
        command = [find_program("cc") or "cc", "-shared", "-fPIC", "-O1", "-o", str(target / name), str(source)]
        installers.run(command, log, os.environ, folder, INSTALL_SECONDS)


def _check_installed(build: Build, python: Path, folder: Path, log: Path) -> None:
    """Checks that Python starts and the backend's package is there, without importing it, which takes seconds."""
    installers.run([str(python), "-I", "-c", "pass"], log, os.environ, folder, INSTALL_SECONDS)
    found = folder.glob("lib/python*/site-packages/*.dist-info")
    there = [canonicalize_name(path.name.partition("-")[0]) for path in found]
    of_debian = pinned(build.debian_lock.read_text("utf-8")) if build.debian_lock else {}
    if canonicalize_name(build.distribution) not in (*there, *of_debian):
        raise installers.InstallFailed(f"its lock file does not install {build.distribution}")


def _import_once(backend: Backend, made: Environment, log: Path) -> None:
    """Imports what its cells import, so that the bytecode is there and the first one is no slower than others. What
    does not work will say so in the cells.
    """
    with tempfile.TemporaryDirectory() as home, contextlib.suppress(installers.InstallFailed):
        own = {"HOME": home, "KERAS_HOME": home, "KERAS_BACKEND": backend.keras_backend}
        environ = {**os.environ, **variables(made, threads=1, example="import"), **own}
        names = ("numpy", *backend.imported, "tf_keras")  # what else is Keras in some
        installers.run([str(made.python), "-c", IMPORT_ONCE, *names], log, environ, Path(home), INSTALL_SECONDS)


def _as_is(backend: Backend, build: Build, choice: Choice, cache: Path) -> Environment:
    """The user's own environment: it must have what the backend imports; nothing is installed."""
    interpreter = interpreters.probe(choice.path)
    if interpreter is None:
        raise UserError(f"the Python named for {backend.name}, {choice.path}, does not start")
    name = f"own-{hashlib.sha256(os.fsencode(choice.path)).hexdigest()[:12]}"
    log = cache / "environments" / "logs" / f"{name}.log"
    try:
        check = [str(choice.path), "-c", CHECK_AS_IS, *backend.imported]
        output = installers.run(check, log, os.environ, Path.home(), interpreters.PROBE_SECONDS)
    except installers.InstallFailed as failure:
        raise UserError(f"the Python named for {backend.name}, {choice.path}, does not work: {failure}") from None
    missing = output.rpartition("missing:")[2].split()
    if missing:
        raise UserError(
            f"the environment named for {backend.name}, {choice.path}, has no {' and no '.join(missing)}: "
            f"install it there, or leave out `{interpreters.AS_IS}` to have one made from that Python"
        )
    variables, compiles = _filled(
        backend, build.variables, interpreter.prefix, cache / "compiled" / name, str(interpreter.library_folder or "")
    )
    return Environment(backend.name, build.name, choice.path, None, variables, "", compiles)


def programs(backend: Backend) -> tuple[str, ...]:
    """The programs that the backend needs on PATH; `cc` is any C compiler."""
    return (*backend.programs, *(["cc"] if backend.compiled else []))


def find_program(name: str) -> str | None:
    """Where the program is; None if it is not on PATH."""
    names = [os.environ.get("CC"), "cc", "gcc", "clang"] if name == "cc" else [name]
    return next(filter(None, (shutil.which(one) for one in names if one)), None)


def check_programs(backend: Backend) -> None:
    """Raises Unavailable if a program that the backend needs is missing."""
    for program in programs(backend):
        if find_program(program) is None:
            what = "a C compiler, such as gcc" if program == "cc" else f"the program {program}"
            raise Unavailable(f"{backend.name} needs {what}, which is not on PATH: install it")


def check_platform(backend: Backend, build: Build) -> None:
    """Raises Unavailable if the build's packages are not for this machine."""
    own = f"name an environment of your own with --python {backend.name}=/path/to/python{interpreters.AS_IS}"
    if build.lock is None:
        raise Unavailable(f"the build {build.name} of {backend.name} cannot be installed ({build.note}): {own}")
    if platform.machine() != "x86_64":
        raise Unavailable(
            f"the packages of {backend.name} are locked for Linux on x86-64, and this is {platform.machine()}: {own}"
        )


def _locked(folder: Path, report: Callable[[str], None]) -> AbstractContextManager[object]:
    lock = filelock.FileLock(folder.with_name(f"{folder.name}.lock"))
    try:
        return lock.acquire(timeout=0)
    except filelock.Timeout:
        report(f"waiting for another kbench, which is making {folder.name}")
        return lock.acquire()


def _environment(backend: Backend, build: Build, folder: Path, library_folder: str, cache: Path) -> Environment:
    own = {**build.variables, **build.locked_variables}
    variables, compiles = _filled(backend, own, folder, cache / "compiled" / folder.name, library_folder)
    return Environment(backend.name, build.name, python_of(folder), folder, variables, lock_sha256(build), compiles)


def _filled(
    backend: Backend, of_build: Mapping[str, str], folder: Path, kept: Path, library_folder: str
) -> tuple[dict[str, str], str]:
    """(the variables, the folder of what it compiles) with {env}, {cache} and {python_lib} filled in.

    {threads}, {example}, {compiled} and {inherited} are the cell's.
    """
    texts = {**backend.variables, **of_build, "": backend.compiles}
    if backend.sources:  # Python imports the user's own packages before the installed ones
        texts["PYTHONPATH"] = os.pathsep.join(map(str, backend.sources.values()))
    for placeholder, value in (("{env}", folder), ("{cache}", kept), ("{python_lib}", library_folder)):
        texts = {name: text.replace(placeholder, str(value)) for name, text in texts.items()}
    return texts, texts.pop("")
