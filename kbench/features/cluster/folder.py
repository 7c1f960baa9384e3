"""The results folder of a run on a cluster.

results/<run>/cluster.json                 what was asked for; its blocks
results/<run>/attempts.jsonl               one line each time that a machine was given a block, and what came of it
results/<run>/machines/<kind>/             an ordinary run, of all machines of one kind
results/<run>/machines/<kind>/blocks/<block>.json  the run.json of a measured block; that folder's run.json joins them
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from kbench import store
from kbench.base.whole_folders import scratch
from kbench.errors import UserError
from kbench.features.cluster.messages import Block, Result, Tried
from kbench.features.cluster.schedule import Worker
from kbench.features.coverage import results
from kbench.planning import request
from kbench.planning.request import Request
from kbench.records.values import Cell
from kbench.store.files import os_errors_as_user_errors, read_json, replace, replace_json
from kbench.store.runs import CLUSTER, LONGEST_NAME, MACHINES, create_with

BLOCKS = "blocks"
ATTEMPTS = "attempts.jsonl"
JOINED = ("backends", "examples")  # parts of the plans of blocks
FURTHER = ("extra_repeats", "short")  # parts of their requests: processes of undecided rows
PROVENANCE, ENVIRONMENTS = "provenance", "environments"
OF_COVERAGE = ("cases", "untried")  # the same of a coverage run, by the generation of Keras
MOST_BYTES, MOST_FILES = 2**28, 10_000  # of a block's files together
# The cells of a plan for a block whose machine sends this request, with what it chose.
Planned = Callable[[Block, Request], Iterable[Cell]]
# What a worker may send back.
_ALLOWED = re.compile(
    r"run\.json|locks/[^/]+\.lock|cells/[^/]+/([a-z]+(\.worker\d+)?\.(json|jsonl|txt)|keras_home/keras\.json)",
    re.ASCII,
)


@dataclass(frozen=True, kw_only=True)
class ClusterRun:
    """What is in cluster.json."""

    on: str
    request: Mapping[str, Any]  # without what each machine chooses
    device: str  # as given to --device
    blocks: tuple[Block, ...]
    argv: tuple[str, ...]
    spread: bool = False
    select: str = ""
    tried: Tried | None = None  # of a coverage run


def create(parent: Path, record: ClusterRun, name: str | None) -> Path:
    """Make the run's folder; returns it. Raises UserError."""
    run = create_with(CLUSTER, asdict(record), parent, name)
    (run / MACHINES).mkdir(exist_ok=True)
    return run


def read(run: Path) -> ClusterRun:
    """The contents of cluster.json. Raises UserError."""
    try:
        return msgspec.convert(read_json(run / CLUSTER), ClusterRun)
    except msgspec.ValidationError as error:
        raise UserError(f"{run / CLUSTER} is damaged: {error}.") from None


def finished_blocks(run: Path) -> set[str]:
    """The names of the blocks that are measured."""
    return {path.stem for path in run.glob(f"{MACHINES}/*/{BLOCKS}/*.json")}


def kinds(run: Path) -> list[Path]:
    """The folders of the kinds of machines that have measured something."""
    return sorted(path.parent for path in (run / MACHINES).glob(f"*/{BLOCKS}"))


def note_attempt(run: Path, block: Block, worker: Worker, started: datetime, status: str, reason: str) -> None:
    """Add a line to attempts.jsonl. Raises UserError."""
    line = {
        "block": block.name,
        "machine": worker.kind,
        "worker": worker.address,
        "started": started.isoformat(timespec="seconds"),
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
        "status": status,
        "reason": reason,
    }
    path = run / ATTEMPTS
    with os_errors_as_user_errors("write", path), path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def accept(run: Path, kind: str, block: Block, result: Result, planned: Planned) -> None:
    """Keep all files of a measured block, or none. Raises ValueError if they are not a block's, or UserError.

    `planned`: the cells of a plan for a block, as the machine chose that sends this request.
    """
    if sum(map(len, result.files.values())) > MOST_BYTES:
        raise ValueError(f"it sent more than {MOST_BYTES >> 20} MiB")
    wrong = [name for name in result.files if not _ALLOWED.fullmatch(name) or "/." in name or "\0" in name]
    # Names of a folder's files have up to 255 bytes.
    wrong += [name for name in result.files if max(map(len, name.encode().split(b"/"))) > LONGEST_NAME]
    if len(result.files) > MOST_FILES:
        raise ValueError(f"it sent more than {MOST_FILES:,} files")
    if wrong:
        raise ValueError(f"it sent a file that does not belong to a block: {wrong[0][:80]!r}")
    record = read(run)  # which also says that the run's folder is still there
    folder = run / MACHINES / kind
    with os_errors_as_user_errors("write", folder), scratch(folder / f".new-{secrets.token_hex(8)}") as sent:
        for name, content in result.files.items():
            (sent / name).parent.mkdir(parents=True, exist_ok=True)
            (sent / name).write_bytes(content)
        _check(sent, block, record, planned)
        (folder / BLOCKS).mkdir(exist_ok=True)
        (folder / "cells").mkdir(exist_ok=True)
        for cell in sent.glob("cells/*"):
            shutil.rmtree(folder / "cells" / cell.name, ignore_errors=True)  # of a client that was killed here
            cell.rename(folder / "cells" / cell.name)
        for lock in sent.glob("locks/*"):
            (folder / "locks").mkdir(exist_ok=True)
            lock.replace(folder / "locks" / lock.name)
        # Last: with this file the block counts as measured.
        replace(folder / BLOCKS / f"{block.name}.json", (sent / "run.json").read_bytes())


