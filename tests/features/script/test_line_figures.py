"""What callbacks and data take of a program's fit, and how its steps begin."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import fake_runs
import msgspec
import pytest

from kbench.analysis.summaries import summarise
from kbench.features.script.events import InFits, OfLine, Returned
from kbench.features.script.lines import line_figures
from kbench.features.script.lines.line_details import LineDetails, details
from kbench.features.script.lines.units import CALL, EPOCH
from kbench.features.script.told import line_answers, line_tables
from kbench.features.script.told.finding_sentences import ends
from kbench.records.values import Measured

SITE, NO_FITS = "train.py: fit, line 9", InFits()


def measured(told: dict[str, Any], in_fits: InFits = NO_FITS, **of_epoch: Any) -> Measured:
    one = fake_runs.measured(
        fake_runs.cell(SITE, "a/x"),
        3.0,
        1.0,
        1.0,
        facts={"of_kind": OfLine(msgspec.convert(told, Returned), in_fits), "task": "train", "unit": EPOCH},
    )
    return replace(one, epochs=tuple(msgspec.structs.replace(epoch, **of_epoch) for epoch in one.epochs))


def test_they_are_medians_of_the_steady_epochs() -> None:
    one = measured(
        {"batch_seconds": 0.01, "first_losses": [2.0, None]},
        callback_seconds=0.5,
        callback_seconds_within=0.2,
        step_seconds=(0.25,) * 4,
        compilations=2,
    )
    (row,) = line_figures.add_notes(summarise([one]), [one])
    assert (row.callback_seconds, row.batch_making_seconds) == (0.5, 0.04)
    assert details(row).first_losses[0] == 2.0 and math.isnan(details(row).first_losses[1])
    assert details(row).compiled_again == 4, "of the two epochs after the first"


def test_validation_and_callbacks_are_a_share_of_all_seconds_that_were_measured() -> None:
    several = [measured({}, InFits(*seconds)) for seconds in ((6.0, 1.5, 0.5), (4.0, 2.5, 0.0))]
    (row,) = line_figures.add_notes(summarise(several[:1]), several)
    assert (details(row).validation_share, details(row).callback_share) == (0.4, 0.05)
    (none,) = line_figures.add_notes(summarise(several[:1]), [measured({})])
    assert details(none).validation_share == 0.0


def test_what_was_not_reported_is_unknown() -> None:
    one = measured({})
    (row,) = line_figures.add_notes(summarise([one]), [one])
    assert row.callback_seconds is row.batch_making_seconds is None and details(row) == LineDetails()


@pytest.mark.parametrize("unchanged", [0, 1])
def test_a_fit_that_changes_no_weight_is_told(unchanged: int) -> None:
    one = measured({"unchanged": unchanged})
    (row,) = line_figures.add_notes(summarise([one]), [one])
    assert ends(row.findings) == ("trains nothing: none of the model's weights changed",) * unchanged


@pytest.mark.parametrize(
    ("facts", "counted", "compiles"),
    [
        ({"jit_compile": False}, None, False),
        ({"jit_compile": True}, None, True),
        ({"jit_compile": False}, 0, True),  # which is traced
        ({"jit_compile": False, "run_eagerly": True}, 0, False),
        ({}, None, True),  # of a Keras that does not say
    ],
)
def test_what_is_trained_eagerly_is_not_said_to_compile(
    facts: dict[str, Any], counted: int | None, compiles: bool
) -> None:
    one = measured({}, compilations=counted)
    one = replace(one, facts=msgspec.structs.replace(one.facts, **facts))
    (row,) = line_figures.add_notes(summarise([one]), [one])
    assert details(row).compiles == compiles
    often = replace(row, unit=CALL, calls=10, first_calls=10, compile_seconds=0.9, epoch_seconds=1.0)
    said = (line_tables.columns([often]), line_tables.remarks([often]), line_answers.on_compilation([often]))
    assert ["ompil" in str(one) for one in said] == [compiles] * 3
    once = replace(row, epoch_seconds=None, calls=1)
    assert ("compilation" in str(line_tables.remarks([once]))) == compiles
