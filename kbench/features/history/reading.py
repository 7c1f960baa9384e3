"""Reads runs: which ones are meant, and what each says of its rows."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from kbench import hooks, store
from kbench.analysis.rows import Analysis
from kbench.analysis.sameness import fingerprints
from kbench.analysis.times import machine_stability
from kbench.analysis.times.ratios import Timed
from kbench.errors import UserError
from kbench.features.history.values import COVERAGE, Machine, Reading
from kbench.machine import devices, host, provenance
from kbench.machine.host import value_or
from kbench.records import axes
from kbench.records.values import OK
from kbench.store import RunRecord

BUSY = "other programs used the processor"  # why a time does not count
_CPUINFO = Path("/proc/cpuinfo")
_ASKED = ("version", "keras")  # the axes of a backend's name that say a version


def runs(named: Sequence[str], results: Path) -> list[Path]:
    """The runs that are meant: each by name or path, or all in a folder. Raises UserError."""
    found: dict[Path, None] = {}
    for text in named:
        folder = Path(text)
        is_parent = folder.is_dir() and not store.is_run(folder)
        inside = [folder / name for name in store.names(folder)] if is_parent else []
        if is_parent and not inside:
            raise UserError(f"There are no runs in {text}: name a run, or a folder of runs.")
        for run in inside or [store.find(text, results)]:
            found |= dict.fromkeys(store.machines(run) if store.is_cluster(run) else [run])
    return list(found)


@dataclass(frozen=True)
class Read:
    """What runs say, each once, the oldest first."""

    readings: Sequence[Reading]
    others: Sequence[str]  # runs that neither time anything nor try public names
    failed: Mapping[str, Sequence[str]]  # rows that did not run, by the reason


def readings(folders: Sequence[Path]) -> Read:
    """What the runs say. Raises UserError."""
    now = present()
    records = sorted(map(store.read_record, folders), key=lambda one: one.created)
    machines = [machine(record.provenance, now) for record in records]
    found, others, known, failed = list[Reading](), list[str](), set[object](), dict[str, list[str]]()
    for record, one in zip(records, machines, strict=True):
        if (same := (record.created, str(record.plan.get("cells"))[:9999])) in known:  # a copy, or packed as well
            continue
        known.add(same)
        kind = hooks.kind_of(record)
        if kind is None:
            analysis = Analysis(store.measured_of(record))
            found += _of_times(record, _filled(one, machines), analysis)
            for row in analysis.rows:
                if row.status != OK and row.reason:
                    failed.setdefault(row.reason, []).append(f"{row.example} on {row.backend}")
        elif kind.name == COVERAGE:
            found += _of_coverage(record, _filled(one, machines))
        else:
            others.append(record.name)
    return Read(found, others, {reason: list(dict.fromkeys(of)) for reason, of in failed.items()})


def present() -> dict[str, Any]:
    """What runs keep of a machine, of this one."""
    gpus = [{"name": one.name, "driver": one.driver} for one in devices.gpus() if one.kind == "gpu"]
    return {**host.read(), "gpus": gpus, **microcode()}


def microcode() -> dict[str, str]:
    """The processor's, which may change its speed; nothing if it is unknown."""
    text = value_or(lambda: _CPUINFO.read_text("ascii", "replace"), "")
    found = re.search(r"^microcode\s*:\s*(\S+)", text, re.MULTILINE)
    return {"microcode": found[1]} if found else {}


