"""Test helper: builds cells, summaries and whole runs on disk without running anything."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from statistics import NormalDist
from typing import Any

from kbench import store
from kbench.analysis.rows import Analysis
from kbench.analysis.times import levels
from kbench.analysis.times.ratios import verdict
from kbench.planning.request import Request
from kbench.planning.tasks import CellTask
from kbench.records import axes
from kbench.records.epochs import Epoch
from kbench.records.findings import Finding
from kbench.records.reported import Facts, parse_facts
from kbench.records.values import FASTEST, OK, Cell, Measured, Outcome
from kbench.summary import TO_BASELINE, TO_DEFAULT, TO_FASTEST, Ratio, Summary
from kbench.words import sentences

COLORS = {
    "keras2/tensorflow": "#e69f00",
    "keras2/cntk": "#56b4e9",
    "keras2/theano": "#009e73",
    "keras2/mxnet": "#0072b2",
    "keras3/tensorflow": "#d55e00",
    "keras3/jax": "#cc79a7",
    "keras3/torch": "#222222",
    "keras3/openvino": "#999999",
}
PROVENANCE = {
    "command_line": "run.py --backends all",
    "cpu": {"model": "A processor", "visible": 2},
    "memory_mib": 24000,
    "system": {"name": "Linux", "kernel": "6.1.0"},
    "gpus": [],
}


def cell(example: str = "mnist_cnn", backend: str = "keras2/cntk", **changes: Any) -> Cell:
    """A cell with these values on its axes and in its fields; `axes`: those that vary in its run."""
    values: dict[str, Any] = {
        **_of_title(example),
        "backend": backend,
        "image_data_format": "channels_last",
        "device": "cpu",
        "task": "train",
        "batch_size": 128,
        "samples": 1000,
    }
    one = Cell(values=axes.complete(values), repeat=1, profile="quick", validation_samples=200, epochs=3, seed=0)
    return _changed(one, changes)


def task(the_cell: Cell, **changes: Any) -> CellTask:
    """The same as a task, with these values on its axes and in its fields."""
    needed = {"input": "image", "example_sha256": "", "parameters": None, "keras_backend": ""}
    values = {name: changes.pop(name) for name in tuple(changes) if name in the_cell.values}
    return CellTask(**vars(the_cell.at(**values)), **{**needed, **changes})


def request(**given: Any) -> Request:
    """A request, with values on axes by their names."""
    values = {axis.name: given.pop(axis.name) for axis in axes.of_cells() if axis.name in given}
    return Request(values=values, **given)


def _of_title(example: str) -> dict[str, str]:
    """The program and its line in the name of a row, or the example."""
    program, _, site = example.partition(": ")
    return {"example": program, "site": site}


def _changed(one: Cell, changes: Mapping[str, Any]) -> Any:
    varied = changes.get("axes", {})
    values = {name: value for name, value in changes.items() if name in one.values} | varied
    values |= _of_title(values["example"]) if "example" in values else {}
    others = {name: value for name, value in changes.items() if name not in (*values, "axes")}
    others |= {"varied": tuple(varied)} if "axes" in changes else {}
    return dataclasses.replace(one, values=axes.complete({**one.values, **values}), **others)


def epochs(*seconds: float, samples: int = 1000, **metrics: Any) -> tuple[Epoch, ...]:
    """Epochs of these seconds; a metric is one value for all, or a list with one for each."""
    return tuple(
        Epoch(
            number,
            duration,
            samples,
            **{name: v[number - 1] if isinstance(v, list) else v for name, v in metrics.items()},
        )
        for number, duration in enumerate(seconds, 1)
    )


def known(**facts: object) -> Facts:
    """As the store would read them."""
    return Facts(**parse_facts(facts))


def measured(
    the_cell: Cell,
    *seconds: float,
    status: str = OK,
    reason: str = "",
    phases: Mapping[str, float] | None = None,
    facts: Mapping[str, object] | None = None,
    **metrics: Any,
) -> Measured:
    done = epochs(*seconds, samples=the_cell.samples, **metrics)
    return Measured(the_cell, Outcome(status, reason), done, phases or {}, known(**(facts or {})))


# Kind of a ratio -> the columns that show its value, interval and processes.
_COLUMNS = {
    TO_FASTEST: ("relative_to_fastest", "relative_interval", "relative_processes"),
    TO_BASELINE: ("relative_to_baseline", "baseline_interval", ""),
    TO_DEFAULT: ("relative_to_default", "default_interval", ""),
}


def replace(row: Any, **changes: Any) -> Any:
    """A value with changes, as of dataclasses; a row's ratios are given by the columns that show them.

    Of a cell or a row also values on its axes, and `axes`, those that vary in its run.
    """
    if isinstance(row, Cell):
        return _changed(row, changes)
    if not isinstance(row, Summary):
        return dataclasses.replace(row, **changes)
    changes["point"] = _point(row, changes)
    changes.pop("axes", None)
    names = {name for columns in _COLUMNS.values() for name in columns}
    names |= {axis.name for axis in axes.of_cells() if not hasattr(row, axis.name)}
    others = {name: value for name, value in changes.items() if name not in names}
    row = dataclasses.replace(row, **others)
    found = dict(row.ratios)
    for kind, (value, interval, processes) in _COLUMNS.items():
        was = found.pop(kind, None)
        ratio = changes.get(value, was and was.value)
        ends = changes.get(interval, was and was.interval)
        if ratio is not None:
            word = row.verdict if row.verdict and bool(row.baseline) == (kind == TO_BASELINE) else verdict(ends)
            word = FASTEST if kind == TO_FASTEST and ratio == 1 else word
            count, error = changes.get(processes, was and was.processes), 1e-9
            if ends and ends.low > 0:  # the other row's time is known for sure
                error += math.log(ends.high / ends.low) / 2 / NormalDist().inv_cdf(0.975)
            time = NormalDist(math.log(ratio), error) if ratio > 0 and (ends or ratio == 1) else None
            own = tuple(map(time.inv_cdf, levels.PARTS.tolist())) if time else ()
            found[kind] = Ratio(kind, "keras3/other", ratio, ends, word, count, quantiles=own)
    return dataclasses.replace(row, ratios=found)


def _point(row: Summary, changes: Mapping[str, Any]) -> axes.Point:
    varied = changes.get("axes", {name: row.key[name] for name in row.key.varied})
    others = {
        axis.name: getattr(row, axis.name, row.key[axis.name]) for axis in axes.of_cells() if axis.name != axes.SITE
    }
    own = others | {"data_source": ""}
    own |= {name: one for name, one in changes.items() if name in own and name != "data_source"}
    own |= _of_title(str(own["example"]))
    values = axes.complete({**{name: one for name, one in own.items() if one is not None}, **varied})
    return axes.key(tuple(values.items()), tuple(varied))


def summary(backend: str = "keras2/cntk", example: str = "mnist_cnn", **changes: Any) -> Summary:
    values: dict[str, Any] = {
        "image_data_format": "channels_last",
        "device": "cpu",
        "profile": "quick",
        "status": OK,
        "reason": "",
        "repeats": 1,
        "epoch_seconds": 1.5,
        "first_epoch_seconds": 2.5,
        "samples_per_second": 1000 / 1.5,
        "relative_to_fastest": 1.0,
        "final_loss": 0.25,
        "final_accuracy": 0.9,
        "final_val_loss": 0.125,
        "final_val_accuracy": 0.9375,
        "parameters": 1199882,
        "keras_version": "2.2.4",
        "backend_version": "2.7",
        "input": "image",
        "batch_size": 128,
        "samples": 1000,
        "validation_samples": 200,
        "epochs": 3,
        "available_samples": 60000,
        "data_source": "real",
    }
    given = values | changes
    fields = {one.name for one in dataclasses.fields(Summary) if one.init}
    row = Summary(example=example, backend=backend, **{name: one for name, one in given.items() if name in fields})
    return replace(row, **{"axes": {}} | {name: one for name, one in given.items() if name not in fields})


UNLIKE = (Finding(kind="aspect", aspect="data", reference="a/x"),)  # unlike a/x in its data


def notes(*texts: str) -> tuple[Finding, ...]:
    """The findings of a row whose guest told these."""
    return tuple(Finding(kind="told", own=text) for text in texts)


def in_words(found: Mapping[str, Iterable[Finding]]) -> dict[str, tuple[str, ...]]:
    """The sentences of each cell's findings."""
    return {cell: tuple(map(sentences.sentence, several)) for cell, several in found.items()}


