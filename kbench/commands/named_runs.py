"""Finds the runs that a command is given to compare, the backend of one, and what is said of a run."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from kbench import hooks, store
from kbench.base import paths
from kbench.errors import UserError
from kbench.machine.provenance import describe
from kbench.selection import names as selection
from kbench.store import LATEST, REFERENCE


def located(text: str, parent: Path, kinds: Collection[str] = ()) -> tuple[Path, str]:
    """The run's folder, and the backend after a colon; the folder's name may contain a colon, too.

    kinds: of runs that may be the latest beside those that time something. Raises UserError.
    """
    run, colon, backend = text.rpartition(":")
    if not colon or _is_run(text, parent):
        return _run(text, parent, kinds), ""
    if not run or not backend:
        raise UserError(f"{text!r} is neither a run nor RUN:BACKEND.")
    return _run(run, parent, kinds), backend


def described(text: str, folder: Path, record: store.RunRecord) -> dict[str, str]:
    """A run for a legend; `text` is what the user typed."""
    reported = record.provenance.get("kbench")
    known = reported if isinstance(reported, dict) else {}
    commit = str(known.get("commit") or "")[:7]
    return {
        "name": text.replace(LATEST, folder.name, 1) if text.partition(":")[0] == LATEST else text,
        "machine": describe(record.provenance),
        "created": record.created[:16].replace("T", " "),
        "kbench": f"kbench {known.get('version', '')}".strip() + (f" ({commit})" if commit else ""),
    }


def rows_of(text: str, parent: Path) -> tuple[Path, store.RunRecord, str]:
    """The run's folder and record, and the full name of the backend after a colon. Raises UserError."""
    folder, wanted = located(text, parent)
    record = store.read_record(folder)
    if kind := hooks.kind_of(record):
        raise UserError(f"{text} is a {kind.name} run, which times nothing: compare runs of `run`.")
    names = list(dict.fromkeys(cell.backend for cell in record.cells))
    backend = selection.select_baseline(wanted, names, text.removesuffix(wanted)) if wanted else ""
    return folder, record, backend


def _is_run(text: str, parent: Path) -> bool:
    return any(map(store.is_run, (Path(text), parent / text)))


def _run(text: str, parent: Path, kinds: Collection[str]) -> Path:
    shipped = paths.project_folder("results") / REFERENCE
    if text == REFERENCE and not _is_run(text, parent):
        if store.is_run(shipped):
            return shipped
        raise UserError("The reference run is only in a checkout of kbench, which this is not: name another run.")
    return store.find(text, parent, timed=True, kinds=kinds)
