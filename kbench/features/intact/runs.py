"""Which environments of a run have changed files: looks once all cells have ended, and says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kbench import store
from kbench.additions import EndedRun
from kbench.cli import arguments
from kbench.environments.folders import MARKER
from kbench.features.intact import packages
from kbench.records.values import FAILED, Environment
from kbench.session.events import SessionNote
from kbench.words.text import plain

KEPT = "changed_files"  # in the provenance of a run: by backend
MOST = 20  # names that are kept of each


def check(run: EndedRun) -> None:
    """Keep them with the run. An environment in which a cell failed is made again by the next run."""
    found: dict[str, list[str]] = {}
    for (backend, _), environment in run.run_paths.environments.items():
        if not isinstance(environment, Environment) or environment.folder is None:
            continue
        failed = [one for one in run.measured if one.cell.backend == backend and one.outcome.status == FAILED]
        # A program's own faults come later than this.
        before_keras = any(not one.facts.keras_version for one in failed)
        if changed := packages.changed(environment.folder, thorough=before_keras):
            found[backend] = changed
            if failed:
                (environment.folder / MARKER).unlink(missing_ok=True)
                run.on_event(SessionNote(f"{backend}: {_are(changed)}: the next run makes its environment again"))
    if found:
        record = store.read_record(run.run_paths.run)
        kept = {**_kept(record.provenance), **{backend: files[:MOST] for backend, files in found.items()}}
        store.update(run.run_paths.run, provenance={**record.provenance, KEPT: kept})


def remarks(provenance: Mapping[str, Any]) -> list[str]:
    """A sentence for each backend."""
    original = f"`{arguments.program()} doctor` says how to get the original files"
    return [f"{backend}: {_are(files)}; {original}." for backend, files in _kept(provenance).items()]


def _kept(provenance: Mapping[str, Any]) -> dict[str, list[str]]:
    kept = provenance.get(KEPT)
    kept = kept if isinstance(kept, dict) else {}
    told = {plain(str(name)): files for name, files in kept.items() if files and isinstance(files, list)}
    return {name: list(map(str, files)) for name, files in told.items()}


def _are(files: list[str]) -> str:
    more = f" and {len(files) - 1} more files" if len(files) > 1 else ""
    return f"{plain(files[0])}{more} in its environment changed after the installation"
