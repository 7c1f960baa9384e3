"""What calls of a program return is compared where the same weights and inputs went in, and only there."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import fake_runs
import pytest
from msgspec import convert

from kbench.analysis.summaries import summarise
from kbench.base import paths
from kbench.features.script import events
from kbench.features.script.events import OfLine, Returned
from kbench.features.script.lines import call_outputs
from kbench.features.script.lines.line_details import details
from kbench.features.script.told import finding_sentences
from kbench.records.findings import Finding
from kbench.records.values import Measured
from kbench.selection import backends
from kbench.store.events import parse_events

BACKENDS = backends.load_all(paths.project_folder("backends"))
SITE = "train.py: evaluate, line 9"


def weight(layer: str, name: str = "kernel", numbers: str = "aa", shared: str = "", **more: Any) -> dict[str, Any]:
    return {"layer": layer, "weight": name, "sha256": numbers, "shared": shared or numbers, **more}


def returned(*outputs: float, **changes: Any) -> dict[str, Any]:
    told: dict[str, Any] = {
        "trained": 0,
        "weights": [weight("Dense 1")],
        "scores": {},
        "inputs": {"outputs": [[0.5, 0.25]], "norms": [2.0]},
        "outputs": [list(outputs)],
        "scales": [max(map(abs, outputs), default=0.0)],
        "random": 0,
    }
    return {**told, **changes}


def call(backend: str, told: dict[str, Any], **facts: Any) -> Measured:
    explained = [vars_of(one) for one in BACKENDS[backend].explained]
    facts = {"of_kind": OfLine(convert(told, Returned)), "explained": explained, **facts}
    return fake_runs.measured(fake_runs.cell(SITE, backend), facts=facts)


def vars_of(one: Any) -> dict[str, Any]:
    return dict(vars(one))


def said(*cells: Measured) -> list[str]:
    return [text(cell.backend, one) for cell, one in call_outputs.compare(cells)]


def text(backend: str, one: Finding) -> str:
    does = finding_sentences.DOES[one.about["does"]]
    return f"{does} on {backend} than on {one.reference}: {finding_sentences.call_apart(one)}; {one.explanation}"


def layer(name: str, **settings: Any) -> list[Any]:
    return [name, settings, []]


def test_a_program_whose_backends_agree_is_told_nothing() -> None:
    near = returned(0.3, -0.70001)
    scored = {"scores": {"loss": 0.693147, "acc": 0.5}}
    assert said(call("keras2/tensorflow", returned(0.3, -0.7)), call("keras3/jax", near)) == []
    accuracy = {"scores": {"loss": 0.693148, "accuracy": 0.5}}
    assert (
        said(
            call("keras2/tensorflow", returned(0.3, -0.7, **scored)),
            call("keras3/jax", returned(0.3, -0.7, **accuracy)),
        )
        == []
    )


@pytest.mark.parametrize(
    "change",
    [
        {"weights": [weight("Dense 1", numbers="bb")]},  # initial weights of its own
        {"weights": [weight("Dense 1", numbers="bb", sums=[1.0], norm=1.0)], "trained": 1},  # what it has learnt
        {"inputs": {"outputs": [[0.5, 0.3]], "norms": [2.0]}},
        {"inputs": None},
    ],
)
def test_other_weights_or_inputs_give_other_outputs_and_nobody_is_blamed(change: dict[str, Any]) -> None:
    assert said(call("keras3/jax", returned(0.3)), call("keras3/torch", returned(0.9, **change))) == []


def test_the_one_that_differs_from_most_is_named_with_the_score_that_people_know() -> None:
    right, wrong = {"loss": 0.2, "accuracy": 0.941}, {"loss": 2.9, "accuracy": 0.09}
    cells = [
        call("keras3/torch", returned(0.9, scores=wrong)),
        call("keras3/jax", returned(0.3, scores=right)),
        call("keras3/tensorflow", returned(0.3, scores=right)),
    ]
    assert said(*cells) == [
        "the same weights predict otherwise on keras3/torch than on keras3/jax: accuracy 0.09 instead of 0.941; "
    ]


def test_outputs_of_models_without_weights_are_compared() -> None:
    cells = [call(name, returned(of, weights=[])) for name, of in (("keras3/jax", 0.3), ("keras3/torch", 0.9))]
    (only,) = said(*cells)
    assert only.startswith(
        "a model without weights computes otherwise on keras3/torch than on keras3/jax: outputs off"
    )


def test_a_score_without_outputs_is_evaluated_otherwise_and_nobody_predicts() -> None:
    scores = (("keras2/tensorflow", 6.141), ("keras3/jax", 1.904))
    cells = [call(name, {**returned(0.0, scores={"loss": loss}), "outputs": []}) for name, loss in scores]
    (only,) = said(*cells)
    assert only.startswith("the same weights evaluate otherwise on ")


def test_without_scores_the_size_of_the_difference_is_told() -> None:
    (only,) = said(call("keras3/jax", returned(0.3)), call("keras3/torch", returned(0.9)))
    assert "outputs off by up to 0.67 of the largest number" in only


def test_kernels_of_theano_are_flipped_if_a_program_carries_them_over() -> None:
    # The first row of two is the one with the fault, and is blamed all the same.
    flipped = [weight("Conv2D 1", numbers="aa", shared="cc"), weight("Dense 1")]
    usual = [weight("Conv2D 1", numbers="aa"), weight("Dense 1")]
    cells = [
        call("keras2/theano", returned(0.9, weights=flipped)),
        call("keras2/tensorflow", returned(0.3, weights=usual)),
    ]
    (only,) = said(*cells)
    assert only.startswith("the same weights predict otherwise on keras2/theano than on keras2/tensorflow")
    assert "Its convolution kernels are flipped" in only


def test_kernels_that_were_converted_are_the_same_weights_and_predict_the_same() -> None:
    converted = [weight("Conv2D 1", numbers="ff", shared="aa")]
    usual = [weight("Conv2D 1", numbers="aa")]
    cells = [
        call("keras2/theano", returned(0.3, weights=converted)),
        call("keras2/tensorflow", returned(0.3, weights=usual)),
    ]
    assert said(*cells) == []


def test_cntk_returns_the_cell_state_of_an_lstm() -> None:
    layers = [layer("Bidirectional", layer=["LSTM", {"units": 4}]), layer("Dense")]
    cells = [
        call(name, returned(number), layers=layers)
        for name, number in (("keras2/cntk", 0.9), ("keras2/tensorflow", 0.3))
    ]
    (only,) = said(*cells)
    assert "on keras2/cntk than" in only and "Its LSTM returns the cell state c" in only
    without = [
        call(name, returned(number), layers=[layer("GRU")])
        for name, number in (("keras2/cntk", 0.9), ("keras2/tensorflow", 0.3))
    ]
    assert "LSTM" not in said(*without)[0]


def test_mxnet_computes_something_else_in_a_recurrent_layer() -> None:
    layers = [layer("GRU")]
    cells = [
        call(name, returned(number), layers=layers)
        for name, number in (("keras2/mxnet", 0.0), ("keras2/theano", 0.3))
    ]
    assert "unroll=True" in said(*cells)[0]


def test_a_default_that_differs_is_the_cause() -> None:
    old, new = [layer("LSTM", recurrent_activation="hard_sigmoid")], [layer("LSTM", recurrent_activation="sigmoid")]
    cells = [
        call("keras2/tensorflow", returned(0.3), layers=old),
        call("keras3/jax", returned(0.4), layers=new),
        call("keras3/torch", returned(0.4), layers=new),
    ]
    assert said(*cells)[0].endswith("layer 1, LSTM, has recurrent_activation hard_sigmoid instead of sigmoid")


def test_hard_sigmoid_is_another_function_in_keras_3() -> None:
    layers = [layer("Dense", activation="hard_sigmoid")]
    cells = [
        call("keras2/tensorflow", returned(0.3), layers=layers),
        call("keras3/jax", returned(0.4), layers=layers),
    ]
    assert "hard_sigmoid is x / 6 + 0.5 in Keras 3" in said(*cells)[0]
    other = [
        call("keras3/tensorflow", returned(0.3), layers=layers),
        call("keras3/jax", returned(0.4), layers=layers),
    ]
    assert "hard_sigmoid" not in said(*other)[0]


def test_an_epsilon_or_a_layout_that_differs_is_the_cause() -> None:
    cells = [
        call("keras2/tensorflow", returned(0.3), layers=[layer("BatchNormalization", epsilon=0.001)]),
        call("keras3/jax", returned(0.4), layers=[layer("BatchNormalization", epsilon=1e-05)]),
    ]
    assert said(*cells)[0].endswith("BatchNormalization, has epsilon 1e-05 instead of 0.001")


def test_moving_averages_are_to_blame_where_all_that_is_trained_agrees() -> None:
    def after(mean: float, kernel: float = 1.0) -> dict[str, Any]:
        its_weights = [
            weight("Conv2D 1", "kernel", str(kernel), norm=1.0, sums=[kernel, 0.0]),
            weight("Conv2D 1", "bias", str(mean), norm=1e-9, sums=[1e-9 * mean, 0.0]),
            weight("BatchNormalization 1", "moving_mean", str(mean), norm=abs(mean), sums=[mean, 0.0], trains=0),
        ]
        return {"trained": 1, "weights": its_weights}

    cells = [
        call("keras2/tensorflow", returned(0.9, **after(5.0, 1.00001))),
        call("keras3/jax", returned(0.3, **after(0.05))),
        call("keras3/torch", returned(0.3, **after(0.05000001))),
    ]
    (only,) = said(*cells)
    assert only.startswith("the same training predicts otherwise on keras2/tensorflow than on keras3/jax")
    assert "moving mean 99 times its norm off" in only and "zero_debias" in only
    learnt = call("keras2/tensorflow", returned(0.9, **after(5.0, 3.0)))
    assert said(learnt, *cells[1:]) == []


def test_a_file_that_gives_a_layer_no_weights_is_named() -> None:
    def loaded(numbers: str, found: int) -> dict[str, Any]:
        return {"weights": [weight("Dense 1", loaded=1), weight("Dense 2", numbers=numbers, loaded=found)]}

    cells = [
        call("keras2/tensorflow", returned(0.3, **loaded("aa", 1))),
        call("keras3/jax", returned(0.9, **loaded("bb", 0))),
    ]
    assert said(*cells)[0].startswith("weights of the same file predict otherwise on keras3/jax")
    assert said(*cells)[0].endswith("Dense 2 got no weights by load_weights there")
    others = call("keras3/jax", returned(0.9, **loaded("bb", 1)))
    assert said(cells[0], others)[0].endswith("Dense 2 got other weights by load_weights there")
    # A new head, which no file gives its weights, is each backend's own.
    new = [
        call(name, returned(0.3 * place, **loaded(name, 0)))
        for place, name in enumerate(("keras3/jax", "keras3/torch"), 1)
    ]
    assert said(*new) == []


def test_dropout_that_is_on_for_one_is_named_and_for_all_is_no_difference() -> None:
    noisy = [layer("SpatialDropout1D"), layer("Dense")]
    cells = [call("keras2/tensorflow", returned(0.9, random=1), layers=noisy), call("keras3/jax", returned(0.3))]
    assert said(*cells)[0].endswith("its dropout or noise is on")
    assert said(cells[0], call("keras3/jax", returned(0.3, random=1))) == []


def test_what_changes_from_call_to_call_without_dropout_has_no_cause_and_no_number_that_agrees() -> None:
    cells = [call("keras3/torch", returned(0.3, random=1)), call("keras3/jax", returned(0.3))]
    assert said(*cells) == [
        "the same weights predict otherwise from call to call on keras3/torch than on keras3/jax: the first call "
        "agrees, and the same call at the program's end returns something else; "
    ]


OTHERS = {"outputs": [[0.5, 0.35]], "norms": [2.1]}


@pytest.mark.parametrize(
    ("inputs", "told"),
    [
        (OTHERS, ["off by up to 0.2 of the largest number"]),
        ({"outputs": [[0.5, 0.35, 0.1]], "norms": [2.1]}, ["of another shape"]),
        ({"outputs": [[0.5, 0.2505]], "norms": [2.001]}, []),  # what a model before it made of them
    ],
)
def test_evaluate_with_other_inputs_is_told(inputs: dict[str, Any], told: list[str]) -> None:
    scored = {"scores": {"loss": 0.5}}
    cells = [call("keras3/jax", returned(**scored)), call("keras3/torch", returned(**scored, inputs=inputs))]
    start = "evaluate is given other inputs on keras3/torch than on keras3/jax: "
    assert said(*cells) == [f"{start}{how}; " for how in told]


def test_inputs_in_another_layout_are_not_other_inputs() -> None:
    scored = {"scores": {"loss": 0.5}}
    other = call("keras3/torch", returned(**scored, inputs=OTHERS))
    other = replace(other, cell=other.cell.at(image_data_format="channels_first"))
    assert said(call("keras3/jax", returned(**scored)), other) == []


def test_scores_that_differ_though_outputs_agree_are_told() -> None:
    cells = [
        call("keras2/cntk", returned(0.3, scores={"loss": 0.5, "acc": 0.0848})),
        call("keras2/theano", returned(0.3, scores={"loss": 0.5, "acc": 0.0982})),
    ]
    (only,) = said(*cells)
    assert only.startswith("the same weights evaluate otherwise on keras2/cntk")
    assert only.endswith("What it reports in fit and evaluate leaves out one batch")


def test_what_a_broken_guest_reports_is_damaged_or_not_compared() -> None:
    for broken in ({"weights": "?"}, {"outputs": [["a"]]}):
        read = parse_events(json.dumps({"event": "returned", "site": "predict, line 9", **broken}).encode())
        assert read.facts.events_damaged == 1 and events.returned(read.facts, "predict, line 9") is None
    assert said(call("keras3/jax", returned(0.3, scales=[])), call("keras3/torch", returned(0.9))) == []


def test_outputs_agree_only_where_all_were_compared_and_none_is_random() -> None:
    def apart(*cells: Measured) -> list[float | None]:
        rows = call_outputs.add_notes(summarise(cells), cells)
        return [details(row).outputs_apart for row in sorted(rows, key=lambda row: row.backend)]

    one = call("keras2/tensorflow", returned(0.9, 0.1))
    near = call("keras3/jax", returned(0.9 + 9e-6, 0.1))
    assert apart(one, near) == pytest.approx([1e-5, 1e-5], rel=0.2)
    assert apart(one, call("keras3/jax", returned(0.3, 0.1))) == [None, None]
    drawn = call("keras2/tensorflow", returned(0.9, 0.1, random=1))
    assert apart(drawn, call("keras3/jax", returned(0.3, 0.1))) == [None, None]
    assert apart(one) == [None]


def test_outputs_of_another_shape_are_told_by_their_shapes() -> None:
    one, other = returned(0.5, 0.25, shapes=[[20, 20, 3]]), returned(0.5, 0.25, shapes=[[11, 11, 3]])
    (found,) = said(call("keras2/tensorflow", one), call("keras2/cntk", other))
    assert "outputs of shape (n, 11, 11, 3) instead of (n, 20, 20, 3)" in found
    assert not said(call("keras2/tensorflow", one), call("keras2/cntk", one))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"weights": [weight("Dense 1", numbers="bb")]}, "each backend draws its own initial weights"),
        ({"weights": [weight("Dense 1", numbers="bb")], "trained": 1}, "after training, weights are not the same"),
        ({"inputs": None}, "it is not known that their inputs are the same"),
        ({"random": 1}, "they are drawn at random"),
        ({}, ""),
        ({"outputs": [], "scores": None, "inputs": None}, ""),
    ],
)
def test_why_outputs_are_not_compared_is_kept(changes: dict[str, Any], why: str) -> None:
    first = returned(0.3, -0.7, **({"random": 1} if "random" in changes else {}))
    cells = [call("keras3/tensorflow", first), call("keras3/jax", returned(0.3, -0.7, **changes))]
    rows = call_outputs.add_notes(summarise(cells), cells)
    for told in (details(row).outputs_not_compared for row in rows):
        assert told.startswith(why) if why else told == ""


def test_scores_that_agree_are_told_where_no_outputs_are_known() -> None:
    scored = {"outputs": [], "scales": [], "scores": {"loss": 1.904}}
    cells = [call(name, returned(**scored)) for name in ("keras3/tensorflow", "keras3/jax")]
    assert [details(row).scores_agree for row in call_outputs.add_notes(summarise(cells), cells)] == [True, True]
    apart = call("keras3/jax", returned(**{**scored, "scores": {"loss": 2.5}}))
    rows = call_outputs.add_notes(summarise([cells[0], apart]), [cells[0], apart])
    assert not any(details(row).scores_agree for row in rows) and any(row.findings for row in rows)