def plan(cells: Iterable[Cell], **example_facts: Any) -> dict[str, Any]:
    planned = [one.at(task=example_facts.get("task", one.task)) for one in cells]
    example = {"task": "train", "input": "image", "available_samples": 60000, "data": "mnist"} | example_facts
    return {
        "cells": [asdict(one) for one in planned],
        "backends": {
            one.backend: {"title": one.backend.title(), "color": COLORS.get(one.backend, ""), "notes": []}
            for one in planned
        },
        "examples": {one.example: example for one in planned},
    }


def learning(the_cell: Cell, epoch_seconds: float, best: float = 0.95) -> list[dict[str, Any]]:
    """The events of a guest whose accuracy rises towards `best`."""
    backend = the_cell.backend.partition("/")[2]
    told: list[dict[str, Any]] = [
        {"event": "start", "schema": 1, "pid": 7, "python": "3.6.15"},
        {"event": "phase", "name": "import", "seconds": 1.5},
        {"event": "loaded", "keras_version": "2.2.4", "backend": backend, "backend_version": "2.7"},
        {"event": "phase", "name": "build", "seconds": 0.25},
        {"event": "model", "parameters": 1199882, "form": "", "layers": [["Dense", {"units": 10}, [[784, 10]]]]},
        {"event": "phase", "name": "first_step", "seconds": 0.75},
    ]
    for number in range(1, the_cell.epochs + 1):
        accuracy = best * (1 - math.exp(-0.6 * number - 0.05 * the_cell.repeat))
        told.append(
            {
                "event": "epoch",
                "epoch": number,
                "seconds": epoch_seconds * (2.0 if number == 1 else 1 + 0.01 * number),
                "samples": the_cell.samples,
                "loss": 1.1 - accuracy,
                "accuracy": accuracy,
                "val_loss": 1.2 - accuracy,
                "val_accuracy": accuracy - 0.02,
                "evaluation_seconds": 0.1 * epoch_seconds,
                "teardown_seconds": 0.001 * epoch_seconds,
            }
        )
    return [*told, {"event": "end", "seconds": 9.0}]


