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
from kbench.features.script.lines.units import EPOCH
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
