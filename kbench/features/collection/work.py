"""Checks of what a run computed: the work of its examples at their version, from its seed, alike in all processes."""

from __future__ import annotations

import hashlib
import math
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from kbench.analysis.sameness import fingerprints
from kbench.base import paths
from kbench.features.collection.collection import Collection
from kbench.features.collection.submitted import Submitted, label
from kbench.planning import request
from kbench.records import axes
from kbench.records.values import INTERRUPTED, SCRIPT, TRAIN, Measured
from kbench.words import sentences

# How far losses of a row may be apart that start from one seed: rounding grows, and is another on other processors.
# In the reference run none are. As shares of the larger one in epoch 1, and of the first epoch's; and accuracies.
APART, FLOOR, SCORE = 0.05, 0.01, 0.05
# Of a cell and of its guest's spec, which must say the same.
_OF_SPEC = ("repeat", "profile", "epochs", "seed", "batch_size", "samples", "image_data_format", "backend")


def plan(run: Submitted) -> Iterator[str]:
    """Cells are whole, and were given what run.json says."""
    for one in run.cells:
        cell, spec = one.cell, run.spec(one.cell)
        if one.outcome.status == INTERRUPTED:
            yield f"{label(cell)}: {one.outcome.reason or 'it was interrupted'}"
        if one.facts.events_damaged:
            yield f"{label(cell)}: {one.facts.events_damaged} of its events cannot be read"
        if not spec:
            if one in run.ok:
                yield f"{label(cell)}: what its process was given (spec.json) is missing"
            continue
        for name in _OF_SPEC:
            planned = getattr(cell, name)
            if cell.task != SCRIPT and name in spec and spec[name] != planned:
                yield f"{label(cell)}: run.json says {name} {planned}, and its process was given {spec[name]}"
    repeats: dict[str, set[int]] = {}
    for one in run.run.measured:
        repeats.setdefault(one.cell.row_id, set()).add(one.cell.repeat)
    asked = request.read(run.run.request, run.run.folder)
    for row, numbers in repeats.items():
        if missing := {*range(1, asked.repeats + 1), *asked.extra_repeats.get(row, ())} - numbers:
            yield f"{row}: its repeat {min(missing)} is missing"


def files(run: Submitted, to: Collection) -> Iterator[str]:
    """Examples are those that are asked for, of kbench's file at that version."""
    known, terms, about = to.examples, to.terms, run.run.provenance.get("kbench")
    commit = str(about.get("commit") or "") if isinstance(about, Mapping) else ""
    programs = {str(one.cell.values[axes.EXAMPLE]) for one in run.cells if one.cell.task == SCRIPT}
    if programs and not terms.programs:
        yield f"it runs users' programs ({', '.join(sorted(programs))}), and the collection takes none"
    for name, example in run.run.examples.items():
        if example.get("task") == SCRIPT or name in programs:
            continue
        if terms.examples and name not in terms.examples:
            yield f"the collection does not ask for {name}"
        elif name not in known:
            yield f"{name} is no example of kbench or of the collection"
        else:
            yield from _file(name, example, vars(known[name]), commit)
    for one in run.ok:
        of_plan, spec = run.run.examples.get(one.cell.example, {}), run.spec(one.cell)
        if of_plan.get("sha256") != spec.get("example_sha256", of_plan.get("sha256")):
            yield f"{label(one.cell)}: its process was given another file of the example"
        stated = of_plan.get("parameters")
        if stated is not None and one.facts.parameters not in (None, stated):
            own = f"{one.facts.parameters:,}"
            yield f"{label(one.cell)}: its model has {own} parameters, and the example's {stated:,}"


def _file(name: str, planned: Mapping[str, Any], known: Mapping[str, Any], commit: str) -> Iterator[str]:
    if planned.get("sha256") != known["sha256"]:
        earlier = _at(commit, name)
        if earlier is None:
            yield f"{name}: its file is not that of this kbench, which cannot look up the version of the run"
        elif planned.get("sha256") != hashlib.sha256(earlier).hexdigest():
            yield f"{name}: its file is not that of kbench at {commit[:12]}"
        return
    for key in ("task", "input", "batch_size", "parameters", "target"):
        if planned.get(key) != known[key] and key in planned:
            yield f"{name}: run.json says {key} {planned[key]}, and the example's file {known[key]}"


