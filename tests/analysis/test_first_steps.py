"""The first steps of cells are compared: the loss, the change of each weight, and what is random."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from fake_runs import cell, in_words, measured

from kbench.analysis.sameness import fingerprints, first_steps
from kbench.records.values import Measured
from kbench.words.sentences import all_of

KERNEL: dict[str, Any] = {
    "class": "Dense", "number": 2, "weight": "kernel", "norm": 5.0,
    "change": 0.5, "sums": [0.3, 0.4], "rounding": 1e-7,
}  # fmt: skip
NOISY: dict[str, Any] = {"noisy": 0.5, "noisy_sums": [0.3, 0.4]}
STEP: dict[str, Any] = {"loss": 2.5, "loss_rounding": 1e-7, "changes": [KERNEL]}
KNOWN = {"what": ["1 step"], "bound": 0.1, "bound_of_change": 0.2, "reason": "It is known.", "layer": "Dense"}


def one(
    name: str, kernel: dict[str, Any] | None = None, facts: dict[str, Any] | None = None, **step: Any
) -> Measured:
    """A cell of the backend keras9/`name`."""
    changed = {**STEP, "changes": [{**KERNEL, **(kernel or {})}], **step}
    told = {"parameters": 1, "weights": "seeded", "first_step": changed, **(facts or {})}
    return measured(cell(backend=f"keras9/{name}"), 1.0, 1.0, facts=told)


def said(*cells: Measured) -> list[str]:
    return [text for found in in_words(fingerprints.differences(cells)).values() for text in found]


def test_steps_that_agree_as_far_as_rounding_goes_do_not_differ() -> None:
    assert said(one("a"), one("b", {"sums": [0.3001, 0.4]}, loss=2.50001)) == []
    far = {"sums": [0.4, 0.3]}
    assert said(one("a"), one("b", far)) != []
    assert said(one("a", {"rounding": 0.1}), one("b", far)) == []
    assert said(one("a", {"norm": 1e6}), one("b", far)) == []  # float32 does not hold such a change of it


# Of a deep network: (class of the layer, its number, weight), and how far each may be multiplied or turned.
DEEP = [
    *((kind, number, weight) for number in range(1, 31) for kind, weight in (
        ("Conv2D", "kernel"), ("BatchNormalization", "gamma"), ("BatchNormalization", "beta"),
        ("BatchNormalization", "moving_mean"), ("BatchNormalization", "moving_variance"),
    )),
    ("Dense", 1, "kernel"),
    ("Dense", 1, "bias"),
]  # fmt: skip
Turn = Callable[[str, int, str], tuple[float, float]]


def deep(times: Turn = lambda kind, number, weight: (1.0, 0.0), rounding: float = 1e-3) -> list[dict[str, Any]]:
    """How weights change; `times` says of each by how much more, and how far it is turned."""
    found = []
    for kind, number, weight in DEEP:
        size, turned = times(kind, number, weight)
        sums = [size * (0.3 - 0.4 * turned), size * (0.4 + 0.3 * turned)]
        off = rounding if not weight.startswith("moving") and kind != "Dense" else 1e-7
        named = {"class": kind, "number": number, "weight": weight, "rounding": 0.5 * off}
        found.append({**KERNEL, **named, "change": 0.5 * size, "sums": sums})
    return found


def told_of(times: Turn, **more: Any) -> str:
    found = said(one("a", changes=deep(**more)), one("b", changes=deep(times, **more)))
    return " ".join(found).removeprefix("unlike keras9/a in the first optimizer step")


def in_front(kind: str, number: int, weight: str) -> tuple[float, float]:
    """A unit in the tenth layer that one backend's relu lets pass."""
    if kind == "Dense" or number > 10 or weight.startswith("moving"):
        return 1.0, 0.0
    return 1.0 + 2e-4 * (-1) ** number, 1e-2


def test_a_unit_that_passes_a_relu_on_one_backend_alone_is_rounding_in_a_deep_network() -> None:
    assert told_of(in_front) == told_of(in_front, rounding=1e-7) == ""
    few = [change for change in deep() if change["number"] > 15]
    turned = [change for change in deep(lambda *_: (1.0, 1e-2)) if change["number"] > 15]
    assert said(one("a", changes=few), one("b", changes=turned)) != [], "a network that is not deep"


def test_where_rounding_turns_most_weights_it_may_turn_another() -> None:
    def turned(kind: str, number: int, weight: str) -> tuple[float, float]:
        return (1.0, 0.12 if (number, weight) == (7, "gamma") else 0.0)

    exact = [{**change, "rounding": 1e-8} if change["number"] == 7 else change for change in deep(rounding=0.05)]
    other = [{**change, "rounding": 1e-8} if change["number"] == 7 else change for change in deep(turned, 0.05)]
    assert said(one("a", changes=exact), one("b", changes=other)) == []
    assert "BatchNormalization 7's gamma" in told_of(turned)


