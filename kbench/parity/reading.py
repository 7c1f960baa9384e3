"""Reads a parity run from disk: the arrays that its guests wrote, and their comparison."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kbench.analysis import call_sites
from kbench.backend_keys import Explanation
from kbench.errors import UserError
from kbench.parity import agreement
from kbench.parity.values import Agreement, Computed, LayerOutput, LayerWeights, Step
from kbench.store.reading import RunRecord, RunResults
from kbench.store.runs import cell_folder
from kbench.values import FAILED, OK, Measured, Outcome

if TYPE_CHECKING:
    from kbench.parity.values import Array

KIND = "parity"
MOST_BYTES = 1 << 30  # of one file: a broken guest must not use up the host's memory


def is_parity(run: RunRecord) -> bool:
    """Whether the run compares what backends compute, and times nothing."""
    return run.plan.get("kind") == KIND


def rows(run: RunResults) -> list[Agreement]:
    """The comparison of the run's cells. A cell with damaged arrays counts as failed."""
    explained = {
        name: tuple(_explanation(one) for one in about.get("explained") or ()) for name, about in run.backends.items()
    }
    measured = call_sites.of_parity(run.measured)
    return agreement.compare([_subject(run.folder, one, explained.get(one.cell.backend, ())) for one in measured])


def _subject(folder: Path, measured: Measured, explained: tuple[Explanation, ...]) -> agreement.Subject:
    if measured.outcome.status != OK:
        return agreement.Subject(measured, None, explained)
    try:
        place = folder_of(folder, measured)
        return agreement.Subject(measured, _computed(place, measured), explained)
    except (UserError, OSError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        reason = f"its results cannot be read: {error}"
        failed = Outcome(FAILED, reason, measured.outcome.seconds, measured.outcome.exit_code)
        return agreement.Subject(Measured(measured.cell, failed, facts=measured.facts), None, explained)


def folder_of(run: Path, measured: Measured) -> Path:
    """Where the cell's arrays are; those of a line of a program are in a folder of their own."""
    whole = call_sites.program_of(measured.cell.example)
    return cell_folder(run, replace(measured.cell, example=whole)).path / str(measured.facts.get("stage", ""))


def _computed(folder: Path, measured: Measured) -> Computed:
    """Raises any of many errors where the files are not what a guest writes."""
    stages = measured.facts.get("parity")
    if not isinstance(stages, dict) or "forward" not in stages:
        raise UserError("the guest reported no outputs")
    forward = stages["forward"]
    arrays = read_arrays(folder, forward["file"])
    return Computed(
        outputs=arrays["outputs"],
        loss=_loss(forward.get("loss")),
        layers=tuple(_layer(about, arrays) for about in forward["layers"]),
        reported=_loss(stages.get("reported", {}).get("loss")),
        steps=_steps(folder, stages, "step"),
        moved_reported=_loss(stages.get("moved_reported", {}).get("loss")),
        moved=_steps(folder, stages, "moved"),
        reference_outputs=arrays.get("reference_outputs"),
        reference_loss=_loss(forward.get("reference_loss")),
    )


def _layer(about: Mapping[str, Any], arrays: Mapping[str, Array]) -> LayerOutput:
    return LayerOutput(
        name=str(about["name"]),
        class_name=str(about["class"]),
        values=arrays[about["output"]] if "output" in about else None,
        unread=str(about.get("unread", "")),
        reference=arrays[about["reference"]] if "reference" in about else None,
    )


def _steps(folder: Path, stages: Mapping[str, Any], stage: str) -> dict[int, Step]:
    named = {step: f"{stage}_{step}" for step in agreement.STEPS}
    return {step: _step(folder, stages[name]) for step, name in named.items() if name in stages}


def _step(folder: Path, reported: Mapping[str, Any]) -> Step:
    arrays = read_arrays(folder, reported["file"])
    layers = [
        LayerWeights(
            name=str(about["name"]),
            class_name=str(about["class"]),
            values=tuple(arrays[weight["values"]] for weight in about["weights"]),
            sizes=tuple(int(weight["size"]) for weight in about["weights"]),
            names=tuple(str(weight.get("name", "")) for weight in about["weights"]),
            trained=tuple(bool(weight.get("trained", True)) for weight in about["weights"]),
        )
        for about in reported["layers"]
    ]
    return Step(_loss(reported.get("loss")), tuple(layers), str(reported.get("optimizer", "")))


def read_arrays(folder: Path, name: str) -> dict[str, Array]:
    """The arrays of an .npz file in `folder`: numbers, no pickles, not too many. Raises one of several errors."""
    if Path(name).name != name:
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


def _loss(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    raise ValueError(f"the loss {value!r}")


def _explanation(about: Mapping[str, Any]) -> Explanation:
    """As run.json describes it; keys of a later kbench are left out."""
    return Explanation(**{one.name: about[one.name] for one in fields(Explanation) if one.name in about})
