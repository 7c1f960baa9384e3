"""Creates and fills the folders of runs.

results/<run>/run.json           schema, request, plan, provenance
results/<run>/cells/<cell>/      spec.json, events.jsonl (by the guest), log.txt, outcome.json; of further workers
                                 spec.worker1.json, events.worker1.jsonl, log.worker1.txt and so on
results/<run>/earlier/<cell>.<n>/  the earlier files of a cell that was measured again
results/<run>/explain/<name>/    runs that explain this one, laid out like it
results/<run>/.lock              held by the host that fills the run
results/<run>.kbench.zip         the run packed, also without its folder; see kbench.store.packed

run.json's request is what was asked for, and its plan what `plan_record` returns. All else in a run's
folder is derived from these files.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from kbench.base.arrays import Data
from kbench.base.whole_folders import scratch
from kbench.errors import UserError
from kbench.records.values import Backend, Cell, Example, Outcome
from kbench.store.files import cannot, os_errors_as_user_errors, read_bytes, read_json, replace_json
from kbench.store.packed import SUFFIX, packed_file

SCHEMA = 3  # of run.json
EXPLAIN = "explain"  # the folder of a run with those that explain it
CLUSTER = "cluster.json"  # in place of run.json, in the folder of a run on a cluster
MACHINES = "machines"  # the folder of such a run with one run for each kind of machine
LATEST, PUBLISHED = "latest", "published"  # mean something else than a run of that name
LONGEST_NAME = 200  # of a run: its folder is made beside it under a longer one
MOST_BYTES_OF_A_NAME = 255  # in file systems
MAKING = ".new-"  # prefix of a run's folder until it has its run.json, for milliseconds
# What tables and plots need of a backend.
_OF_BACKEND = ("title", "color", "generation", "framework", "cannot", "notes", "explained", "tuned", "beside_newer")
_LONGEST_MAKING = 3600.0  # seconds; such an older folder is from a killed process


class CellFolder:
    """Where a cell's files are; worker: its process, of a cell with several."""

    def __init__(self, path: Path, worker: int = 0) -> None:
        own = f".worker{worker}" if worker else ""
        self.path = path
        self.spec = path / f"spec{own}.json"  # what the guest is given
        self.events = path / f"events{own}.jsonl"  # what the guest reports: one JSON object a line
        self.log = path / f"log{own}.txt"  # the guest's stdout and stderr; of a script, its stderr
        self.stdout = path / "stdout.txt"  # of a script
        self.keras_home = path / "keras_home"  # the cell's private KERAS_HOME
        self.outcome = path / "outcome.json"  # what came of the cell: there only once it has ended


def plan_record(
    cells: Sequence[Cell],
    backends: Sequence[Backend],
    examples: Sequence[Example],
    data: Mapping[str, Data] | None = None,
    **more: object,
) -> dict[str, Any]:
    """The plan for run.json. `data`: example -> its arrays, if prepared; `more`: what kind of run it is."""
    return {
        **more,
        "cells": [{name: of for name, of in asdict(cell).items() if name != "counted"} for cell in cells],
        "backends": {backend.name: {name: asdict(backend)[name] for name in _OF_BACKEND} for backend in backends},
        "examples": {example.name: _example_record(example, (data or {}).get(example.name)) for example in examples},
    }


def _example_record(example: Example, data: Data | None) -> dict[str, Any]:
    names = ("title", "task", "input", "batch_size", "parameters", "target", "sha256", "data")
    record = {name: getattr(example, name) for name in names}
    record["available_samples"] = example.profiles["full"].samples
    if data is not None:
        record |= {"data": data.name, "data_source": data.source, "data_sha256": data.sha256}
    return record


def create(
    parent: Path,
    plan: Mapping[str, Any],
    provenance: Mapping[str, Any],
    name: str | None = None,
    request: Mapping[str, Any] | None = None,
) -> Path:
    """Make a run's folder below `parent`, named by local time unless `name` is given; return it. Raises UserError."""
    return create_with("run.json", {"request": request or {}, "plan": plan, "provenance": provenance}, parent, name)