@pytest.mark.parametrize(
    ("times", "sentence"),
    [
        (
            lambda kind, number, weight: (1.1 if weight.startswith("moving") else 1.0, 0.0),
            ": BatchNormalization 1's moving_mean changes by 0.5500 instead of 0.5000",
        ),
        (
            lambda kind, number, weight: (1.01 if weight.startswith("moving") else 1.0, 0.0),
            ": BatchNormalization 1's moving_mean changes by 0.5050 instead of 0.5000",
        ),
        (lambda *_: (1.01, 0.0), ""),
        (
            lambda kind, number, weight: (1.0 if kind == "Dense" else 1.01, 0.0),
            ": of 30 Conv2D layers, kernel changes 1.01 times as much (median)",
        ),
        (
            lambda kind, number, weight: (1.01 if weight == "beta" else 1.0, 0.0),
            ": of 30 BatchNormalization layers, beta changes 1.01 times as much (median)",
        ),
        (
            lambda kind, number, weight: (1.0, 0.01 if (kind, weight) == ("Dense", "kernel") else 0.0),
            ": Dense 1's kernel changes by 0.5000, but in another direction (1.0% off)",
        ),
        (lambda kind, number, weight: (0.0 if (number, kind) == (9, "Conv2D") else 1.0, 0.0), ": Conv2D 9's kernel"),
    ],
    ids=["momentum", "a little of it", "rate", "rate but last", "rate of betas", "last layer", "nothing"],
)
@pytest.mark.parametrize("rounding", [1e-7, 1e-3, 0.02])
def test_no_other_cause_is_taken_for_rounding_in_a_deep_network(times: Turn, sentence: str, rounding: float) -> None:
    found = told_of(times, rounding=rounding)
    assert found and found.startswith(sentence)


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (one("c", loss=250.0), "the loss of the first batch: 250.0 instead of 2.500"),
        (one("c", loss=None), "the loss of the first batch: no number instead of 2.500"),
        (
            one("c", {"change": 0.0, "sums": [0.0, 0.0]}),
            "the first optimizer step: Dense 2's kernel changes by 0 instead of 0.5000",
        ),
        (
            one("c", {"sums": [0.4, 0.3]}),
            "the first optimizer step: Dense 2's kernel changes by 0.5000, but in another direction (28.3% off)",
        ),
        (
            one("c", {"change": None, "sums": [None, 0.4]}),
            "the first optimizer step: Dense 2's kernel changes by no number instead of 0.5000",
        ),
    ],
)
def test_the_loss_or_else_the_weight_that_changes_most_differently_is_named(other: Measured, sentence: str) -> None:
    assert said(one("a"), one("b"), other) == [f"unlike keras9/a in {sentence}"]


def test_how_far_a_change_is_off_is_told_where_its_size_does_not_show_it() -> None:
    turned = one("c", {"change": 0.51, "sums": [-0.3, -0.4]})
    assert said(one("a"), one("b"), turned) == [
        "unlike keras9/a in the first optimizer step: Dense 2's kernel changes by 0.5100 instead of 0.5000, "
        "and in another direction (196.1% off)"
    ]


def twice(name: str, *points: dict[str, Any], **more: Any) -> Measured:
    """A cell that took its step at two points; of each, what is another in it, or in its kernel."""
    steps = []
    for point in points:
        kernel = {key: value for key, value in point.items() if key in KERNEL}
        rest = {key: value for key, value in point.items() if key not in KERNEL}
        steps.append({**STEP, "changes": [{**KERNEL, **kernel}], **rest})
    return one(name, facts={"step_elsewhere": {**steps[1], "point": 1}, **more}, **steps[0])


TIE: dict[str, Any] = {"change": 0.51, "sums": [0.31, 0.4]}
FAR: dict[str, Any] = {"change": 0.6, "sums": [0.5, 0.4]}


def test_what_differs_at_one_point_alone_is_a_tie_or_rounding() -> None:
    usual = twice("a", {}, {})
    for points in (({}, TIE), (TIE, {}), (FAR, {}), ({"loss": 2.501}, {})):
        assert said(usual, twice("b", *points)) == []
    assert said(usual, twice("b", TIE, FAR)) == [
        "unlike keras9/a in the first optimizer step: Dense 2's kernel changes by 0.5100 instead of 0.5000"
    ]
    assert said(usual, twice("b", TIE, {**FAR, "rounding": 0.1})) == [], "rounding takes it as far there"
    assert said(usual, one("b", TIE)) != [], "in a run that took it at one point"
    assert said(one("a"), twice("b", TIE, {})) != [], "beside such a run"
    assert said(usual, twice("b", {"loss": 2.501}, {"loss": 2.502})) == [
        "unlike keras9/a in the loss of the first batch: 2.501 instead of 2.500"
    ]


