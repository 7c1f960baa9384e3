"""Programs that train nothing, and known faults: what parity says of them."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
from fake_runs import cell, measured

from kbench.features.parity.agreement import compare
from kbench.features.parity.events import Parity
from kbench.features.parity.reading import by_line
from kbench.features.parity.tables import tables
from kbench.features.parity.values import Computed, LayerOutput, Subject
from kbench.records.backend_keys import Explanation
from kbench.records.values import FAILED, Measured

EXACT = np.array([0.1, 0.2, 0.3, 0.4])


def of_lstm(off: float = 0.0) -> Computed:
    """A model that the numpy reference does not know."""
    made = (LayerOutput("a", "TimeDistributed(LSTM)", EXACT + off),)
    return Computed(outputs=EXACT + off, loss=None, layers=made, reported=None, steps={})


def test_a_known_fault_is_named_and_its_row_differs_and_is_nobodys_measure() -> None:
    fault = Explanation(("outputs", "layers"), 2.0, "It returns c.", layer="LSTM", fault=True)
    right = Subject(measured(cell(backend="keras9/a")), of_lstm())
    wrong = Subject(measured(cell(backend="keras9/b")), of_lstm(0.5), (fault,))
    same, differs = compare([right, wrong])
    assert (same.verdict, differs.verdict) == ("same", "differs")
    assert "It returns c." in differs.notes and "It returns c." not in same.notes
    assert "without a known fault" in tables([same, differs])[0].heading
    # Without the fault it agrees, and nothing is named.
    assert [row.notes for row in compare([right, replace(wrong, computed=of_lstm())])] == [same.notes] * 2


def test_a_fault_of_models_with_a_layer_is_named_in_no_other_model() -> None:
    fault = Explanation(("outputs",), 2.0, "Its epsilon is another.", with_layer="BatchNormalization", fault=True)
    right = Subject(measured(cell(backend="keras9/a")), of_lstm())
    for with_layer, named in (("BatchNormalization", False), ("TimeDistributed(LSTM)", True)):
        known = (replace(fault, with_layer=with_layer),)
        _, differs = compare([right, Subject(measured(cell(backend="keras9/b")), of_lstm(0.5), known)])
        assert ("Its epsilon is another." in differs.notes) == named


def test_weights_carried_over_are_a_fault_only_where_a_program_carries_them() -> None:
    fault = Explanation(("outputs",), 2.0, "Its kernels are flipped.", carried=True, fault=True)
    right = Subject(measured(cell(backend="keras9/a")), of_lstm())
    for carried in (True, False):
        facts = {"carried": carried}
        wrong = Subject(measured(cell(backend="keras9/b"), facts=facts), of_lstm(0.5), (fault,))
        _, differs = compare([right, wrong])
        assert differs.verdict == "differs"
        assert ("Its kernels are flipped." in differs.notes) == carried


def test_lines_of_a_program_that_trains_nothing_are_compared_apart() -> None:
    def ran(backend: str, *lines: str, **more: object) -> Measured:
        stages = {
            f"call_{number}": msgspec.convert(
                {"event": "parity", "site": line, "stage": f"call_{number}", **more}, Parity
            )
            for number, line in enumerate(lines)
        }
        return measured(cell("train.py", backend), facts={"of": {"parity": stages}})

    whole = measured(cell("other.py"), facts={"of": {"parity": {"forward": Parity()}}})
    first, second = "predict, line 3", "evaluate, line 4"
    found = by_line([ran("keras9/a", first, second), ran("keras9/b", first, carried=1, notes=["a note"]), whole])
    assert [(one.cell.example, one.cell.backend, one.outcome.status) for one in found[1:]] == [
        (f"train.py: {first}", "keras9/a", "ok"),
        (f"train.py: {first}", "keras9/b", "ok"),
        (f"train.py: {second}", "keras9/a", "ok"),
        (f"train.py: {second}", "keras9/b", FAILED),
    ]
    assert found[0] is whole
    assert [one.facts.carried for one in found[1:]] == [True, True, False, False]
    assert found[2].facts.notes == ("a note",)
    (refused,) = by_line([ran("keras9/a", first, refused="another model: it lacks weights")])
    assert compare([Subject(refused, None)])[0].verdict == "differs"