def _at(commit: str, name: str) -> bytes | None:
    """The example's file in that commit of kbench; None if that is not known here."""
    root = paths.PACKAGE.parent
    if not commit.isalnum() or not (root / ".git").exists():
        return None
    command = ["git", "-C", str(root), "show", f"{commit}:examples_models/{name}.py"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


def versions(run: Submitted) -> Iterator[str]:
    """Keras and framework are those of the environment that run.json describes."""
    known = run.run.provenance.get("environments")
    for one in run.ok:
        environment = known.get(one.cell.backend) if isinstance(known, Mapping) else None
        if not isinstance(environment, Mapping):
            continue
        packages, spec = environment.get("packages") or {}, run.spec(one.cell)
        if spec.get("build") == environment.get("build") and spec.get("lock_sha256") != environment.get(
            "lock_sha256"
        ):
            yield f"{label(one.cell)}: its environment has another lock file than run.json says"
        keras = [version for name, version in packages.items() if "keras" in name]  # tf-keras is one, too
        if keras and one.facts.keras_version and one.facts.keras_version not in keras:
            yield f"{label(one.cell)}: it reports Keras {one.facts.keras_version}, and its environment has {keras[0]}"


def seeds(run: Submitted) -> Iterator[str]:
    """The order of samples is what the seed gives, and repeats of a row did the same work from it."""
    for one in run.ok:
        expected = _order(one, run.spec(one.cell))
        if expected and one.facts.order_sha256 not in (None, expected):
            yield f"{label(one.cell)}: its samples are not in the order that seed {one.cell.seed} gives"
    rows: dict[tuple[object, int, int], list[Measured]] = {}
    for one in run.ok:
        rows.setdefault((one.cell.row_id, one.cell.seed, one.cell.epochs), []).append(one)
    for first, *others in rows.values():
        for one in others:
            yield from differences(one, first, f"repeat {first.cell.repeat}")


def differences(one: Measured, other: Measured, called: str) -> Iterator[str]:
    """How a process differs from another one of the same row and seed, in its work and its losses."""
    unlike = fingerprints.list_differences(fingerprints.reported(one), fingerprints.reported(other))
    for finding in unlike[:1]:
        yield f"{label(one.cell)}, beside {called}: {sentences.sentence(finding)}"
    if unlike or one.cell.task != TRAIN or one.facts.unit:
        return
    start = next((epoch.loss for epoch in other.epochs if epoch.loss is not None), 0.0)
    for mine, its in zip(one.epochs, other.epochs, strict=False):
        for name, floor in {"loss": FLOOR * start, "val_loss": FLOOR * start, "accuracy": SCORE}.items():
            own, beside = getattr(mine, name), getattr(its, name)
            if own is None or beside is None or not (math.isfinite(own) and math.isfinite(beside)):
                continue
            if abs(own - beside) > APART * math.sqrt(mine.epoch) * max(own, beside) + floor:
                where = f"its {name} in epoch {mine.epoch}"
                yield f"{label(one.cell)}: {where} is {own:.6g}, and in {called} {beside:.6g}"
                return


def _order(one: Measured, spec: Mapping[str, Any]) -> str:
    """The hash of the order in which all epochs see their samples, as a guest makes it (its arrays.py) from the seed.

    Empty where the example's file or a program makes the batches.
    """
    cell, size = one.cell, spec.get("batch_size")
    batches = one.facts.samples_sha256 is not None or one.facts.different_samples is not None
    if cell.task != TRAIN or batches or cell.timing or not isinstance(size, int) or size < 1 or cell.samples > 2**24:
        return ""
    digest = hashlib.sha256()
    for epoch in range(1, min(cell.epochs, 1000) + 1):
        order = np.random.RandomState([cell.seed, epoch]).permutation(cell.samples)[: cell.samples // size * size]
        digest.update(order.astype("<i8").tobytes())
    return digest.hexdigest()


def same_row(one: Measured) -> tuple[object, ...]:
    """What two processes of different runs have in common that do the same work, on the same backend."""
    cell = one.cell
    return (tuple(sorted(cell.values.items())), cell.seed, cell.epochs, cell.profile)


def by_row(cells: Sequence[Measured]) -> dict[tuple[object, ...], Measured]:
    """The first process of each row and seed."""
    return {same_row(one): one for one in reversed(cells)}