def analysis(cells: Iterable[Measured], short: Iterable[Measured] = (), **of_run: Any) -> Analysis:
    """That of a run with these cells and short processes; `of_run`: what else its RunResults have."""
    whole = tuple(cells)
    given: dict[str, Any] = {
        "folder": Path("results", "run"),
        "name": "run",
        "created": "2026-01-01",
        "request": {},
        "plan": {},
    }
    given |= {"provenance": PROVENANCE, "cells": tuple(one.cell for one in whole), **of_run}
    return Analysis(store.RunResults(**given, measured=whole, short=tuple(short)))


def write_events(run: Path, the_cell: Cell, events: Iterable[Mapping[str, Any]]) -> Path:
    folder = store.cell_folder(run, the_cell)
    store.write_spec(run, the_cell, {"data": {"name": "mnist", "source": "real", "sha256": "ab" * 32}}, {})
    folder.events.write_text("".join(json.dumps(event) + "\n" for event in events))
    return folder.events


def fake_run(
    parent: Path,
    fates: Iterable[tuple[Cell, float, Outcome]],
    name: str | None = None,
    provenance: Mapping[str, Any] = PROVENANCE,
    **example_facts: Any,
) -> Path:
    """A run on disk: for each cell its seconds per epoch, and its outcome."""
    cells = list(fates)
    run = store.create(parent, plan([one for one, _, _ in cells], **example_facts), provenance, name)
    for one, seconds, outcome in cells:
        write_events(run, one, learning(one, seconds) if outcome.status == OK else [])
        store.write_outcome(run, one, outcome)
    return run
