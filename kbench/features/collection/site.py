"""`site`: pages of a collection, which need no server: which backend on which processor for which kind of model."""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import math
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from kbench.base import paths
from kbench.errors import UserError
from kbench.features.collection import collection, joined, rules, submitted
from kbench.features.collection.admit import Answer, admitted
from kbench.features.collection.collection import Collection
from kbench.features.collection.submitted import Submitted
from kbench.features.coverage import page as coverage_page
from kbench.features.coverage.finish import keras_backends
from kbench.features.coverage.known import names as public_names
from kbench.features.coverage.values import BAD
from kbench.features.history import page as history_page
from kbench.features.history import told
from kbench.machine import provenance
from kbench.records import axes
from kbench.records.values import INFER, SCRIPT, SLOWER, Example
from kbench.report import templates
from kbench.store.files import os_errors_as_user_errors, replace
from kbench.store.packed import SUFFIX
from kbench.summary import Summary
from kbench.words.text import significant

_HERE = Path(__file__).parent
_KINDS = {"image": "Images", "flat": "Vectors", "sequence": "Sequences"}
_SECONDS = {"s": 1, "min": 60}  # in a published figure's unit


@dataclass(frozen=True)
class Measure:
    """How many times as long as the fastest a backend takes, with what that is of."""

    kind: str  # of model
    processor: str
    machine: str  # what tells it from others with the processor
    example: str
    backend: str
    times: float
    seconds: float
    source: str  # the run's name, or that of the literature
    address: str  # of its page
    slower: bool = False  # whether it is shown to be slower than the fastest
    published: bool = False


@dataclass(frozen=True)
class Place:
    """A backend on a processor, over all examples of a kind."""

    backend: str
    measures: Sequence[Measure]

    @cached_property
    def times(self) -> float:
        """The geometric mean over its examples, each of which counts once."""
        of_each: dict[str, list[float]] = {}
        for one in self.measures:
            of_each.setdefault(one.example, []).append(math.log(one.times))
        return math.exp(fmean(map(fmean, of_each.values())))

    @property
    def examples(self) -> int:
        """How many it was measured with."""
        return len({one.example for one in self.measures})

    @property
    def address(self) -> str:
        """Of the only run behind it; empty if there are several."""
        (address, *others) = {one.address for one in self.measures}
        return "" if others else address

    @property
    def behind(self) -> str:
        """How much is behind it."""
        machines = _count(len({one.machine for one in self.measures}), "machine")
        return ", ".join([*([] if self.measures[0].published else [machines]), _count(self.examples, "example")])


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'s' * (number != 1)}"


def main(options: argparse.Namespace) -> int:
    """Write the pages. Raises UserError."""
    to = collection.read(options.collection)
    left = write(to, options.out)
    print(f"Open {options.out / 'index.html'}")
    for answer in left:
        print(f"Left out: {answer.name}: {answer.refused[0].refused[0]}")
    return 0


def write(to: Collection, out: Path) -> list[Answer]:
    """Write the pages into a folder; returns what was refused of its runs. Raises UserError."""
    left, measures, listed = list[Answer](), list[Measure](), list[Mapping[str, str]]()
    admitted_runs, of_rows = list[tuple[Submitted, Answer]](), set[tuple[str, str, str]]()
    with os_errors_as_user_errors("make", out):
        (out / "runs").mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        runs = [stack.enter_context(submitted.opened(pack)) for pack in to.packs]
        for run in sorted(runs, key=lambda one: one.run.created):  # a copy is refused, and not what it is of
            answer = admitted(run, to, [one for one, _ in admitted_runs])
            if answer.refused:
                left.append(answer)
            else:
                admitted_runs.append((run, answer))
        readings = joined.read([run for run, _ in admitted_runs])
        for run, answer in admitted_runs:
            counted = [] if run.tries_names else rules.counted(run, to.terms.asked)
            measures += _measures(run, counted)
            of_rows |= {(run.name, row.example, row.backend) for row in counted}
            about = provenance.describe(run.run.provenance)
            page = {**_run(run, answer, to, counted), "releases": joined.releases(readings, run.name)}
            _write(out / "runs" / f"{run.name}.html", "run.html.j2", title=run.name, **page)
            if run.tries_names:
                _write_names(out / "runs" / f"{run.name}.coverage.html", run)
            with os_errors_as_user_errors("copy", run.pack):
                shutil.copyfile(run.pack, out / "runs" / run.pack.name)
            listed.append({"name": run.name, "about": about, "created": run.run.created[:10]})
    own = len(listed)
    if not own:
        raise UserError(f"{to.folder} has no run that is admitted: `admit PACK --to {to.folder}` adds one.")
    if history := joined.history(readings, of_rows):
        replace(out / "history.html", history_page.page(history, home="index.html"), durable=False)
    if releases := joined.releases(readings):
        rows = joined.matrix(releases)
        _write(
            out / "names.html",
            "names.html.j2",
            title="Public names",
            releases=releases,
            rows=rows,
            bad=BAD,
            breakable=coverage_page.breakable,
        )
    measures += _published(to.examples)
    kinds = sorted({one.kind for one in measures if not one.published})
    places = {kind: _places([one for one in measures if one.kind == kind]) for kind in kinds}
    machines = len({(one.processor, one.machine) for one in measures if not one.published})
    _write(
        out / "index.html",
        "index.html.j2",
        title=to.terms.title,
        said=f"{_count(own, 'run')} of {_count(machines, 'machine')}",
        kinds=kinds,
        places=places,
        leads=_leads(places, kinds),
        history=told.answer(history) if history else [],
        releases=releases,
        runs=listed,
        left=[(answer.name, answer.refused[0].refused[0]) for answer in left],
    )
    return left


