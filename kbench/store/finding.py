"""Finds the runs that the user names: by folder, by name, by packed file, or the latest."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from pathlib import Path

from kbench.base import paths
from kbench.errors import UserError
from kbench.store.files import read_json
from kbench.store.packed import SUFFIX, is_packed, raw_folder, run_of
from kbench.store.runs import CLUSTER, LATEST, MAKING, is_cluster
from kbench.words.text import meant

REFERENCE = "reference"  # the run that comes with a checkout; others there are called reference-SOMETHING
MOST_SHOWN = 10  # names in an error


def latest(parent: Path, timed: bool = False, kinds: Collection[str] = ()) -> Path:
    """The latest run below `parent` that did not come with kbench; `timed`, `kinds`: see `by_time`.

    Packed ones do not: they may be somebody else's. Raises UserError if there is none.
    """
    for run in by_time(parent, timed, kinds=kinds):
        if not _shipped(run):
            return run
    if timed and any(not _shipped(run) for run in by_time(parent)):
        raise UserError(f"Your only runs in {parent} time nothing; start one of `run`.")
    raise UserError(f"There are no runs of your own in {parent} yet; start one with --backends.")


def find(run: str, parent: Path, timed: bool = False, kinds: Collection[str] = ()) -> Path:
    """The folder of the run that the user named: a path, a name below `parent`, or `latest`. Raises UserError.

    That of a packed run need not be there: `raw_folder` has its files.
    """
    if run == LATEST and not (parent / run).exists():
        return latest(parent, timed, kinds)
    places = (Path(run), parent / run)
    for folder in places:
        if folder.name == "run.json" and folder.is_file():
            return folder.parent
        if (folder / "run.json").is_file() or is_cluster(folder):
            return folder
    for folder in places:
        if folder.name.endswith(SUFFIX) and folder.is_file():
            return run_of(folder)
        if is_packed(folder):
            return folder
    if all((parent / one).exists() or one in (LATEST, REFERENCE) for one in run.split(",")) and "," in run:
        raise UserError(f"Runs are named with blanks between them: `{run.replace(',', ' ')}`.")
    if near := meant(run, names(parent)):
        raise UserError(f"There is no run {run!r}: did you mean {near}?")
    for folder in places:
        if run and folder.is_dir():
            raise UserError(f"{folder} has no run.json, so it is not a run's folder.")
    known = [folder.name for folder in by_time(parent, packed=True)]
    if not known:
        raise UserError(f"There is no run {run!r}: there are no runs in {parent}.")
    shown = ", ".join(known[:MOST_SHOWN]) + (", ..." if len(known) > MOST_SHOWN else ".")
    raise UserError(f"There is no run {run!r}; the runs in {parent}, newest first: {shown}")


def is_run(place: Path) -> bool:
    """Whether this is the folder of a run or of a packed one, or a packed one's file."""
    packed = is_packed(place) or (place.name.endswith(SUFFIX) and place.is_file())
    return packed or (place / "run.json").is_file() or is_cluster(place)


def names(parent: Path) -> list[str]:
    """The runs below `parent`, by name."""
    return sorted(folder.name for folder in _runs(parent, packed=True))


def by_time(parent: Path, timed: bool = False, packed: bool = False, kinds: Collection[str] = ()) -> list[Path]:
    """The runs below `parent`, the newest first; with `timed`, only those that time something, and these `kinds` of
    others; `packed`: those, too.
    """
    found = []
    for run in _runs(parent, packed):
        with contextlib.suppress(UserError):  # its run.json is damaged
            record = read_json(run / CLUSTER if is_cluster(run) else raw_folder(run) / "run.json")
            plan = record.get("plan")
            other = isinstance(plan, dict) and "kind" in plan and plan["kind"] not in kinds
            if record.get("created") and not (timed and other):
                found.append((str(record["created"]), run.name, run))
    return [run for *_, run in sorted(found, reverse=True)]


def _shipped(run: Path) -> bool:
    """Whether the run came with kbench's checkout."""
    of_kbench = run.resolve().parent == paths.project_folder("results").resolve()
    return of_kbench and (run.name == REFERENCE or run.name.startswith(f"{REFERENCE}-"))


def _runs(parent: Path, packed: bool) -> list[Path]:
    try:
        there = {path.with_name(path.name.removesuffix(SUFFIX)) for path in parent.iterdir() if path.name != SUFFIX}
    except OSError:
        return []
    return [one for one in there if is_run(one) and not one.name.startswith(MAKING) and packed >= is_packed(one)]
