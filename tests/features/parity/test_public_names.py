"""The public name of Keras that makes outputs differ: a layer of its own, or a function that a user's layer calls."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from fake_runs import cell, measured

from kbench.features.parity import public_names
from kbench.features.parity.agreement import compare
from kbench.features.parity.values import Computed, LayerOutput, OpCall, Subject
from kbench.features.script.lines.call_sites import with_facts

EXACT = np.array([0.1, 0.2, 0.3, 0.4])
POOL = "layers.AveragePooling1D(pool_size=5, padding='same')"


def call(name: str, given: float = 0.0, returned: float = 0.0, *, of: np.ndarray = EXACT) -> OpCall:
    return OpCall(name, (((2, 2), of + given),), (((2, 2), of + returned),))


def subject(number: int, off: float, *calls: OpCall, public: str = "") -> Subject:
    layers = (LayerOutput("mine", "Mine", EXACT + off, public=public),)
    computed = Computed(EXACT + off, None, layers, None, {}, calls=calls)
    return Subject(measured(cell("mine.py", f"keras9/b{number}")), computed)


def notes(*subjects: Subject) -> list[list[str]]:
    rows = public_names.named(compare(subjects), subjects, "kbench")
    return [[note for note in row.notes if "`" in note] for row in rows]


SAME = call("ops.tanh")


def test_the_first_function_that_returns_something_else_for_the_same_is_named() -> None:
    odd = subject(2, 0.5, SAME, call("ops.pad", returned=0.5), call("ops.exp", given=0.5, returned=0.7))
    right = [subject(number, 0.0, SAME, call("ops.pad"), call("ops.exp")) for number in (0, 1)]
    assert notes(*right, odd) == [
        [],
        [],
        [
            "`ops.pad` returns something else than on keras9/b0, given the same array of shape (2, 2): "
            "`kbench coverage --backends keras9/b2,keras9/b0 --only ops.pad`"
        ],
    ]


def test_of_two_backends_both_are_told_of_it() -> None:
    one, other = subject(0, 0.0, call("ops.pad")), subject(1, 0.5, call("ops.pad", returned=0.5))
    (first,), (second,) = notes(one, other)
    assert "`ops.pad` returns something else than on keras9/b1" in first
    assert "`ops.pad` returns something else than on keras9/b0" in second


def test_a_layer_of_kerass_own_is_named_with_its_settings() -> None:
    right = [subject(number, 0.0, public=POOL) for number in (0, 1)]
    assert notes(*right, subject(2, 0.5, public=POOL))[2] == [
        f"`{POOL}` is the first that differs: `kbench coverage --backends keras9/b2 --only layers.AveragePooling1D`"
    ]


def test_no_function_is_named_that_is_given_something_else_or_only_magnifies_rounding() -> None:
    right = [subject(number, 0.0, SAME, call("ops.pad")) for number in (0, 1)]
    for calls in (
        (SAME, call("ops.pad", given=0.5, returned=0.5)),
        (SAME, call("ops.pad", given=5e-6, returned=2e-4)),
        (SAME, call("ops.pad", returned=5e-5)),
        (call("ops.relu"), call("ops.pad", returned=0.5)),  # the program calls something else there
        (),
    ):
        assert notes(*right, subject(2, 0.5, *calls))[2] == [], calls


def test_what_is_no_number_on_both_agrees_and_on_one_does_not() -> None:
    odd = np.array([np.nan, np.inf, 1.0, 2.0])
    assert public_names.first_unlike([call("ops.log", of=odd)], [call("ops.log", of=odd)]) is None
    other = replace(call("ops.log"), returned=(((2, 2), odd),))
    assert public_names.first_unlike([other], [call("ops.log")]) is other
    shaped = replace(SAME, returned=(((4,), EXACT),))
    assert public_names.first_unlike([shaped], [SAME]) is shaped


def test_nobody_is_named_where_outputs_agree_or_a_cell_failed() -> None:
    alike = [subject(number, 0.0, call("ops.pad", returned=0.5 * number)) for number in (0, 1)]
    assert notes(*alike) == [[], []]
    failed = with_facts(alike[1].measured, error_kind="model")
    assert notes(alike[0], Subject(failed, None)) == [[], []]
