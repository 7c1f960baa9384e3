"""Give a run back from its folder: what was asked, what came of each cell, what each guest told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from kbench.errors import UserError
from kbench.store.events import read_events, understand
from kbench.store.files import read_json
from kbench.store.runs import SCHEMA, CellFolder, cell_folder
from kbench.values import INTERRUPTED, OK, STATUSES, Cell, Measured, Outcome

_TYPES = {"str": str, "int": int}  # of a cell's fields, as kbench.values spells them
_OF_CELL = {field.name: _TYPES[str(field.type)] for field in fields(Cell)}
_NEEDED = {field.name for field in fields(Cell) if field.default is MISSING}

# What run.json tells of an example and every cell of it needs.
_EXAMPLE_FACTS = ("task", "input", "available_samples", "data", "data_source", "data_sha256", "target_accuracy")


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


def identity(run: Path, cell: Cell) -> Mapping[str, Any]:
    """What the cell's guest was given to measure, by content; empty where it never got as far."""
    try:
        found = read_json(cell_folder(run, cell).spec).get("identity")
    except UserError:
        return {}
    return found if isinstance(found, dict) else {}


def _objects(value: object) -> dict[str, dict[str, Any]]:
    """The entries of `value` that are objects themselves."""
    if not isinstance(value, dict):
        return {}
    return {str(key): entry for key, entry in value.items() if isinstance(entry, dict)}


def _cell(run: Path, value: object) -> Cell:
    """The cell that run.json describes; keys of a later kbench are left out."""
    if isinstance(value, dict):
        known = {name: value[name] for name, kind in _OF_CELL.items() if isinstance(value.get(name), kind)}
        if known.keys() >= _NEEDED:
            return Cell(**known)
    raise UserError(f"{run / 'run.json'} is damaged: one of its cells is not described in full.")


def _measured(run: Path, cell: Cell, examples: Mapping[str, Mapping[str, Any]]) -> Measured:
    folder = cell_folder(run, cell)
    outcome = _outcome(folder)
    try:
        told = read_events(folder.events)
    except OSError as error:  # one cell's fate does not keep the others from being read
        told = understand(b"")
        if outcome.status == OK:
            outcome = Outcome(INTERRUPTED, f"its events.jsonl cannot be read: {error.strerror or error}")
    if outcome.status == OK and ("guest_seconds" not in told.facts or len(told.epochs) != cell.epochs):
        outcome = Outcome(
            INTERRUPTED, f"its events.jsonl is damaged: {len(told.epochs)} of {cell.epochs} epochs are left"
        )
    example = examples.get(cell.example, {})
    planned = {key: example[key] for key in _EXAMPLE_FACTS if example.get(key) is not None}
    return Measured(
        cell=cell,
        outcome=outcome,
        epochs=told.epochs,
        phases=told.phases,
        facts={**planned, **_data_facts(folder), **told.facts},
    )


def _data_facts(folder: CellFolder) -> dict[str, str]:
    """Which data the guest was given: the spec's `data` with its `name`, `source` and `sha256`.

    `content_sha256` is the hash where it is the same in either layout.
    """
    try:
        data = read_json(folder.spec).get("data")
    except UserError:  # the cell never got as far as a spec
        return {}
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
        value = read_json(folder.outcome)
    except UserError:
        return Outcome(INTERRUPTED, "its outcome.json is damaged")
    status, reason = value.get("status"), value.get("reason", "")
    if status not in STATUSES or not isinstance(reason, str):
        return Outcome(INTERRUPTED, "its outcome.json is damaged")
    samples, source, lines = (value.get(name) for name in ("reference_samples", "device_memory_source", "last_lines"))
    return Outcome(
        status,
        reason,
        seconds=_number(value.get("seconds")),
        exit_code=_whole(value.get("exit_code")),
        tree_memory_mib=_number(value.get("tree_memory_mib")),
        reference_seconds=_number(value.get("reference_seconds")),
        reference_samples=tuple(filter(None, map(_number, samples))) if isinstance(samples, list) else (),
        device_memory_mib=_number(value.get("device_memory_mib")),
        device_memory_source=source if isinstance(source, str) else "",
        last_event=str(value.get("last_event") or ""),
        last_lines=tuple(map(str, lines)) if isinstance(lines, list) else (),
    )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) else None
