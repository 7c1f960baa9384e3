"""Give a run back from its folder: what was asked, what came of each cell, what each guest report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from kbench.errors import UserError
from kbench.store.events import read_events, understand
from kbench.store.files import read_json
from kbench.store.runs import SCHEMA, CellFolder, cell_folder
from kbench.values import INTERRUPTED, OK, STATUSES, Cell, Measured, Outcome

# What run.json says of an example and every cell of it needs.
_EXAMPLE_FACTS = ("task", "input", "available_samples", "data", "data_source", "data_sha256", "target")


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """What a run's run.json tells."""

    folder: Path
    name: str  # as given when it was made; the folder may have been renamed since
    created: str  # UTC, ISO 8601
    plan: Mapping[str, Any]
    provenance: Mapping[str, Any]
    cells: tuple[Cell, ...]
    resumed: tuple[Mapping[str, Any], ...] = ()  # the provenance of each time that it was gone on with

    @property
    def baseline(self) -> str:
        """The backend that the run was asked to compare with; empty where none was."""
        found = self.plan.get("baseline")
        return found if isinstance(found, str) else ""

    @property
    def adds_processes(self) -> bool:
        """Whether its table is looked at again and again, to see which rows need another process."""
        return isinstance(self.plan.get("precision"), int | float)


@dataclass(frozen=True, kw_only=True)
class RunResults(RunRecord):
    """A run as it lies on disk."""

    measured: tuple[Measured, ...]  # in the plan's order, cells that never ran included


def read(run: Path) -> RunResults:
    """The run in the folder `run`.

    A damaged cell is given back as interrupted, with what can be read of it. Raises UserError where the
    folder is no run, its run.json is damaged, or a newer kbench wrote it.
    """
    return measured_of(read_record(run))


def read_record(run: Path) -> RunRecord:
    """What the run.json in the folder `run` tells; raises what `read` does."""
    if not (run / "run.json").is_file():
        raise UserError(f"{run} is not a run's folder: it has no run.json.")
    record = read_json(run / "run.json")
    schema = record.get("schema")
    if isinstance(schema, int) and schema != SCHEMA:
        age, advice = ("a newer", "update kbench") if schema > SCHEMA else ("an older", "read it with that one")
        raise UserError(f"{run} was written by {age} kbench (schema {schema}; this one reads {SCHEMA}): {advice}.")
    plan, provenance = record.get("plan"), record.get("provenance")
    if schema != SCHEMA or not isinstance(plan, dict) or not isinstance(provenance, dict):
        raise UserError(f"{run / 'run.json'} is damaged: it has no schema, plan or provenance that kbench knows.")
    planned = plan.get("cells")
    if not isinstance(planned, list):
        raise UserError(f"{run / 'run.json'} is damaged: its plan lists no cells.")
    resumed = record.get("resumed")
    return RunRecord(
        folder=run,
        name=str(record.get("name", run.name)),
        created=str(record.get("created", "")),
        plan=plan,
        provenance=provenance,
        cells=tuple(_cell(run, value) for value in planned),
        resumed=tuple(one for one in resumed if isinstance(one, dict)) if isinstance(resumed, list) else (),
    )


def measured_of(record: RunRecord) -> RunResults:
    """The run with all that its guests reported."""
    examples = _objects(record.plan.get("examples"))
    measured = tuple(_measured(record.folder, cell, examples) for cell in record.cells)
    return RunResults(**vars(record), measured=measured)


def spec(run: Path, cell: Cell) -> Mapping[str, Any]:
    """What the cell's guest was given to measure; empty where it never got as far."""
    try:
        return read_json(cell_folder(run, cell).spec)
    except UserError:
        return {}


def _objects(value: object) -> dict[str, dict[str, Any]]:
    """The entries of `value` that are objects themselves."""
    if not isinstance(value, dict):
        return {}
    return {str(key): entry for key, entry in value.items() if isinstance(entry, dict)}


def _cell(run: Path, value: object) -> Cell:
    """The cell that run.json describes; keys of a later kbench are left out."""
    try:
        return msgspec.convert(value, Cell)
    except msgspec.ValidationError:
        raise UserError(f"{run / 'run.json'} is damaged: one of its cells is not described in full.") from None


def _measured(run: Path, cell: Cell, examples: Mapping[str, Mapping[str, Any]]) -> Measured:
    folder = cell_folder(run, cell)
    outcome = _outcome(folder)
    try:
        report = read_events(folder.events)
    except OSError as error:  # one cell's fate does not keep the others from being read
        report = understand(b"")
        if outcome.status == OK:
            outcome = Outcome(INTERRUPTED, f"its events.jsonl cannot be read: {error.strerror or error}")
    epochs = report.facts.get("stopped_after", cell.epochs)
    counted = len(report.epochs) == epochs or "program" in report.facts
    if outcome.status == OK and ("guest_seconds" not in report.facts or not counted):
        outcome = Outcome(
            INTERRUPTED, f"its events.jsonl is damaged: {len(report.epochs)} of {cell.epochs} epochs are left"
        )
    example = examples.get(cell.example, {})
    planned = {key: example[key] for key in _EXAMPLE_FACTS if example.get(key) is not None}
    if isinstance(accuracy := example.get("target_accuracy"), float):  # of an earlier version
        planned["target"] = f"val_accuracy >= {accuracy:g}"
    return Measured(
        cell=cell,
        outcome=outcome,
        epochs=report.epochs,
        phases=report.phases,
        facts={**planned, **_data_facts(spec(run, cell).get("data")), **report.facts},
    )


def _data_facts(data: object) -> dict[str, str]:
    """Which data the guest was given, from its spec's `data`: the `name`, `source` and `sha256`.

    `content_sha256` is the hash where it is the same in either layout.
    """
    if not isinstance(data, dict):
        return {}
    keys = {"name": "data", "source": "data_source", "sha256": "data_sha256"}
    facts = {fact: data[key] for key, fact in keys.items() if isinstance(data.get(key), str)}
    # Earlier versions hashed pictures in the layout that the cell had, which says nothing across layouts.
    return facts | {"content_sha256": facts["data_sha256"]} if "hash_of" in data and "data_sha256" in facts else facts


def _outcome(folder: CellFolder) -> Outcome:
    if not folder.outcome.is_file():
        started = folder.events.is_file() or folder.log.is_file()
        return Outcome(INTERRUPTED, "stopped before it ended" if started else "not started")
    try:
        outcome = msgspec.convert(read_json(folder.outcome), Outcome)
    except (UserError, msgspec.ValidationError):
        outcome = None
    if outcome is None or outcome.status not in STATUSES:
        return Outcome(INTERRUPTED, "its outcome.json is damaged")
    return outcome