def test_a_loss_that_no_tie_takes_so_far_differs_at_one_point_alone() -> None:
    usual = twice("a", {}, {})
    for points in (({"loss": 2.6}, {}), ({}, {"loss": 2.6}), ({}, {"loss": None})):
        assert len(said(usual, twice("b", *points))) == 1


def test_another_weight_at_another_point_is_another_tie() -> None:
    bias = {**KERNEL, "weight": "bias"}

    def at(*odd: bool) -> list[dict[str, Any]]:
        return [{**change, **(TIE if is_odd else {})} for change, is_odd in zip((KERNEL, bias), odd, strict=True)]

    usual = twice("a", {"changes": at(False, False)}, {"changes": at(False, False)})
    assert said(usual, twice("b", {"changes": at(True, False)}, {"changes": at(False, True)})) == []
    (sentence,) = said(usual, twice("b", {"changes": at(True, True)}, {"changes": at(False, True)}))
    assert "Dense 2's bias" in sentence


def test_what_is_declared_is_a_note_at_whichever_point_it_shows() -> None:
    off = {"sums": [0.3, 0.45]}
    for points in ((off, {}), ({}, off), (off, off)):
        known = twice("b", *points, explained=[KNOWN])
        assert said(twice("a", {}, {}), known) == []
        assert notes(twice("a", {}, {}), known) == {
            "keras9/b": ["known difference from keras9/a in its first step: It is known."]
        }


def before_normalization(change: float, rounding: float) -> dict[str, Any]:
    """Steps of a kernel, and of a bias in front of a BatchNormalization, whose gradient is 0."""
    bias = {"weight": "bias", "norm": 0.0, "change": change, "sums": [change], "rounding": rounding}
    return {"changes": [KERNEL, {**KERNEL, **bias}]}


@pytest.mark.parametrize(
    ("own", "right", "differs"),
    [
        ((5.8e-7, 8.5e-8), (2.5e-8, 2.9e-8), False),
        ((5.8e-7, 1e-10), (2.5e-8, 1e-10), True),  # a gradient that is small, but no rounding
        ((5.8e-4, 8.5e-5), (2.5e-5, 2.9e-8), True),  # as large as others
        ((0.0, 0.0), (2.5e-8, 1e-10), True),  # a bias that is not trained
        ((5.8e-4, 8.5e-6), (2.5e-5, 8.5e-6), True),
    ],
    ids=["rounding", "exact", "large", "frozen", "both large"],
)
def test_a_change_that_is_rounding_alone_is_compared_with_the_largest(
    own: tuple[float, float], right: tuple[float, float], differs: bool
) -> None:
    cells = [one(name, **before_normalization(*step)) for name, step in (("a", right), ("b", own))]
    assert bool(said(*cells)) == differs


def test_losses_are_compared_where_frameworks_split_their_weights_otherwise() -> None:
    halves: dict[str, Any] = {"changes": [KERNEL, KERNEL]}
    assert said(one("a"), one("b", **halves)) == []
    assert said(one("a"), one("b", loss=2.6, **halves)) == [
        "unlike keras9/a in the loss of the first batch: 2.600 instead of 2.500"
    ]


def test_what_is_no_number_anywhere_does_not_differ() -> None:
    none = {"change": None, "sums": [None, None], "rounding": None}
    assert said(one("a", none, loss=None, loss_rounding=None), one("b", none, loss=None, loss_rounding=None)) == []


def test_what_is_random_is_compared_at_fixed_values() -> None:
    drawn: dict[str, Any] = {"draws": ["dropout"], "noisy_loss": 2.6}
    first = one("a", NOISY, **drawn)
    assert said(first, one("b", NOISY, **drawn)) == []
    where = " (dropout and noise at fixed values)"
    assert said(first, one("b", NOISY, **{**drawn, "noisy_loss": 2.7})) == [
        f"unlike keras9/a in the loss of the first batch{where}: 2.700 instead of 2.600"
    ]
    assert said(first, one("b", {**NOISY, "noisy": 0.4}, **drawn)) == [
        f"unlike keras9/a in the first optimizer step{where}: Dense 2's kernel changes by 0.4000 instead of 0.5000"
    ]
    assert said(first, one("b", draws=[])) == [
        "unlike keras9/a in what its layers draw at random: nothing instead of dropout"
    ]
    assert said(first, one("b")) == []  # a twin does not say what it draws


