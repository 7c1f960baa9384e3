"""The comparison of what backends computed: tolerances, the reference, and the layer that is to blame."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from fake_runs import cell, measured

from kbench.features.parity import agreement
from kbench.features.parity.agreement import compare, verdict_on
from kbench.features.parity.deviations import output_deviation, scale_of, step_deviation
from kbench.features.parity.tables import tables
from kbench.features.parity.values import (
    Agreement,
    Computed,
    Deviation,
    LayerOutput,
    LayerWeights,
    ParityStep,
    Subject,
)
from kbench.records.backend_keys import Explanation
from kbench.records.values import FAILED

EXACT = np.array([0.1, 0.2, 0.3, 0.4])


def layer(name: str, off: float = 0.0, class_name: str = "Dense", known: bool = True) -> LayerOutput:
    return LayerOutput(name, class_name, EXACT + off, reference=EXACT if known else None)


def step(off: float = 0.0, loss: float = 1.0, optimizer: str = "SGD", name: str = "a") -> ParityStep:
    weights = (LayerWeights(name, "Dense", (EXACT + off, np.zeros(2)), (4, 2)),)
    return ParityStep(loss, weights, optimizer)


def computed(
    off: float = 0.0,
    *,
    layers: tuple[LayerOutput, ...] | None = None,
    loss: float = 1.0,
    steps: tuple[float, float] | None = (0.0, 0.0),
    known: bool = True,
    **changes: Any,
) -> Computed:
    made = Computed(
        outputs=EXACT + off,
        loss=loss,
        layers=layers or (layer("a", known=known), layer("b", off, known=known)),
        reported=loss,
        steps={} if steps is None else {1: step(steps[0]), 10: step(steps[1])},
        reference_outputs=EXACT if known else None,
        reference_loss=1.0 if known else None,
    )
    return replace(made, **changes)


def rows(*all_computed: Computed | None, explained: tuple[Explanation, ...] = ()) -> list[Agreement]:
    broken: dict[str, Any] = {"status": FAILED, "reason": "it broke"}
    subjects = [
        Subject(
            measured(cell(backend=f"keras9/b{number}"), **(broken if one is None else {})),
            one,
            explained,
        )
        for number, one in enumerate(all_computed)
    ]
    return compare(subjects)


def verdicts(*all_computed: Computed | None, **options: Any) -> list[str]:
    return [row.verdict for row in rows(*all_computed, **options)]


def test_equal_backends_are_the_same() -> None:
    assert verdicts(computed(), computed(), computed()) == ["same"] * 3


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"off": 0.9e-4}, "same"),
        ({"off": 1.1e-4}, "differs"),
        ({"loss": 1 + 0.9e-5}, "same"),
        ({"loss": 1 + 1.1e-5}, "differs"),
        ({"steps": (0.2e-4, 0.0)}, "same"),
        ({"steps": (2e-4, 0.0)}, "differs"),
        ({"steps": (0.0, 2e-4)}, "same"),
        ({"steps": (0.0, 2e-3)}, "differs"),
        ({"reported": 1.1}, "differs"),
        ({"outputs": EXACT[:2]}, "differs"),
        ({"outputs": EXACT * np.nan}, "differs"),
        ({"loss": float("nan")}, "differs"),
    ],
)
def test_each_quantity_has_its_tolerance(changes: dict[str, Any], verdict: str) -> None:
    assert verdicts(computed(), computed(), computed(**changes)) == ["same", "same", verdict]


def test_the_first_layer_that_differs_is_named_in_the_models_order() -> None:
    layers = (layer("a"), layer("b", 0.5), layer("c", 0.9))
    row = rows(computed(), computed(0.9, layers=layers))[1]
    assert row.first == Deviation(0.5, "b", "Dense")
    assert row.deviations["layers"].layer == "b"


def test_a_right_output_does_not_hide_a_wrong_layer() -> None:
    row = rows(computed(), computed(layers=(layer("a", 0.5), layer("b"))))[1]
    assert (row.verdict, row.first) == ("differs", Deviation(0.5, "a", "Dense"))


def test_layers_are_matched_by_class_and_number_whatever_they_are_called() -> None:
    one = (layer("lstm_1", class_name="LSTM"), layer("dense_1"), layer("dense_2", 0.2, known=False))
    other = (layer("dense"), layer("dense_3", 0.2, known=False), layer("lstm", class_name="LSTM"))
    assert verdicts(computed(layers=one, known=False), computed(layers=other, known=False)) == ["same", "same"]


def test_large_numbers_are_compared_relative_to_the_largest() -> None:
    assert output_deviation(np.array([1000.0, 0.1]), np.array([1000.05, 0.0])) == pytest.approx(1e-4, rel=0.01)


def test_without_a_reference_the_majority_counts() -> None:
    found = rows(computed(known=False), computed(known=False), computed(0.5, known=False))
    assert [row.verdict for row in found] == ["same", "same", "differs"]
    assert found[0].reference == "median of 3"


def test_one_backend_that_the_reference_does_not_know_makes_it_the_majority_for_all() -> None:
    assert rows(computed(), computed(known=False))[0].reference == "median of 2"


def test_a_model_with_another_setting_differs_though_its_own_reference_agrees() -> None:
    other = computed(0.5, reference_outputs=EXACT + 0.5)
    assert verdicts(computed(), computed(), other) == ["same", "same", "differs"]


def test_a_backend_whose_outputs_differ_does_not_move_the_middle_of_the_steps() -> None:
    found = rows(computed(), computed(), computed(0.5, steps=(0.5, 0.5)), computed(0.5, steps=(0.5, 0.5)))
    assert [row.verdict for row in found] == ["same", "same", "differs", "differs"]
    assert found[0].deviations["10 steps"].size == 0


def test_backends_that_part_to_both_sides_do_not_make_those_between_them_differ() -> None:
    low, high = computed(steps=(-0.01, -0.01)), computed(steps=(0.02, 0.02))
    assert verdicts(low, computed(), computed(), high) == ["differs", "same", "same", "differs"]


def test_of_two_that_part_nobody_can_say_which() -> None:
    assert verdicts(computed(), computed(steps=(0.02, 0.02))) == ["differs", "differs"]


def test_of_three_that_all_part_none_is_the_measure() -> None:
    all_rows = rows(computed(), computed(steps=(0.0, 0.1)), computed(steps=(0.0, -0.15)))
    assert [row.verdict for row in all_rows] == ["differs"] * 3
    assert all(row.deviations["1 step"].size == 0 and row.deviations["10 steps"].size > 1e-3 for row in all_rows)
    (said,) = {note for row in all_rows for note in row.notes}
    assert said == "no two backends agree after 10 steps, so none of them is the measure"
    (near, *_) = all_rows
    assert near.deviations["10 steps"].against == "keras9/b1"


def test_one_that_a_declared_difference_explains_leaves_the_middle_one_the_same() -> None:
    known = Explanation(what=("10 steps",), bound=10.0, reason="known")
    parting = (computed(), computed(steps=(0.0, 0.1)), computed(steps=(0.0, -0.15)))
    assert verdicts(*parting, explained=(known,)) == ["same", "explained", "explained"]


def test_what_explains_one_of_two_explains_both() -> None:
    parted = [
        Subject(measured(cell(backend="keras9/a")), computed(), (Explanation(("1 step",), 0.1, "known"),)),
        Subject(measured(cell(backend="keras9/b")), computed(steps=(0.01, 0.0))),
    ]
    assert [row.verdict for row in compare(parted)] == ["explained"] * 2
    assert [row.notes[0] for row in compare(parted)] == ["known", "keras9/a: known"], "whose it is"
    wrong = Subject(measured(cell(backend="keras9/c")), computed(off=0.5, steps=(0.5, 0.5)))
    assert [row.verdict for row in compare([*parted, wrong])] == ["explained", "explained", "differs"]
    third = Subject(measured(cell(backend="keras9/c")), computed(steps=(0.01, 0.0)))
    assert [row.verdict for row in compare([*parted, third])] == ["explained", "same", "same"]


def of_weights(*values: Any, sizes: tuple[int, ...] = ()) -> ParityStep:
    return ParityStep(None, (LayerWeights("a", "Dense", values, sizes or tuple(len(one) for one in values)),))


def test_the_norm_of_a_layer_takes_its_bias_with_it() -> None:
    zero = of_weights(np.array([3.0, 4.0]), np.zeros(1))
    off = of_weights(np.array([3.0, 4.0]), np.array([0.05]))
    scale = scale_of([zero])
    assert step_deviation(off, zero, scale).size == pytest.approx(0.01)
    assert step_deviation(zero, zero, scale).size == 0


def test_a_sample_of_a_large_weight_counts_for_all_of_it() -> None:
    right = of_weights(np.full(10, 3.0), np.full(10, 4.0), sizes=(90, 10))
    own = of_weights(np.full(10, 3.1), np.full(10, 4.0), sizes=(90, 10))
    # 90 numbers off by .1, of 90 threes and 10 fours.
    wanted = np.sqrt(90 * 0.1**2) / np.sqrt(90 * 9 + 10 * 16)
    assert step_deviation(own, right, scale_of([right])).size == pytest.approx(wanted)


def test_a_deviation_has_one_size_from_both_sides() -> None:
    small, large = of_weights(np.ones(4)), of_weights(np.full(4, 100.0))
    scale = scale_of([small, small, large])
    assert step_deviation(small, large, scale).size == step_deviation(large, small, scale).size == pytest.approx(99)


@pytest.mark.parametrize("odd", [100.0, 0.001, float("nan"), float("inf")])
def test_the_majority_is_right_however_large_the_numbers_of_the_odd_one_are(odd: float) -> None:
    changed = computed(steps=(odd, odd))
    for place in range(3):
        three = [computed(), computed()]
        three.insert(place, changed)
        wanted = ["same", "same"]
        wanted.insert(place, "differs")
        assert verdicts(*three) == wanted


def test_the_majority_has_one_form_of_the_model() -> None:
    other = replace(computed(steps=None), steps={1: of_weights(EXACT), 10: of_weights(EXACT)})
    assert verdicts(other, computed(), computed()) == ["differs", "same", "same"]


def test_other_shapes_are_as_far_off_as_can_be() -> None:
    assert step_deviation(of_weights(np.zeros(3)), of_weights(np.zeros(4)), scale_of([])).size == float("inf")
    other = computed(steps=None)
    changed = replace(other, steps={1: step(), 10: ParityStep(1.0, (LayerWeights("a", "Conv2D", (EXACT,), (4,)),))})
    assert verdicts(computed(), computed(), changed) == ["same", "same", "differs"]


def normalized(gamma: float = 1.0, moving_mean: float = 0.01) -> Computed:
    names, trained = ("gamma", "moving_mean"), (True, False)
    layer = LayerWeights("n", "BatchNormalization", (EXACT * gamma, EXACT * moving_mean), (4, 4), names, trained)
    of_steps = {1: ParityStep(None, (layer,)), 10: ParityStep(None, (layer,))}
    return replace(computed(steps=None), steps=of_steps)


AVERAGES = Explanation(("1 step", "10 steps"), 1.5, "known", layer="BatchNormalization", untrained=True)


def test_the_weights_of_a_layer_are_told_apart() -> None:
    usual = normalized()
    deviation = rows(usual, usual, normalized(moving_mean=1.0))[2].deviations["1 step"]
    assert deviation.by_weight == {"moving_mean": pytest.approx(99), "gamma": 0}
    assert deviation.trained is not None and deviation.trained.size == 0
    (_, _, row) = tables(rows(usual, usual, normalized(moving_mean=1.0)))[0].rows
    assert row[-1] == "differs [1] [2]"
    assert tables(rows(usual, usual, normalized(moving_mean=1.0)))[0].footnotes[0] == (
        "after 1 step the largest deviation is in n (BatchNormalization): moving mean by 99 times its norm, gamma by "
        "0e+00; predictions differ at once, training hardly"
    )


def test_what_explains_moving_averages_explains_no_trained_weight_beside_them() -> None:
    usual = normalized()
    for odd, verdict in (
        (normalized(moving_mean=1.0), "explained"),
        (normalized(moving_mean=2.0), "differs"),  # beyond the bound
        (normalized(gamma=1.5, moving_mean=1.0), "differs"),
        (normalized(gamma=1.5), "differs"),
    ):
        assert verdicts(usual, usual, odd, explained=(AVERAGES,)) == ["same", "same", verdict]


@pytest.mark.parametrize(
    ("explanation", "verdict"),
    [
        (Explanation(("1 step",), 0.1, "known"), "explained"),
        (Explanation(("1 step",), 0.1, "known", layer="LSTM"), "explained"),
        (Explanation(("1 step",), 0.1, "known", layer="TimeDistributed"), "explained"),
        (Explanation(("1 step",), 0.1, "known", layer="GRU"), "differs"),
        (Explanation(("1 step",), 0.01, "known"), "differs"),
        (Explanation(("10 steps", "loss"), 0.1, "known"), "differs"),
    ],
)
def test_a_difference_is_explained_by_its_quantity_bound_and_layer(explanation: Explanation, verdict: str) -> None:
    deviations = {"1 step": Deviation(0.05, "a", "TimeDistributed(LSTM)")}
    found, notes = verdict_on(deviations, [explanation])
    assert (found, notes) == (verdict, ["known"] if verdict == "explained" else [])


@pytest.mark.parametrize(("of_weights", "verdict"), [(0.01, "explained"), (0.1, "differs"), (None, "differs")])
def test_a_loss_that_falls_fast_has_a_bound_of_its_own(of_weights: float | None, verdict: str) -> None:
    known = Explanation(("10 steps",), 0.05, "known", bound_of_loss=0.2)
    assert verdict_on({"10 steps": Deviation(0.15, of_weights=of_weights)}, [known])[0] == verdict


def test_one_difference_that_is_not_explained_is_enough() -> None:
    deviations = {"loss": Deviation(0.05), "1 step": Deviation(0.05)}
    assert verdict_on(deviations, [Explanation(("loss",), 1.0, "known")])[0] == "differs"


def test_an_explanation_for_one_optimizer_is_not_for_another() -> None:
    off = computed(steps=(0.05, 0.05))
    known = Explanation(("1 step", "10 steps"), 1.0, "known", optimizer="RMSprop")
    assert verdicts(computed(), computed(), off, explained=(known,))[2] == "differs"
    fits = replace(known, optimizer="SGD")
    assert verdicts(computed(), computed(), off, explained=(fits,))[2] == "explained"


def test_an_explanation_for_models_with_a_layer_is_not_for_others() -> None:
    off = computed(steps=(0.05, 0.05))
    has = off.layers[0].class_name
    known = Explanation(("1 step", "10 steps"), 1.0, "known", with_layer="GlobalMaxPooling1D")
    assert verdicts(computed(), computed(), off, explained=(known,))[2] == "differs"
    assert verdicts(computed(), computed(), off, explained=(replace(known, with_layer=has),))[2] == "explained"


def test_an_explanation_of_what_tells_it_from_some_holds_only_against_those() -> None:
    off = computed(steps=(0.05, 0.05))
    known = Explanation(("1 step", "10 steps"), 1.0, "known", unlike=("keras9",))
    assert verdicts(computed(), computed(), off, explained=(known,))[2] == "explained"
    assert verdicts(computed(), computed(), off, explained=(replace(known, unlike=("keras9/b0",)),))[2] == "explained"
    assert verdicts(computed(), computed(), off, explained=(replace(known, unlike=("keras8",)),))[2] == "differs"
    # Of two, each is compared with the other.
    assert verdicts(computed(), off, explained=(replace(known, unlike=("keras9/b1",)),)) == ["explained"] * 2
    assert verdicts(computed(), off, explained=(replace(known, unlike=("keras8",)),)) == ["differs"] * 2


def test_what_tells_most_backends_from_one_explains_the_one() -> None:
    """Two rows of a backend with a known difference are the majority."""
    known = Explanation(("1 step", "10 steps"), 1.0, "known", unlike=("keras8",))
    of_backend = {"keras9/b": (known,), "keras9/b@1": (known,), "keras8/c": (), "keras8/d": ()}

    def found(off: float, **changes: Any) -> list[Agreement]:
        explained = {name: tuple(replace(one, **changes) for one in known) for name, known in of_backend.items()}
        both = {"keras9": computed(), "keras8": computed(steps=(off, off))}
        return compare(
            [Subject(measured(cell(backend=name)), both[name[:6]], explained[name]) for name in of_backend],
        )

    assert [row.verdict for row in found(0.05)] == ["same", "same", "explained", "explained"]
    assert found(0.05)[2].notes[0] == "keras9/b: known"
    assert [row.by_others for row in found(0.05)] == [set(), set(), {"keras9/b"}, {"keras9/b"}]
    assert [row.verdict for row in found(0.05, unlike=("keras7",))][2:] == ["differs"] * 2
    assert [row.verdict for row in found(0.05, bound=0.01)][2:] == ["differs"] * 2
    assert [row.verdict for row in found(0.05, fault=True)][2:] == ["differs"] * 2


def test_rounding_explains_what_a_backend_parts_from_itself_by_and_no_more() -> None:
    """Each deviates from itself by 0.01 after ten steps, so two of them may deviate by a few times that."""
    size = float(np.linalg.norm(EXACT)) * 0.01 / 2
    same, near, far = (
        computed(steps=(0.0, times * size), moved={1: step(), 10: step((times + 1) * size)}) for times in (0, 3, 6)
    )
    for other, verdict in ((near, "explained"), (far, "differs")):
        row = rows(same, same, other)[2]
        assert row.verdict == verdict
    note = rows(same, same, near)[2].notes[0]
    assert note.startswith("rounding, or updates in no fixed order: keras9/b1 deviates by 1e-02 (10 steps)")
    assert verdicts(same, same, computed(steps=(0.01, 0.0), moved={1: step(0.01)}))[2] == "differs"


def test_rounding_explains_what_two_backends_part_from_themselves_by_and_not_one() -> None:
    """The two that are compared happen to be moved by nothing."""
    size = float(np.linalg.norm(EXACT)) * 0.01 / 2
    still, lively = (computed(moved={1: step(), 10: step(moved)}) for moved in (0.0, size))
    off = computed(steps=(0.0, size), moved={1: step(), 10: step(size)})
    assert verdicts(still, replace(still), lively, replace(lively), off)[4] == "explained"
    assert verdicts(still, replace(still), replace(still), lively, off)[4] == "differs"


def test_rounding_explains_a_reported_loss() -> None:
    moved = replace(computed(moved={1: step()}), moved_reported=1.001)
    off = replace(moved, reported=1.002)
    assert verdicts(moved, moved, off) == ["same", "same", "explained"]
    assert verdicts(moved, moved, replace(moved, reported=1.1, moved_reported=1.101))[2] == "differs"


def test_without_outputs_the_steps_alone_are_compared() -> None:
    mute = replace(computed(), outputs=np.zeros(0), reference_outputs=None, layers=(), loss=None, reported=None)
    row = rows(mute, mute)[0]
    assert row.verdict == "same" and list(row.deviations) == ["1 step", "10 steps"]
    assert rows(*[replace(mute, steps={})] * 2)[0].verdict == "alone"


def test_a_script_whose_model_is_another_one_differs() -> None:
    other = measured(cell(), status=FAILED, reason="another model: ...", facts={"error_kind": "model"})
    assert compare([Subject(other, None)])[0].verdict == "differs"


def test_a_cell_that_did_not_end_ok_keeps_its_status() -> None:
    row = rows(computed(), None, computed())[1]
    assert (row.verdict, row.reason, row.deviations) == (FAILED, "it broke", {})


def test_one_backend_alone_has_nothing_to_be_compared_with() -> None:
    assert verdicts(computed(known=False)) == ["alone"]
    assert verdicts(computed()) == ["same"]
    assert not agreement.passes(rows(computed(known=False)))


def test_a_layer_that_could_not_be_read_is_said_and_fails_nothing() -> None:
    unread = LayerOutput("b", "Dense", None, "RuntimeError: no such output")
    row = rows(computed(), computed(layers=(layer("a"), unread)))[1]
    assert row.verdict == "same"
    assert row.notes == ("layers that could not be read: b: RuntimeError: no such output",)