def _write(file: Path, template: str, **values: Any) -> None:
    files = (templates.FOLDER / "page.css", _HERE / "site.css")
    css = Markup("".join(one.read_text(encoding="utf-8") for one in files))
    page = templates.template(template, _HERE)
    replace(file, page.render(css=css, policy=templates.policy([]), number=significant, **values), durable=False)


def _write_names(file: Path, run: Submitted) -> None:
    rows = public_names(run.run)
    about = coverage_page.About(run.name, provenance.describe(run.run.provenance))
    replace(file, coverage_page.page(about, rows, keras_backends(rows)), durable=False)


def _kind(kind: str, task: str) -> str:
    """The kind of model, in words."""
    if task == SCRIPT or kind not in _KINDS:
        return "Programs"
    return f"{_KINDS[kind]}, {'inference' if task == INFER else 'training'}"


def _measures(run: Submitted, rows: Sequence[Summary]) -> Iterator[Measure]:
    about = run.run.provenance
    machine = json.dumps([about.get(name) for name in ("memory_mib", "system", "cpu")], sort_keys=True)
    machine = re.sub(r'"busy": [^,}]+', "", machine)
    for row in rows:
        of_version = {"keras", "version"} & {*axes.of_name(row.backend)}  # which the history shows
        if row.relative_to_fastest and row.shown_seconds and not of_version:
            yield Measure(
                _kind(row.input, row.task), run.machine, machine, row.title, row.backend, row.relative_to_fastest,
                row.shown_seconds, run.name, f"runs/{quote(run.name)}.html", row.verdict == SLOWER,
            )  # fmt: skip


def _published(examples: Mapping[str, Example]) -> Iterator[Measure]:
    """Figures of the literature that are times: each source's hardware is a machine of its own."""
    folder = paths.project_folder("results") / "published"
    with contextlib.suppress(OSError):
        with (folder / "sources.csv").open(encoding="utf-8", newline="") as file:
            told = {one["source"]: one["address"] for one in csv.DictReader(file)}
        addresses = {source: address for source, address in told.items() if address.startswith("https://")}
        with (folder / "figures.csv").open(encoding="utf-8", newline="") as file:
            figures = [one for one in csv.DictReader(file) if one["unit"] in _SECONDS and one["backend"]]
        alike: dict[tuple[str, ...], list[Mapping[str, str]]] = {}
        names = ("source", "workload", "hardware", "gpus", "threads", "batch_size", "epochs", "metric", "cudnn_rnn")
        for figure in figures:
            if figure["workload"] in examples:
                alike.setdefault(tuple(figure[name] for name in names), []).append(figure)
        for group in alike.values():
            fastest = min(float(one["value"]) * _SECONDS[one["unit"]] for one in group)
            for one in group if len(group) > 1 else ():
                example, seconds = examples[one["workload"]], float(one["value"]) * _SECONDS[one["unit"]]
                processor = f"{one['hardware'] or 'hardware not said'} ({one['source']}, {one['year']})"
                yield Measure(
                    _kind(example.input, example.task), processor, processor, example.name, one["backend"],
                    seconds / fastest, seconds, one["source"], addresses.get(one["source"], ""), published=True,
                )  # fmt: skip


def _places(measures: Sequence[Measure]) -> Mapping[str, list[Place]]:
    """By processor, those of the collection first, the backends: those with all examples first, the fastest first."""
    found: dict[str, dict[str, list[Measure]]] = {}
    for one in sorted(measures, key=lambda one: (one.published, one.processor)):
        found.setdefault(one.processor, {}).setdefault(one.backend, []).append(one)
    return {
        processor: sorted((Place(*pair) for pair in backends.items()), key=lambda one: (-one.examples, one.times))
        for processor, backends in found.items()
    }


def _leads(
    places: Mapping[str, Mapping[str, list[Place]]], kinds: Sequence[str]
) -> list[tuple[str, list[list[Place]]]]:
    """For each processor of the collection the fastest backends of each kind of model: none is shown to be slower."""
    processors = dict.fromkeys(
        processor
        for of_kind in places.values()
        for processor, found in of_kind.items()
        if not found[0].measures[0].published
    )
    return [(one, [_first(places[kind].get(one, ())) for kind in kinds]) for one in processors]


def _first(places: Sequence[Place]) -> list[Place]:
    alike = [one for one in places[1:] if one.examples == places[0].examples]
    return [*places[:1], *(one for one in alike if not any(measure.slower for measure in one.measures))]


def _run(run: Submitted, answer: Answer, to: Collection, counted: Sequence[Summary]) -> dict[str, Any]:
    """What the page of a run shows."""
    checks = [(one.name, one.passes, one.not_made) for one in answer.checks]
    record = to.record_of(run.pack)
    with contextlib.suppress(OSError, ValueError, AttributeError):
        kept = json.loads(record.read_text(encoding="utf-8"))
        if kept.get("sha256") == run.sha256 and kept.get("checks", {}).get("replay") == "passed":
            checks = [(*one[:2], "") if one[0] == "replay" else one for one in checks]
    shown = [] if run.tries_names else run.rows
    rows = [(row, "" if row in counted else ", ".join(rules.missed(row, to.terms.asked))) for row in shown]
    return {
        "machine": provenance.describe(run.run.provenance),
        "created": run.run.created[:10],
        "kbench": run.run.provenance["kbench"]["version"],
        "command": run.run.provenance.get("command_line", ""),
        "pack": f"{run.name}{SUFFIX}",
        "checks": checks,
        "rows": rows,
    }
