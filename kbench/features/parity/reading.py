"""Reads a parity run from disk: the arrays that its guests wrote, and their comparison."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kbench.analysis import rows as of_runs
from kbench.errors import UserError
from kbench.features.parity import agreement, events, public_names
from kbench.features.parity.events import Parity, ParityCall, ParityLayer
from kbench.features.parity.values import (
    Agreement,
    Computed,
    LayerOutput,
    LayerWeights,
    OpCall,
    ParityStep,
    Subject,
)
from kbench.features.script.lines import call_sites
from kbench.records.reported import parse_facts
from kbench.records.values import FAILED, OK, Measured, Outcome
from kbench.store.reading import RunResults
from kbench.store.runs import cell_folder

if TYPE_CHECKING:
    from kbench.features.parity.values import Array

MOST_BYTES = 1 << 30  # of one file: a broken guest must not use up the host's memory


def rows(run: RunResults) -> list[Agreement]:
    """The comparison of the run's cells. A cell with damaged arrays counts as failed."""
    raw = run.raw_folder
    subjects = [_subject(raw, one) for one in by_line(run.measured)]
    return public_names.named(agreement.compare(subjects), subjects, of_runs.program(run))


def _subject(folder: Path, measured: Measured) -> Subject:
    explained = measured.facts.explained
    if measured.outcome.status != OK:
        return Subject(measured, None, explained)
    try:
        place = folder_of(folder, measured)
        return Subject(measured, _computed(place, measured), explained)
    except (UserError, OSError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        reason = f"its results cannot be read: {error}"
        failed = Outcome(FAILED, reason, measured.outcome.seconds, measured.outcome.exit_code)
        return Subject(Measured(measured.cell, failed, facts=measured.facts), None, explained)


def folder_of(run: Path, measured: Measured) -> Path:
    """Where the cell's arrays are; those of a line of a program are in a folder of their own."""
    return cell_folder(run, measured.cell.at(site="")).path / events.folder(measured.facts)


def _computed(folder: Path, measured: Measured) -> Computed:
    """Raises any of many errors where the files are not what a guest writes."""
    stages = events.stages(measured.facts)
    if "forward" not in stages:
        raise UserError("the guest reported no outputs")
    forward = stages["forward"]
    arrays = read_arrays(folder, forward.file)
    return Computed(
        outputs=arrays["outputs"],
        loss=forward.loss,
        layers=tuple(_layer(about, arrays) for about in forward.layers or ()),
        reported=stages.get("reported", Parity()).loss,
        steps=_steps(folder, stages, "step"),
        moved_reported=stages.get("moved_reported", Parity()).loss,
        moved=_steps(folder, stages, "moved"),
        reference_outputs=arrays.get("reference_outputs"),
        reference_loss=forward.reference_loss,
        calls=tuple(_call(one, arrays) for one in forward.calls),
    )


def _call(about: ParityCall, arrays: Mapping[str, Array]) -> OpCall:
    given, returned = (
        tuple((shape, arrays[name]) for name, shape in several) for several in (about.given, about.returned)
    )
    return OpCall(about.name, given, returned)


def _layer(about: ParityLayer, arrays: Mapping[str, Array]) -> LayerOutput:
    return LayerOutput(
        name=about.name,
        class_name=about.class_name,
        values=None if about.output is None else arrays[about.output],
        unread=about.unread,
        reference=None if about.reference is None else arrays[about.reference],
        public=about.public,
    )


def _steps(folder: Path, stages: Mapping[str, Parity], stage: str) -> dict[int, ParityStep]:
    named = {step: f"{stage}_{step}" for step in agreement.STEPS}
    return {step: _step(folder, stages[name]) for step, name in named.items() if name in stages}


def _step(folder: Path, reported: Parity) -> ParityStep:
    arrays = read_arrays(folder, reported.file)
    layers = [
        LayerWeights(
            name=about.name,
            class_name=about.class_name,
            values=tuple(arrays[weight.values] for weight in about.weights),
            sizes=tuple(weight.size for weight in about.weights),
            names=tuple(weight.name for weight in about.weights),
            trained=tuple(weight.trained for weight in about.weights),
        )
        for about in reported.layers or ()
    ]
    return ParityStep(reported.loss, tuple(layers), reported.optimizer or "")


def read_arrays(folder: Path, name: str | None) -> dict[str, Array]:
    """The arrays of an .npz file in `folder`: numbers, no pickles, not too many. Raises one of several errors."""
    if name is None or Path(name).name != name:
        raise UserError(f"{name!r} is not in its folder")
    path = folder / name
    with zipfile.ZipFile(path) as archive:
        if sum(member.file_size for member in archive.infolist()) > MOST_BYTES:
            raise UserError(f"{name} is larger than {MOST_BYTES >> 20} MiB")
    with np.load(path, allow_pickle=False) as file:
        arrays: dict[str, Array] = {key: file[key] for key in file.files}
    for key, array in arrays.items():
        if array.dtype.kind != "f":
            raise UserError(f"{key} in {name} is {array.dtype}")
    return arrays


def by_line(measured: Sequence[Measured]) -> list[Measured]:
    """The cells of a parity run, with those of programs that train nothing split by the line that runs a model."""
    lines = dict.fromkeys(
        (one.cell.example, about.site)
        for one in measured
        for about in events.stages(one.facts).values()
        if about.site
    )
    whole = {program for program, _ in lines}
    found = [one for one in measured if one.cell.example not in whole]
    for program, line in lines:
        split = [_of_line(one, line) for one in measured if one.cell.example == program]
        carried = any(one.facts.carried for one in split)  # of two it is not known which has to convert them
        found += [call_sites.with_facts(one, carried=carried) for one in split]
    return found


def _of_line(one: Measured, line: str) -> Measured:
    stages = events.stages(one.facts).values()
    about = next((about for about in stages if about.site == line), None)
    outcome = one.outcome
    if about is None and outcome.status == OK:
        outcome = replace(outcome, status=FAILED, reason="the program did not get there, or its inputs are unknown")
    about = about or Parity()
    facts = {
        **parse_facts(about.described or {}),
        "notes": (*one.facts.notes, *(about.notes or ())),
        "carried": bool(about.carried),
        "of": {"parity": {"forward": about}},
    }
    if about.refused:
        outcome = replace(outcome, status=FAILED, reason=about.refused)
        facts["error_kind"] = "model"
    cell = one.cell.at(site=line)
    return call_sites.with_facts(replace(one, cell=cell, outcome=outcome), **facts)