def test_a_declared_difference_is_a_note_within_its_bound() -> None:
    known = one("b", {"sums": [0.3, 0.45]}, facts={"explained": [KNOWN]})
    assert said(one("a"), known) == []
    assert notes(one("a"), known) == {"keras9/b": ["known difference from keras9/a in its first step: It is known."]}
    for other in ({"layer": "LSTM"}, {"bound_of_change": 0.0}, {"unlike": ["keras8"]}, {"optimizer": "Adam"}):
        assert said(one("a"), one("b", {"sums": [0.3, 0.45]}, facts={"explained": [{**KNOWN, **other}]})) != []
    (beyond,) = said(one("a"), one("b", {"sums": [0.3, 0.6]}, facts={"explained": [KNOWN]}))
    assert beyond.endswith(". A known difference may be why: It is known")
    (of_both,) = said(
        *(one(name, {"sums": [0.3, off]}, facts={"explained": [KNOWN]}) for name, off in (("a", 0.4), ("b", 0.6)))
    )
    assert "known" not in of_both, "what is declared of both is no cause"
    of_loss = {**KNOWN, "what": ["loss"], "layer": ""}
    assert said(one("a"), one("b", loss=2.6, facts={"explained": [of_loss]})) == []


def test_what_ties_explain_is_not_explained_where_there_are_none() -> None:
    facts = {"explained": [{**KNOWN, "repeated": True}]}
    for repeats, differs in ((None, False), (1, False), (0, True)):
        assert bool(said(one("a"), one("b", {"sums": [0.3, 0.45]}, facts=facts, repeats=repeats))) == differs


def test_a_known_difference_needs_the_setting_that_it_names() -> None:
    of_loss = {**KNOWN, "what": ["loss"], "layer": "", "setting": "softmax"}
    for activation, differs in (("softmax", False), ("linear", True)):
        layers = [["Dense", {"activation": activation}, []]]
        assert (
            bool(
                said(
                    one("a", facts={"layers": layers}),
                    one("b", loss=2.6, facts={"layers": layers, "explained": [of_loss]}),
                )
            )
            == differs
        )


def averaged(batch: list[float], momentum: float, **more: Any) -> dict[str, Any]:
    """The step of a moving variance that starts at 1 and takes this share of a batch's variances."""
    change = [more.get("share", 1 - momentum) * (one - 1.0) for one in batch]
    named = {"class": "BatchNormalization", "weight": more.get("weight", "moving_variance")}
    told = {
        "change": math.hypot(*change),
        "sums": change,
        "average": [momentum, [1.0] * len(batch), [0.01] * len(batch)],
    }
    return {"changes": [{**KERNEL, **named, **told}]}


BATCH = [0.5, 2.0, 0.9]


@pytest.mark.parametrize(
    ("formula", "own", "explained"),
    [
        ("population variance", averaged([x * 8 / 7 for x in BATCH], 0.9), True),
        ("population variance", averaged([(x + 0.01) * 8 / 7 for x in BATCH], 0.9), False),
        ("population variance and epsilon", averaged([(x + 0.01) * 8 / 7 for x in BATCH], 0.9), True),
        ("population variance", averaged([x * 7 / 8 for x in BATCH], 0.9), False),
        ("population variance", averaged([x * 8 / 7 for x in BATCH[:2]] + [0.9], 0.9), False),
        ("population variance", averaged([x * 8 / 7 for x in BATCH], 0.9, weight="moving_mean"), False),
        ("population variance", averaged([1.0, 1.0, 1.0], 0.9), False),  # never changes
        ("batch average", averaged(BATCH, 0.9, share=1.0), True),
        ("batch average", averaged([x * 8 / 7 for x in BATCH], 0.9, share=1.0), True),
        ("batch average", averaged(BATCH, 0.9, share=0.5), False),
        ("batch average", averaged(BATCH, 0.8, share=1.0), False),  # another momentum
    ],
)
def test_a_declared_formula_explains_what_follows_it_exactly(
    formula: str, own: dict[str, Any], explained: bool
) -> None:
    known = {"what": ["1 step"], "bound": 100.0, "untrained": True, "formula": formula, "reason": "It is known."}
    weight = own["changes"][0]["weight"]
    cells = [one("a", **averaged(BATCH, 0.9, weight=weight)), one("b", facts={"explained": [known]}, **own)]
    for pair in (cells, cells[::-1]):
        assert bool(said(*pair)) != explained
    assert bool(notes(*cells).get("keras9/b")) == explained


