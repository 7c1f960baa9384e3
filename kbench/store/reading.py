"""Reads a run from its folder: the request, and each cell's outcome and report."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from kbench.errors import UserError
from kbench.records import axes, workloads
from kbench.records.reported import parse_facts
from kbench.records.values import INTERRUPTED, OK, STATUSES, Cell, Measured, Outcome
from kbench.store.events import AGAIN, parse_events, read_events
from kbench.store.files import read_json
from kbench.store.packed import raw_folder
from kbench.store.runs import MOST_BYTES_OF_A_NAME, SCHEMA, CellFolder, cell_folder, is_cluster, machines

# Facts of an example in run.json that each of its cells needs.
_EXAMPLE_FACTS = ("task", "input", "available_samples", "data", "data_source", "data_sha256", "target")


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """The contents of a run's run.json."""

    folder: Path  # with what is derived from the run; that of a packed one need not be there
    name: str
    created: str  # UTC, ISO 8601
    request: Mapping[str, Any]  # what was asked for; see kbench.planning.request
    plan: Mapping[str, Any]
    provenance: Mapping[str, Any]
    cells: tuple[Cell, ...]  # of whole processes
    short_cells: tuple[Cell, ...] = ()
    resumed: tuple[Mapping[str, Any], ...] = ()  # the provenance of each time that it was resumed

    @property
    def raw_folder(self) -> Path:
        """The folder with its raw files."""
        return raw_folder(self.folder)

    @property
    def baseline(self) -> str:
        """The backend of --baseline; empty if there is none."""
        found = self.request.get("baseline")
        return found if isinstance(found, str) else ""

    @property
    def backends(self) -> dict[str, dict[str, Any]]:
        """What tables and plots need of each backend."""
        return objects(self.plan.get("backends"))

    @property
    def examples(self) -> dict[str, dict[str, Any]]:
        """The same of each example."""
        return objects(self.plan.get("examples"))

    @property
    def adds_processes(self) -> bool:
        """Whether undecided rows of the run are repeated."""
        return isinstance(self.request.get("precision"), int | float)


@dataclass(frozen=True, kw_only=True)
class RunResults(RunRecord):
    """A run with the measurements of its cells."""

    measured: tuple[Measured, ...]  # whole processes in the plan's order, cells that never ran included
    short: tuple[Measured, ...] = ()  # processes that only timed some steps


# By a cell's id: what its files were when they were read, and what came of them.
ReadCells = dict[str, tuple[object, Measured]]


def read(run: Path, known: ReadCells | None = None) -> RunResults:
    """The run in that folder; a damaged cell is interrupted, with what can be read of it. Raises UserError.

    If it has none, its files are those of the packed run beside it. `known`: its cells as they were read before, to
    which those of now are added: only new and changed files are read.
    """
    return measured_of(read_record(run), known)


def _name(run: Path, record: Mapping[str, Any]) -> str:
    """What its folder is called now; with the name of the whole run, if it is that of one kind of machine."""
    whole, part, _ = str(record.get("name", "")).rpartition("/")
    return f"{whole}{part}{run.name}"


def read_record(run: Path) -> RunRecord:
    """The contents of run.json in the folder `run`; raises what `read` does."""
    if is_cluster(run):
        there = ", ".join(map(str, machines(run))) or "none has measured anything yet"
        raise UserError(f"{run} has a run for each kind of machine: name one of them ({there}).")
    raw = raw_folder(run)
    if not (raw / "run.json").is_file():
        raise UserError(f"{run} is not a run's folder: it has no run.json.")
    record = read_json(raw / "run.json")
    schema = record.get("schema")
    if isinstance(schema, int) and schema != SCHEMA:
        age, advice = ("a newer", "update kbench") if schema > SCHEMA else ("an older", "read it with that one")
        raise UserError(f"{run} was written by {age} kbench (schema {schema}; this one reads {SCHEMA}): {advice}.")
    request, plan, provenance = record.get("request"), record.get("plan"), record.get("provenance")
    if record.get("schema") != SCHEMA or not (
        isinstance(request, dict)
        and isinstance(plan, dict)
        and isinstance(provenance, dict)
        and isinstance(plan.get("kind"), str | None)
    ):
        raise UserError(
            f"{run / 'run.json'} is damaged: it has no schema, request, plan or provenance that kbench knows."
        )
    planned = plan.get("cells")
    if not isinstance(planned, list):
        raise UserError(f"{run / 'run.json'} is damaged: its plan lists no cells.")
    resumed = record.get("resumed")
    cells = [_cell(run, value) for value in planned]
    return RunRecord(
        folder=run,
        name=_name(run, record),
        created=str(record.get("created", "")),
        request=request,
        plan=plan,
        provenance=provenance,
        cells=tuple(cell for cell in cells if not cell.timing),
        short_cells=tuple(cell for cell in cells if cell.timing),
        resumed=tuple(one for one in resumed if isinstance(one, dict)) if isinstance(resumed, list) else (),
    )


def measured_of(record: RunRecord, known: ReadCells | None = None) -> RunResults:
    """The run with the reports of its guests. `known`: see `read`."""
    known = {} if known is None else known
    examples, backends, raw = record.examples, record.backends, record.raw_folder

    def measured(cell: Cell) -> Measured:
        about = examples.get(cell.example, {}), backends.get(cell.backend, {})
        now = cell, about, _written(raw, cell)
        if cell.id not in known or known[cell.id][0] != now:
            known[cell.id] = now, _measured(raw, cell, *about)
        return known[cell.id][1]

    return RunResults(
        **vars(record), measured=tuple(map(measured, record.cells)), short=tuple(map(measured, record.short_cells))
    )


