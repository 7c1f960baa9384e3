"""Where a line and the whole program are fastest on different backends, a sentence says what lies between."""

from __future__ import annotations

from typing import Any

import pytest
from fake_runs import replace, summary

from kbench.features.explain.whole_program import reconciled
from kbench.features.script.lines.units import CALL, EPOCH, REST, RUN
from kbench.records.values import FASTEST, NO_DIFFERENCE, SLOWER
from kbench.summary import Summary

LINE = "train.py: fit, line 9"


def rows(slower: str = SLOWER, whole: float = 1.5, **line: Any) -> list[Summary]:
    """JAX is fastest in the fit, and PyTorch as a whole."""
    about = {"unit": EPOCH, "epochs": 10, **line}
    fit = [
        summary("keras3/jax", LINE, epoch_seconds=0.1, verdict=FASTEST, total_seconds=9.0, **about),
        summary("keras3/torch", LINE, epoch_seconds=0.4, verdict=slower, total_seconds=5.0, **about),
    ]
    rest = [
        summary(name, "train.py: outside Keras", unit=REST, total_seconds=seconds, phases={"import": imports})
        for name, seconds, imports in (("keras3/jax", 5.0, 3.0), ("keras3/torch", 3.0, 2.0))
    ]
    ended = [
        summary("keras3/torch", "train.py: whole program", unit=RUN, relative_to_fastest=1.0),
        summary("keras3/jax", "train.py: whole program", unit=RUN, relative_to_fastest=whole),
    ]
    return [*fit, *rest, *ended]


def test_what_takes_longest_elsewhere_is_named() -> None:
    assert reconciled(rows()) == [
        "train.py as a whole took least time on keras3/torch, though fit, line 9 is fastest on keras3/jax: "
        "keras3/jax takes 7.00 s longer for compilation and all else around the epochs of fit, line 9."
    ]


def test_a_line_that_is_timed_by_its_calls_has_them_counted() -> None:
    (said,) = reconciled(rows(unit=CALL, calls=12, epochs=80))
    assert "takes 7.60 s longer for compilation" in said


@pytest.mark.parametrize("agreeing", [rows(NO_DIFFERENCE), rows(whole=1.01), rows()[:4], rows()[4:]])
def test_nothing_is_said_where_nothing_contradicts(agreeing: list[Summary]) -> None:
    assert reconciled(agreeing) == []


def test_rows_of_other_threads_are_other_programs() -> None:
    one, two = ([replace(row, axes={"threads": number}) for row in rows()] for number in (1, 2))
    assert reconciled([*one, *two]) == 2 * reconciled(rows())