def _check(sent: Path, block: Block, record: ClusterRun, planned: Planned) -> None:
    """Raises ValueError if the files are not those of the block's cells."""
    try:
        there = store.read(sent)
        asked = request.read(_parts(sent / "run.json")["request"], sent)
        listed = (*there.cells, *there.short_cells)
        cells = {cell.id: cell for cell in listed}
        others = {path.name for path in sent.glob("cells/*")} - cells.keys()
        if record.tried:
            results.plan_of(there)
            is_planned = {results.generation(cell.backend) for cell in listed} == {block.example}
        else:
            is_planned = cells == {cell.id: cell for cell in planned(block, asked)}
            locks = {name.replace("/", "-") for name in record.request["backends"]}
            others |= {lock.stem for lock in sent.glob("locks/*")} - locks
    except UserError as error:
        raise ValueError(str(error)) from None
    if others or not is_planned or len(cells) < len(listed):
        raise ValueError("it sent other cells than those of its block")


def _parts(path: Path) -> Mapping[str, Any]:
    """A block's run.json, with all that `join` needs. Raises UserError."""
    whole = read_json(path)
    plan, asked, provenance = whole.get("plan"), whole.get("request"), whole.get(PROVENANCE)
    if not (
        isinstance(plan, dict)
        and isinstance(asked, dict)
        and isinstance(plan.get("cells"), list)
        and all(isinstance(plan.get(part), dict) for part in JOINED)
        and all(isinstance(plan.get(part, {}), dict) for part in OF_COVERAGE)
        and isinstance(provenance, dict)
        and isinstance(provenance.get(ENVIRONMENTS, {}), dict)
    ):
        raise UserError(f"{path.name} lacks a part of the plan.")
    request.read(asked, path.parent)
    return whole


def join(run: Path, kind: Path) -> None:
    """Write the kind's run.json from those of its blocks. Raises UserError."""
    record = read(run)
    order = {one.name: number for number, one in enumerate(record.blocks)}

    def position(path: Path) -> tuple[int, str]:
        name = path.stem.removesuffix(f"__{kind.name}")
        return order.get(name, len(order)), name

    blocks = [_parts(path) for path in sorted((kind / BLOCKS).glob("*.json"), key=position)]
    plans = [one["plan"] for one in blocks]
    parts = (*JOINED, *OF_COVERAGE) if record.tried else JOINED
    plan = {
        **plans[0],
        "cells": [cell for one in plans for cell in one["cells"]],
        **{part: {name: of for one in plans for name, of in one.get(part, {}).items()} for part in parts},
        **({"shown": record.request["backends"]} if record.tried else {}),
    }
    requests = [one["request"] for one in blocks]
    asked = {
        **requests[0],
        "backends": record.request["backends"],
        "examples": record.request["examples"],
        **{part: {row: of for one in requests for row, of in one.get(part, {}).items()} for part in FURTHER},
    }
    environments = {name: of for one in blocks for name, of in one[PROVENANCE].get(ENVIRONMENTS, {}).items()}
    whole = {
        **blocks[0],
        "name": f"{run.name}/{kind.name}",
        "created": min(str(one.get("created", "")) for one in blocks),
        "request": asked,
        "plan": plan,
        PROVENANCE: {**blocks[0][PROVENANCE], ENVIRONMENTS: environments},
    }
    if not (kind / "run.json").is_file() or read_json(kind / "run.json") != whole:  # it may be read-only
        replace_json(kind / "run.json", whole)