def _written(run: Path, cell: Cell) -> list[tuple[int, ...]]:
    """What is another one if any of a cell's files is."""
    folder, found = cell_folder(run, cell), list[tuple[int, ...]]()
    for path in (folder.spec, folder.events, folder.log, folder.outcome, *_of_further_workers(run, cell)):
        try:
            about = path.stat()
            found.append((about.st_ino, about.st_size, about.st_mtime_ns))
        except OSError:
            found.append(())
    return found


def _of_further_workers(run: Path, cell: Cell) -> list[Path]:
    """The events of the cell's processes beside the first one, which it may not have."""
    return [cell_folder(run, cell, number).events for number in range(1, cell.workers)]


def spec(run: Path, cell: Cell) -> Mapping[str, Any]:
    """The spec of the cell's guest; empty if none was started."""
    try:
        return read_json(cell_folder(run, cell).spec)
    except UserError:
        return {}


def outcome(run: Path, cell: Cell) -> Outcome:
    """The outcome of the cell; interrupted where it has none."""
    return _outcome(cell_folder(run, cell))


def objects(value: object) -> dict[str, dict[str, Any]]:
    """The entries of `value` that are objects themselves."""
    if not isinstance(value, dict):
        return {}
    return {str(key): entry for key, entry in value.items() if isinstance(entry, dict)}


def _cell(run: Path, value: object) -> Cell:
    """The cell that run.json describes; keys of a later kbench are left out."""
    try:
        cell = msgspec.convert(value, Cell)
        cell = replace(cell, values=axes.complete(cell.values))
        is_name = "\0" not in cell.id and len(os.fsencode(cell.id)) <= MOST_BYTES_OF_A_NAME
        if cell.task not in workloads.TASKS or not is_name:
            raise ValueError(cell.id)
        return cell
    except ValueError:  # ValidationError is one, too
        raise UserError(f"{run / 'run.json'} is damaged: one of its cells is not described in full.") from None


def _measured(run: Path, cell: Cell, example: Mapping[str, Any], backend: Mapping[str, Any]) -> Measured:
    folder = cell_folder(run, cell)
    outcome = _outcome(folder)
    try:
        report = read_events(folder.events)
    except OSError as error:  # the other cells must still be read
        report = parse_events(b"")
        if outcome.status == OK:
            outcome = Outcome(INTERRUPTED, f"its events.jsonl cannot be read: {error.strerror or error}")
    of_any_length = bool(cell.timing) or report.facts.program is not None
    if outcome.status == OK and not report.has_ended(cell.epochs, of_any_length):
        outcome = Outcome(
            INTERRUPTED, f"its events.jsonl is damaged: {len(report.epochs)} of {cell.epochs} epochs are left"
        )
    planned = {key: example[key] for key in _EXAMPLE_FACTS if example.get(key) is not None}
    if (task := cell.task) != planned.get("task", task):  # inference of what the example trains
        planned = {**planned, "task": task, "target": ""}
    asked = spec(run, cell)
    planned |= {
        "policy": asked.get("policy"),
        "explained": backend.get("explained"),
        "beside_newer": backend.get("beside_newer"),
        **_data_facts(asked.get("data")),
    }
    notes = (*report.facts.notes, *filter(None, [outcome.after_end]))
    of = report.facts.of
    for path in _of_further_workers(run, cell):
        with contextlib.suppress(OSError):
            told = read_events(path).facts.of
            of = {**of, **{name: {**told[name], **of.get(name, {})} for name in told}}
    return Measured(
        cell=cell,
        outcome=outcome,
        epochs=report.epochs,
        phases=report.phases,
        facts=msgspec.structs.replace(report.facts, notes=notes, of=of, **parse_facts(planned)),
    )


def _data_facts(data: object) -> dict[str, str]:
    """Facts about the guest's data, from its spec; `content_sha256` is its hash if that is the same in any layout."""
    if not isinstance(data, dict):
        return {}
    keys = {"name": "data", "source": "data_source", "sha256": "data_sha256"}
    facts = {fact: data[key] for key, fact in keys.items() if isinstance(data.get(key), str)}
    # Earlier versions hashed images in the layout of the cell.
    return facts | {"content_sha256": facts["data_sha256"]} if "hash_of" in data and "data_sha256" in facts else facts


def _outcome(folder: CellFolder) -> Outcome:
    if not folder.outcome.is_file():
        started = folder.events.is_file() or folder.log.is_file()
        return Outcome(INTERRUPTED, "stopped before it ended" if started else "not started")
    with contextlib.suppress(UserError, msgspec.ValidationError):
        outcome = msgspec.convert(read_json(folder.outcome), Outcome)
        if outcome.status in STATUSES:
            again = tuple(number % AGAIN for number in outcome.disturbed_rounds if number >= AGAIN)  # of old runs
            rounds = tuple(number for number in outcome.disturbed_rounds if number < AGAIN)
            return replace(outcome, disturbed_rounds=rounds, disturbed_again=outcome.disturbed_again + again)
    return Outcome(INTERRUPTED, "its outcome.json is damaged")
