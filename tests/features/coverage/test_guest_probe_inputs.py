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
    assert np.all(moved != masked) and np.allclose(moved, masked, rtol=1e-6)


def test_values_below_a_mask_are_large_and_different() -> None:
    first, other = GIVEN.drawn(inputs.all_statements()["two masked sequences"])
    for one in (first, other):
        assert (one.max(-1) > 5).sum() == 3 and np.abs(one[one < 5]).max() < 1
    assert len({*first[first > 5]}) == 9 and not np.array_equal(first > 5, other > 5)


def test_gradients_grow_shrink_change_their_sign_and_are_zero() -> None:
    (found,) = GIVEN.drawn(inputs.all_statements()["gradients"])
    grows, shrinks, changes, sparse = np.moveaxis(found, 1, 0)
    assert np.abs(grows[-1]).min() > 10 * np.abs(grows[0]).max() and np.all(grows[:, 0] > 0)
    assert np.abs(shrinks[0]).min() > 10 * np.abs(shrinks[-1]).max()
    assert (np.diff(np.sign(changes), axis=0) != 0).sum(0).min() == 4
    assert (sparse == 0).all(1).sum() == 7


def test_a_layer_is_called_as_in_training_where_the_case_says_so() -> None:
    case = {"name": "layers.Dropout", "apart": False, "training": True, "inference": False}
    assert GIVEN.called(case, lambda x, training=None: (x, training), [1]) == (1, True)
    case.update(training=False)
    assert GIVEN.called(case, lambda x, training=None: (x, training), [1]) == (1, None)
    case.update(inference=True)
    assert GIVEN.called(case, lambda x, training=None: (x, training), [1]) == (1, False)


def test_a_mixed_policy_is_given_float32() -> None:
    assert GIVEN.in_floatx(np.zeros(2), "mixed_bfloat16").dtype == np.float32
    assert GIVEN.in_floatx(np.zeros(2, int), "mixed_bfloat16").dtype.kind == "i"


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

    plain = {"training": False, "inference": False}
    assert GIVEN.called({"name": "layers.LSTMCell", "apart": True, **plain}, layer, [1, 2, 3]) == (
        (1,),
        [2, 3],
    )
    assert GIVEN.called({"name": "layers.Add", "apart": False, **plain}, layer, [1, 2]) == (([1, 2],), None)
    assert GIVEN.called({"name": "layers.Attention2", "apart": True, **plain}, layer, [1, 2]) == (
        (1, 2),
        None,
    )