def create_with(file: str, record: Mapping[str, Any], parent: Path, name: str | None) -> Path:
    """The same with a JSON `file` of the `record` and the run's schema, name and time. Raises UserError."""
    started = datetime.now(UTC)
    by_time = started.astimezone().strftime("%Y-%m-%dT%H-%M-%S")
    possible: Iterator[str] = itertools.chain([by_time], (f"{by_time}-{number}" for number in itertools.count(2)))
    if name is not None:
        check_name(parent, name)
        possible = iter([name])
    try:
        with scratch(parent / f"{MAKING}{secrets.token_hex(8)}") as making:
            _remove_abandoned(parent, making.stat().st_mtime)
            for run in map(parent.joinpath, possible):
                created = started.isoformat(timespec="microseconds")
                first = {"schema": SCHEMA, "name": run.name, "created": created}
                replace_json(making / file, {**first, **record})
                # A run has its run.json or does not exist, so a host that is killed here does not take up a name.
                if _renamed(making, run):
                    return run
        raise UserError(f"{run} exists already: choose another name for the run.")  # created meanwhile
    except (FileExistsError, NotADirectoryError) as error:
        raise UserError(f"{parent} is not a folder: choose another place for the results.") from error
    except OSError as error:
        raise cannot("make a run's folder in", parent, error) from error


def _remove_abandoned(parent: Path, now: float) -> None:
    """Remove leftovers of hosts that were killed while they created a run: folders with at most its first file.

    now: by the clock of the file system, which need not be that of this machine.
    """
    for folder in parent.glob(MAKING + "[0-9a-f]" * 16):
        with contextlib.suppress(OSError):  # it has gone meanwhile, or has more in it, which is somebody's
            if now - folder.lstat().st_mtime > _LONGEST_MAKING:
                left = list(folder.iterdir())
                if len(left) == 1 and left[0].name.removeprefix(".").startswith(("run.json", CLUSTER)):
                    left[0].unlink()
                folder.rmdir()


def _renamed(folder: Path, to: Path) -> bool:
    """Rename `folder`; False if the name is taken."""
    try:
        folder.rename(to)
    except OSError:
        if os.path.lexists(to):
            return False
        raise
    return True


def check_name(parent: Path, name: str) -> None:
    """Raises UserError if no run below `parent` can have this name: it is not a folder's name, or it is taken."""
    if not name or Path(name).name != name or name in (".", ".."):
        raise UserError(f"A run's name is a plain folder name, and {name!r} is not: choose one without '/'.")
    if name.encode(errors="replace").decode() != name:
        raise UserError(f"A run's name is text in UTF-8, and {name!r} is not: choose another one.")
    if name in (LATEST, PUBLISHED) or name.startswith(MAKING):
        raise UserError(f"A run cannot be called {name!r}, which has a meaning of its own: choose another name.")
    if len(name.encode(errors="replace")) > LONGEST_NAME:
        raise UserError(f"A run's name has up to {LONGEST_NAME} characters, and this one is too long: shorten it.")
    if name.endswith(SUFFIX):
        raise UserError(f"A run's folder cannot be called {name!r}, as packed runs are: leave out {SUFFIX}.")
    if (parent / name).exists() or packed_file(parent / name).exists():
        raise UserError(f"{parent / name} exists already: choose another name for the run.")


@contextlib.contextmanager
def filling(run: Path) -> Iterator[None]:
    """Keep other hosts from filling `run`; the lock of a killed host is free. Raises UserError."""
    from filelock import FileLock, Timeout  # here, because most commands do not need it

    lock = run / ".lock"
    try:
        removed = not lock.exists() and (run / "cells").is_dir() and _is_open(f"{lock.resolve()} (deleted)")
        # Not at once: a process that a killed host was just starting holds it for a moment.
        held = None if removed else FileLock(lock).acquire(timeout=0.5)
    except Timeout:
        held = None
    except OSError as error:
        raise cannot("write", lock, error) from error
    if held is None:
        raise UserError(f"{run} is being measured by another kbench: wait until that has ended, or end it.")
    with held:
        yield


def _is_open(path: str) -> bool:
    """Whether a process of this user has that file open; a lock is still held after its file was removed."""
    for opened in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):  # the process has ended
            if str(opened.readlink()) == path:
                return True
    return False


def update(run: Path, **changes: object) -> None:
    """Change parts of run.json: `request`, `plan`, or `resumed`, the provenance of each resumption. Raises UserError.

    One of an earlier schema is in the current one afterwards.
    """
    replace_json(run / "run.json", {**read_json(run / "run.json"), **changes})