def same_machine(reported: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether a line may have what was measured on both: what is unknown of one is not compared."""
    mine, its = machine(reported, now), machine(now, now)
    pairs = zip(mine.state, its.state, strict=True)
    return mine.kind == its.kind and all(one == other for (_, one), (_, other) in pairs if one and other)


def _filled(one: Machine, others: Sequence[Machine]) -> Machine:
    """With what only some runs on it say, if those agree: earlier kbenches kept no microcode."""
    of_kind = [dict(other.state) for other in others if other.kind == one.kind]
    known = {name: {state[name] for state in of_kind if state[name]} for name, _ in one.state}
    state = [(name, value or (next(iter(known[name])) if len(known[name]) == 1 else "")) for name, value in one.state]
    return replace(one, state=tuple(state))


def machine(reported: Mapping[str, Any], now: Mapping[str, Any]) -> Machine:
    """Names of machines are not kept, so two that are alike in all of this cannot be told apart."""
    memory = reported.get("memory_mib")
    words = [provenance.kind_of(provenance.processor(reported), "", provenance.gpu_names(reported))]
    words += [f"{memory / 1024:.0f} GiB"] if isinstance(memory, int | float) else []
    system, cpu = (value if isinstance(value := reported.get(name), dict) else {} for name in ("system", "cpu"))
    gpus = reported.get("gpus")
    drivers = (
        [str(one.get("driver") or "") for one in gpus if isinstance(one, dict)] if isinstance(gpus, list) else []
    )
    state = {"kernel": system.get("kernel"), "microcode": reported.get("microcode"), "governor": cpu.get("governor")}
    state |= {"cores": provenance.cores(reported), "GPU driver": ", ".join(drivers)}
    here = not provenance.machine_differences(now, reported)
    return Machine(", ".join(words), tuple((name, str(value or "")[:80]) for name, value in state.items()), here)


def version(text: str) -> str:
    """A version without what a build adds to it: 2.9.0 of 2.9.0+cpu."""
    return text.partition("+")[0]


def plain_name(backend: str) -> str:
    """The backend's name without the versions that were asked for."""
    name, _, settings = axes.split_name(backend)
    return "+".join([name, *(one for one in settings if not one.startswith("keras="))])


def _of_keras(backend: str, reported: str) -> str:
    """The version of Keras; with its folder, if it is the user's own."""
    asked = str(axes.of_name(backend).get("keras", ""))
    return f"{version(reported)} ({PurePath(asked).name})" if "/" in asked else version(reported)


def _of_times(record: RunRecord, machine: Machine, analysis: Analysis) -> Iterator[Reading]:
    cells = {one.cell.key: one for one in reversed(analysis.row_cells) if one.outcome.status == OK}
    compared = {row.key: row for row in analysis.rows}
    for timed in analysis.timed:
        row = compared.get(timed.row.key, timed.row)
        if row.status != OK or not row.keras_version + row.backend_version:
            continue
        refused = _refused(timed, row.differs[0] if row.differs else "")
        yield Reading(
            run=record.name,
            created=record.created,
            machine=machine,
            example=row.example,
            backend=row.backend,
            plain=plain_name(row.backend),
            key=(row.key.without([*_ASKED, axes.RUN]), row.profile, row.epochs, row.data_source, row.weights),
            keras=_of_keras(row.backend, row.keras_version),
            framework=version(row.backend_version),
            log_seconds=None if refused else math.log(timed.seconds),
            offsets=() if refused or not timed.time else tuple(_centred(timed.time.quantiles)),
            loss=row.final_loss,
            memory=row.peak_memory_mib,
            work=fingerprints.reported(cells[row.key]) if row.key in cells else {},
            refused=refused,
        )


def _centred(quantiles: Sequence[float]) -> list[float]:
    values = np.asarray(quantiles)
    return (values - values[len(values) // 2]).tolist()  # type: ignore[no-any-return]


def _refused(timed: Timed, differs: str) -> str:
    """Why the time of a row does not count; empty if it does."""
    if not timed.row.work.compared or not 0 < timed.seconds < math.inf:
        return "it has no steady time"
    if differs:
        return f"it does other work ({differs})"
    if machine_stability.disturbs(timed.row):
        return BUSY
    return "" if timed.time and timed.time.quantiles else "it has too few epochs"


def _of_coverage(record: RunRecord, machine: Machine) -> Iterator[Reading]:
    from kbench.features.coverage.versions import sides

    run = store.measured_of(record)
    facts = {one.cell.backend: one.facts for one in run.measured if one.facts.keras_version}
    for backend, side in sides(run).items():
        if backend in facts:
            told = facts[backend]
            yield Reading(
                run=record.name,
                created=record.created,
                machine=machine,
                example="public names",
                backend=backend,
                plain=plain_name(backend),
                key=(plain_name(backend), COVERAGE, side.only),
                keras=_of_keras(backend, told.keras_version),
                framework=version(told.backend_version),
                states=side,
            )
