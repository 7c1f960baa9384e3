"""What a case is given: arrays as the host's statements draw them, moved inputs, and the arguments of its call."""

from __future__ import annotations

from typing import Any

import numpy as np
from guest_modules import alone

from kbench.base import paths
from kbench.features.coverage import inputs

GIVEN = alone("inputs", paths.PACKAGE / "features" / "coverage" / "guest" / "kbench_coverage")


def test_arrays_are_drawn_as_the_statements_say_and_rounded_to_a_type() -> None:
    (whole, probabilities) = GIVEN.drawn(inputs.all_statements()["labels"], "float16")
    assert whole.dtype == np.int32 and probabilities.dtype == np.float16
    assert np.allclose(probabilities.sum(-1), 1, atol=1e-2)


def test_numbers_move_by_their_last_place_but_not_those_that_are_meant() -> None:
    (edges,) = GIVEN.drawn(inputs.all_statements()["edges"])
    assert np.array_equal(GIVEN.perturbed(edges), edges, equal_nan=True)
    (masked,) = GIVEN.drawn(inputs.all_statements()["masked sequence"])
    moved = GIVEN.perturbed(masked)
    assert np.array_equal(moved == masked, masked == 0) and np.allclose(moved, masked, rtol=1e-6)


def test_a_case_gets_its_arrays_one_by_one_or_as_a_list() -> None:
    def function(**given: Any) -> dict[str, Any]:
        return given

    case = {"arrays": ["x1", "x2"], "apart": True}
    assert GIVEN.applied(case, function, {"axis": 1}, [3, 4]) == {"x1": 3, "x2": 4, "axis": 1}
    case = {"arrays": ["xs"], "apart": False}
    assert GIVEN.applied(case, function, {"axis": 1}, [3, 4]) == {"xs": [3, 4], "axis": 1}


def test_the_states_of_a_cell_are_no_further_inputs() -> None:
    def layer(*tensors: Any, states: Any = None) -> tuple[Any, Any]:
        return tensors, states

    assert GIVEN.called({"name": "layers.LSTMCell", "apart": True}, layer, [1, 2, 3]) == ((1,), [2, 3])
    assert GIVEN.called({"name": "layers.Add", "apart": False}, layer, [1, 2]) == (([1, 2],), None)
    assert GIVEN.called({"name": "layers.Attention2", "apart": True}, layer, [1, 2]) == ((1, 2), None)