def test_two_that_both_follow_formulas_agree() -> None:
    """One that is corrected for its start, and one that adds epsilon: neither is as Keras does it."""

    def known(formula: str) -> dict[str, Any]:
        one = {"what": ["1 step"], "bound": 1.0, "untrained": True, "formula": formula, "reason": formula}
        return {"explained": [one]}

    first = one("a", facts=known("batch average"), **averaged([x * 8 / 7 for x in BATCH], 0.9, share=1.0))
    other = averaged([(x + 0.01) * 8 / 7 for x in BATCH], 0.9)
    assert said(first, one("b", facts=known("population variance and epsilon"), **other)) == []
    assert said(first, one("b", facts=known("population variance"), **other)) != []
    means = [averaged(BATCH, 0.9, weight="moving_mean", share=share) for share in (1.0, 0.1)]
    formulas = (known("batch average"), known("population variance and epsilon"))
    assert (
        said(*(one(name, facts=facts, **step) for name, facts, step in zip("ab", formulas, means, strict=True))) == []
    )


def notes(*cells: Measured) -> dict[str, Any]:
    return {one.cell.backend: [*all_of(one.findings)] for one in fingerprints.add_notes(cells) if one.findings}


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ({"unchecked": "ValueError: no", "changes": []}, "ValueError: no"),
        ({"loss": 5.0, "loss_rounding": 1.0}, "its layers draw random numbers that kbench cannot fix"),
    ],
)
def test_a_step_that_says_nothing_is_a_note(step: dict[str, Any], why: str) -> None:
    odd = one("b", {"sums": [9.0, 9.0]}, **step)
    assert said(one("a"), odd) == []
    assert notes(one("a"), odd) == {"keras9/b": [f"its first optimizer step was not checked: {why}"]}


def test_a_precision_that_nobody_asked_for_differs() -> None:
    halves = {"computes_in": ["bfloat16"]}
    assert said(one("a"), one("b", facts={"computes_in": ["float32"]}), one("c", facts=halves)) == [
        'unlike keras9/a in its precision: ["bfloat16"] instead of ["float32"]'
    ]
    assert said(one("a"), one("c", facts={**halves, "policy": "mixed_bfloat16"}, loss=2.6)) == []


def test_old_runs_and_broken_guests_have_no_step_to_compare() -> None:
    for step in (None, {}, "text", {"changes": [{"class": "Dense"}]}):
        odd = one("b", facts={"first_step": step})
        assert first_steps.compare(one("a"), odd) == (None, ())
        assert said(one("a"), odd) == [] and notes(one("a"), odd) == {}


@pytest.mark.parametrize(
    ("outputs", "how"),
    [
        ([[5e-4, 5e-4], [1.0]], None),
        ([[5e-4, 4e-4], [1.0]], "output 1 is off by up to 0.2 of the largest number (0.0001 is allowed)"),
        ([[5e-4, 5e-4], [1.5]], "output 2 is off by up to 0.5 of the largest number (0.0001 is allowed)"),
        ([[5e-4, 5e-4]], "of another shape"),
        ([[5e-4, math.nan], [1.0]], "not numbers"),
    ],
)
def test_outputs_are_compared_by_the_scale_of_each(outputs: list[list[float]], how: str | None) -> None:
    def told(probe: Any) -> dict[str, Any]:
        return {"probe": probe, "probe_scales": [max(5e-4, 0.0), 1.0][: len(probe)]}

    right = [[5e-4, 5e-4], [1.0]]
    found = said(*(one(name, facts=told(right)) for name in "ab"), one("c", facts=told(outputs)))
    assert found == ([f"unlike keras9/a in its outputs before training: {how}"] if how else [])


def test_outputs_of_an_old_run_are_not_compared_with_those_of_a_new_one() -> None:
    old = one("a", facts={"probe": [[0.1, 0.9]], "first_step": None})
    assert said(old, one("b", facts={"probe": [[0.4, 0.6]], "probe_scales": [0.6]})) == []


def test_two_backends_with_a_fault_in_common_do_not_outvote_the_right_one() -> None:
    far = {"sums": [0.9, -0.8]}  # beyond the bound
    faulty = {"explained": [KNOWN], "layers": [["Dense", {}, []]]}
    cells = [one("b", far, faulty), one("c", far, faulty), one("a")]
    assert sorted(fingerprints.differences(cells)) == [cells[0].cell.id, cells[1].cell.id]
    unfaulty = [one("b", far), one("c", far), one("a")]
    assert list(fingerprints.differences(unfaulty)) == [unfaulty[2].cell.id], "without a fault most are right"