def record_end(run: Path, ended: Mapping[str, Any]) -> None:
    """Add the state of the machine at the end to run.json. Raises UserError."""
    provenance = read_json(run / "run.json").get("provenance")
    update(run, provenance={**(provenance if isinstance(provenance, dict) else {}), "ended": ended})


def set_aside(run: Path, cell_id: str) -> None:
    """Move a cell's files below `earlier/`, because it is measured again. Raises UserError."""
    folder = run / "cells" / cell_id
    if not os.path.lexists(folder):
        return
    with os_errors_as_user_errors("set aside", folder):
        (run / "earlier").mkdir(exist_ok=True)
        number = next(n for n in itertools.count(1) if not os.path.lexists(run / "earlier" / f"{cell_id}.{n}"))
        folder.rename(run / "earlier" / f"{cell_id}.{number}")


def cell_folder(run: Path, cell: Cell, worker: int = 0) -> CellFolder:
    """The paths of the files of `cell`, or of a further one of its processes; `write_spec` creates the folder."""
    return CellFolder(run.joinpath("cells", cell.id), worker)


def results_of(run: Path) -> Path:
    """The results folder of a run, or of a part of a run."""
    return run.parents[2] if run.parent.name == EXPLAIN else run.parent


def parts(run: Path) -> list[Path]:
    """The runs of --explain in this run's folder."""
    return sorted(folder.parent for folder in (run / EXPLAIN).glob("*/run.json"))


def is_cluster(run: Path) -> bool:
    """Whether this is the folder of a run on a cluster."""
    return (run / CLUSTER).is_file()


def machines(run: Path) -> list[Path]:
    """The runs in the folder of a run on a cluster: one for each kind of machine."""
    return sorted(path.parent for path in (run / MACHINES).glob("*/run.json"))


def import_times(run: Path) -> Path:
    """The file with the seconds of each package at the import of Keras; missing if they were not measured."""
    return run / EXPLAIN / "imports.json"


def stdin(run: Path) -> Path:
    """The file with the standard input of every script of the run; missing if there is none."""
    return run / "stdin"


def keep_stdin(run: Path, given: IO[bytes]) -> None:
    """Write that file. Raises UserError."""
    with os_errors_as_user_errors("write", stdin(run)), stdin(run).open("xb") as file:
        shutil.copyfileobj(given, file)


def write_spec(
    run: Path, cell: Cell, spec: Mapping[str, Any], keras_json: Mapping[str, Any], worker: int = 0
) -> Path:
    """Create the cell's folder with the guest's spec and keras.json; return the spec's path. Raises UserError."""
    folder = cell_folder(run, cell, worker)
    with os_errors_as_user_errors("make", folder.path):
        folder.path.parent.mkdir(exist_ok=True)  # not the run's folder, which may have another name by now
        folder.keras_home.mkdir(parents=True, exist_ok=True)
    replace_json(folder.keras_home / "keras.json", keras_json)
    replace_json(folder.spec, spec)
    return folder.spec


def keep_lock(run: Path, backend: str, lock: Path) -> None:
    """Copy a lock file that was made for this run into its folder. Raises UserError."""
    place = run / "locks" / f"{backend.replace('/', '-')}.lock"
    with os_errors_as_user_errors("write", place):
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(read_bytes(lock))


def write_outcome(run: Path, cell: Cell, outcome: Outcome) -> None:
    """Record the outcome of `cell`, which then counts as ended. Raises UserError."""
    folder = cell_folder(run, cell)
    if _is_not(folder.path, stat.S_ISDIR) or _is_not(folder.outcome, stat.S_ISREG):
        set_aside(run, cell.id)  # the guest has put something else there
    with os_errors_as_user_errors("make", folder.path):
        # A cell without an environment has an outcome but no spec, so no folder yet.
        folder.path.parent.mkdir(exist_ok=True)
        folder.path.mkdir(exist_ok=True)
    replace_json(folder.outcome, outcome)


def _is_not(path: Path, kind: Callable[[int], bool]) -> bool:
    """Whether there is something other than a `kind` at `path`."""
    try:
        return not kind(path.lstat().st_mode)
    except OSError:
        return False
