"""Finds the runs that `compare` is given, and the backend of one."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from kbench import store
from kbench.base import paths
from kbench.errors import UserError
from kbench.store import REFERENCE


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


def _is_run(text: str, parent: Path) -> bool:
    return any(map(store.is_run, (Path(text), parent / text)))


def _run(text: str, parent: Path, kinds: Collection[str]) -> Path:
    shipped = paths.project_folder("results") / REFERENCE
    if text == REFERENCE and not _is_run(text, parent):
        if store.is_run(shipped):
            return shipped
        raise UserError("The reference run is only in a checkout of kbench, which this is not: name another run.")
    return store.find(text, parent, timed=True, kinds=kinds)
