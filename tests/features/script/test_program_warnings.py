"""A program's warnings on some backends stand below its table, and those that all give do not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fake_runs import cell, measured

from kbench.analysis.summaries import summarise
from kbench.features.script.events import Warned
from kbench.features.script.lines import program_warnings
from kbench.features.script.lines.units import RUN
from kbench.records.values import FAILED, OK, Measured
from kbench.summary import Summary

RAN_OUT = "Your input ran out of data; interrupting training. Make sure that your dataset can generate enough."


def whole(backend: str, *texts: str, status: str = OK, repeat: int = 1) -> Measured:
    warned = {text: Warned(text, "line 12") for text in texts}
    facts: Mapping[str, Any] = {"task": "script", "unit": RUN, "of": {"warning": warned}}
    return measured(cell("train.py", backend, repeat=repeat), 3.0, status=status, facts=facts)


def notes(*cells: Measured) -> dict[str, tuple[str, ...]]:
    rows: list[Summary] = program_warnings.add_notes(summarise(cells), cells)
    return {row.backend: row.notes for row in rows if row.notes}


def test_a_warning_of_one_backend_is_told_by_its_first_sentence_and_line() -> None:
    assert notes(whole("keras3/torch", RAN_OUT), whole("keras3/jax")) == {
        "keras3/torch": ("warnings that not all backends give: line 12: Your input ran out of data",)
    }


def test_what_all_backends_warn_of_is_not_told_whatever_numbers_it_has() -> None:
    assert notes(whole("keras3/torch", "At 0x7f of 3 steps"), whole("keras3/jax", "At 0xab of 4 steps")) == {}
    assert notes(whole("keras3/torch", RAN_OUT)) == {}, "it is alone"


def test_several_processes_are_one_row_and_one_that_failed_says_nothing() -> None:
    cells = [
        whole("keras3/torch", RAN_OUT),
        whole("keras3/torch", "Another one", repeat=2),
        whole("keras3/jax", RAN_OUT),
        whole("keras3/tensorflow", status=FAILED),
    ]
    assert notes(*cells) == {"keras3/torch": ("warnings that not all backends give: line 12: Another one",)}


def test_many_warnings_are_cut() -> None:
    letters = "abcdefgh"
    found = notes(whole("keras3/torch", *(f"Warning {one} {one * 400}" for one in letters)), whole("keras3/jax"))
    (text,) = found["keras3/torch"]
    assert text.endswith("...; and 3 more") and len(text) < 1100
