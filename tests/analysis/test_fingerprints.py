"""Cells that were not measured alike are found, and what differs is named."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from fake_runs import cell, fake_run, in_words, measured, write_events

from kbench import store
from kbench.analysis.sameness import fingerprints
from kbench.analysis.summaries import summarise
from kbench.records.values import OK, Measured, Outcome
from kbench.tables import text
from kbench.words.sentences import sentence

GRU = ["GRU", {"units": 100, "activation": "tanh", "recurrent_activation": "sigmoid"}, [[32, 300], [100, 300], [300]]]
CONVOLUTION = ["Conv2D", {"filters": 32, "kernel_size": [3, 3], "use_bias": True}, [[3, 3, 1, 32], [32]]]
DENSE = ["Dense", {"units": 10, "activation": "softmax"}, [[100, 10], [10]]]
OPTIMIZER = {"class_name": "Adam", "learning_rate": 0.001, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7}
FACTS: dict[str, Any] = {
    "layers": [CONVOLUTION, GRU, DENSE],
    "parameters": 1000,
    "weights": "seeded",
    "weights_sha256": "aa",
    "weights_left": [],
    "content_sha256": "dd",
    "order_sha256": "00",
    "batch_size": 32,
    "optimizer": OPTIMIZER,
    "loss": "categorical_crossentropy",
    "dtypes": ["float32"],
    "probe": [[0.25, 0.75], [0.5, 0.5]],
}


def one(backend: str, repeat: int = 1, **facts: Any) -> Measured:
    return measured(cell(backend=backend, repeat=repeat), 2.0, 1.0, 1.0, facts={**FACTS, **facts})


def said(*cells: Measured) -> list[str]:
    return [text for found in in_words(fingerprints.differences(cells)).values() for text in found]


def test_cells_that_were_measured_alike_do_not_differ() -> None:
    assert fingerprints.differences([one("a/x"), one("a/y"), one("b/z")]) == {}
    assert (
        fingerprints.fingerprint(fingerprints.reported(one("a/x")))
        == fingerprints.fingerprint(fingerprints.reported(one("a/y")))
        != ""
    )


def test_a_gru_with_another_reset_after_is_caught_by_name() -> None:
    cheat = ["GRU", {**GRU[1], "reset_after": True}, [[32, 300], [100, 300], [2, 300]]]  # type: ignore[dict-item]
    (sentence,) = said(one("a/x"), one("a/y"), one("b/z", layers=[CONVOLUTION, cheat, DENSE]))
    assert sentence == "unlike a/x in its model: layer 2, GRU, has reset_after true instead of false"


def test_kernels_of_28_by_28_are_caught_by_name() -> None:
    cheat = ["Conv2D", {**CONVOLUTION[1], "kernel_size": [28, 28]}, [[28, 28, 1, 32], [32]]]  # type: ignore[dict-item]
    (sentence,) = said(one("a/x"), one("a/y", layers=[cheat, GRU, DENSE]), one("b/z"))
    assert sentence == "unlike a/x in its model: layer 1, Conv2D, has kernel_size [28, 28] instead of [3, 3]"


def test_a_batch_size_of_33_is_caught_by_name() -> None:
    assert said(one("a/x", batch_size=33), one("a/y"), one("b/z")) == [
        "unlike a/y in its batch size: 33 instead of 32"
    ]


def without_layers(backend: str, **facts: Any) -> Measured:
    """A model that is none of Keras's: it has no layers to describe."""
    return one(backend, **{**facts, "layers": None})


def fingerprints_of(*cells: Measured) -> list[str]:
    return [row.fingerprint for row in sorted(summarise(cells), key=lambda row: row.backend)]


def test_a_model_without_layers_that_computes_the_same_from_the_same_weights_is_the_same_model() -> None:
    keras, native = one("a/x"), without_layers("native/x")
    assert said(keras, native) == []
    assert len(set(fingerprints_of(keras, native))) == 1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"probe": [[0.75, 0.25], [0.5, 0.5]]}, "outputs before training: off by up to 0.5 (0.0001 is allowed)"),
        ({"weights_sha256": "ab"}, "initial weights"),
        ({"parameters": 1001}, "number of parameters: 1001 instead of 1000"),
        ({"optimizer": {**OPTIMIZER, "epsilon": 1e-8}}, "optimizer: epsilon 1e-08 instead of 1e-07"),
    ],
)
def test_a_model_without_layers_that_is_another_one_is_named(change: dict[str, Any], sentence: str) -> None:
    cells = (one("a/x"), one("a/y"), without_layers("native/x", **change))
    assert said(*cells) == [f"unlike a/x in its {sentence}"]
    keras, other, native = fingerprints_of(*cells)
    assert keras == other != native


def test_models_without_layers_are_compared_with_each_other() -> None:
    first, second = without_layers("native/x"), without_layers("native/y")
    assert len(set(fingerprints_of(first, second))) == 1
    assert said(first, without_layers("native/z", order_sha256="01")) == ["unlike native/x in its order of samples"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"weights_sha256": "ab"}, "unlike a/x in its initial weights"),
        ({"content_sha256": "de"}, "unlike a/x in its data"),
        ({"order_sha256": "01"}, "unlike a/x in its order of samples"),
        ({"loss": "mse"}, "unlike a/x in its loss: mse instead of categorical_crossentropy"),
        ({"dtypes": ["float16"]}, 'unlike a/x in its dtype: ["float16"] instead of ["float32"]'),
        ({"parameters": 1001}, "unlike a/x in its number of parameters: 1001 instead of 1000"),
        (
            {"optimizer": {**OPTIMIZER, "epsilon": 1e-8, "amsgrad": True}},
            "unlike a/x in its optimizer: amsgrad true instead of false, epsilon 1e-08 instead of 1e-07",
        ),
        ({"layers": [CONVOLUTION, DENSE]}, "unlike a/x in its model: layer 2 is Dense instead of GRU"),
        ({"layers": [CONVOLUTION]}, "unlike a/x in its model: 1 layers instead of 3"),
        (
            {"layers": [CONVOLUTION, [*GRU[:2], [[1]]], DENSE]},
            "unlike a/x in its model: layer 2, GRU, has weights of shapes [[1]] instead of "
            "[[32, 300], [100, 300], [300]]",
        ),
        (
            {"weights_left": ["dense/kernel"]},
            "its initial weights are its own in dense/kernel: kbench draws those alike for all rows that "
            "have an initializer of Keras, given to add_weight",
        ),
        (
            {"probe": [[0.35, 0.65], [0.5, 0.5]]},
            "unlike a/x in its outputs before training: off by up to 0.1 (0.0001 is allowed)",
        ),
        ({"probe": [[0.25, 0.75]]}, "unlike a/x in its outputs before training: of another shape"),
        (
            {"probe": [[math.nan, 0.75], [0.5, 0.5]]},
            "unlike a/x in its outputs before training: not numbers",
        ),
    ],
)
def test_whatever_has_to_be_equal_is_compared(change: dict[str, Any], sentence: str) -> None:
    told = in_words(fingerprints.differences([one("a/x"), one("a/y"), one("b/z", **change)]))
    assert told == {one("b/z").cell.id: (sentence,)}


def test_the_cure_is_told_of_an_axis_that_is_another_because_of_the_layout() -> None:
    def normalized(axis: int | None, layout: str) -> dict[str, Any]:
        return {"layers": [["BatchNormalization", {"axis": axis}, []]], "image_data_format": layout}

    first, last = normalized(-2, "channels_first"), normalized(None, "channels_last")
    (sentence,) = said(one("a/x", **last), one("b/z", **first))
    assert sentence == (
        "unlike a/x in its model: layer 1, BatchNormalization, has axis -2 instead of none (give it axis=1 where "
        "keras.backend.image_data_format() is channels_first, or run with --image-data-format channels_last)"
    )
    (sentence,) = said(one("a/x", **last), one("b/z", **{**first, "image_data_format": "channels_last"}))
    assert sentence.endswith("has axis -2 instead of none")


def test_of_batches_from_a_file_the_samples_are_told_apart_from_their_order() -> None:
    made: dict[str, Any] = {"order_sha256": "01", "samples_sha256": "aa", "different_samples": 60}
    other: dict[str, Any] = {"order_sha256": "02", "samples_sha256": "bb", "probe": [[0.5, 0.5], [0.5, 0.5]]}
    cells = [one("a/x", **made), one("a/y", **made)]
    assert said(*cells, one("b/z", **{**made, "order_sha256": "02"})) == ["unlike a/x in its order of samples"]
    assert said(*cells, one("b/z", **{**made, **other})) == ["unlike a/x in its samples"]
    plain = {**made, **received(sha256=["aa", "aa"]), "sample_weights": "none"}
    weighted = {**made, **received(sha256=["bb", "bb"]), "sample_weights": "cc", "order_sha256": "02"}
    assert said(one("a/x", **plain), one("b/z", **weighted)) == ["unlike a/x in its sample weights"], (
        "once, and not also as other data"
    )
    assert said(*cells, one("b/z", **{**made, **other, "different_samples": 55})) == [
        "unlike a/x in its number of different samples: 55 instead of 60"
    ]


def test_another_number_of_samples_of_a_programs_fit_is_no_equal_work_and_that_of_validation_a_remark() -> None:
    ((found,),) = fingerprints.differences([one("a/x", samples=96), one("b/z", samples=100)]).values()
    assert sentence(found) == "unlike a/x in its number of samples: 100 instead of 96"
    assert found.is_amount_of_work
    validated = [one("a/x", validation_samples=0), one("b/z", validation_samples=64)]
    ((found,),) = fingerprints.differences(validated).values()
    assert sentence(found) == "unlike a/x in its number of validation samples: 64 instead of 0"
    assert not found.is_amount_of_work


def test_a_change_of_anything_changes_the_fingerprint() -> None:
    plain = fingerprints.fingerprint(fingerprints.reported(one("a/x")))
    for change in ({"weights_sha256": "ab"}, {"batch_size": 33}, {"optimizer": {}}, {"layers": []}):
        assert fingerprints.fingerprint(fingerprints.reported(one("a/x", **change))) != plain


def test_outputs_within_float32s_precision_are_the_same() -> None:
    assert said(one("a/x"), one("a/y", probe=[[0.25005, 0.74995], [0.5, 0.5]])) == []


def test_what_a_guest_did_not_tell_is_not_held_against_it() -> None:
    assert said(one("a/x"), one("a/y", optimizer=None, probe=None, order_sha256=None)) == []
    assert said(one("a/x"), measured(cell(backend="a/y"), 1.0)) == []
    assert fingerprints.fingerprint(fingerprints.reported(measured(cell(backend="a/y"), 1.0))) == ""


def test_damaged_facts_are_not_compared_and_do_not_stop_the_tables() -> None:
    assert said(one("a/x"), one("a/y", probe=[[1.0], []])) == []
    assert said(one("a/x"), one("a/y"), one("b/z", layers="?", optimizer=[])) == []


def test_repeats_with_seeds_of_their_own_are_compared_with_the_same_repeat() -> None:
    cells = [one(name, repeat, weights_sha256=f"{repeat}") for repeat in (1, 2) for name in ("a/x", "a/y")]
    assert said(*cells) == []


def test_weights_of_each_backends_own_are_no_difference_where_they_were_asked_for() -> None:
    own: dict[str, Any] = {"weights": "backend", "weights_sha256": ""}
    cells = [one("a/x", **own), one("a/y", probe=[[0.9, 0.1], [0.5, 0.5]], **own)]
    assert said(*cells) == []
    assert "Initial weights are each backend's own" in text.text(summarise(cells))


def test_a_row_that_differs_stays_visible_marked_and_without_a_ratio() -> None:
    rows = summarise([one("a/x"), one("a/y"), one("b/z", batch_size=33)])
    unlike = next(row for row in rows if row.backend == "b/z")
    assert unlike.epoch_seconds == 1.0 and unlike.relative_to_fastest is None
    assert {row.relative_to_fastest for row in rows if row is not unlike} == {1.0}
    table = text.text(rows)
    (line,) = [line for line in table.splitlines() if line.startswith("b/z")]
    assert line.endswith("ok, differs [1]")
    assert "[1] unlike a/x in its batch size: 33 instead of 32" in table
    assert "not compared with them" in table


def test_a_fast_cheat_is_nobodys_measure() -> None:
    fast = measured(cell(backend="b/z"), 0.2, 0.1, 0.1, facts={**FACTS, "batch_size": 33})
    rows = summarise([one("a/x"), one("a/y"), fast])
    assert {row.relative_to_fastest for row in rows} == {1.0, None}


def test_hashes_of_data_by_an_earlier_version_are_not_compared_across_layouts(tmp_path: Path) -> None:
    cells = [cell(backend="a/x", image_data_format="channels_first"), cell(backend="a/y")]
    run = fake_run(tmp_path, [(one, 1.0, Outcome(OK)) for one in cells])
    no_word: dict[str, str] = {}
    for one in cells:
        write_events(run, one, [{"event": "start"}, {"event": "model", "layers": []}])
    for further, expected in ((no_word, 0), ({"hash_of": "channels_last"}, 1)):
        for number, one in enumerate(cells):
            store.write_spec(run, one, {"data": {"name": "mnist", "sha256": f"{number}", **further}}, {})
        assert len(fingerprints.differences(store.read(run).measured)) == expected


def received(**of_epochs: list[Any]) -> dict[str, Any]:
    """The fact of two epochs."""
    return {
        "received": {n: {"epoch": n, **{name: values[n - 1] for name, values in of_epochs.items()}} for n in (1, 2)}
    }


def paced(backend: str, share: float, device: str = "cpu") -> Measured:
    """A training whose threads computed in this share of its epochs' time."""
    about = received(ready_seconds=[3.0 * share, share])
    return measured(cell(backend=backend, device=device), 3.0, 1.0, facts={**FACTS, **about})


def waiting(*cells: Measured) -> list[str]:
    found = [one for each in fingerprints.add_notes(cells) for one in each.findings]
    return [sentence(one) for one in found if one.kind == "waiting"]


def test_a_process_that_waits_while_others_compute_has_a_note() -> None:
    cells = [paced("a/x", 1.7), paced("a/y", 0.95), paced("b/z", 0.1)]
    assert waiting(*cells) == ["its process only waited in 90% of its epochs' time, others in 0%"]
    assert said(*cells) == [], "a release may do so: its time is compared"
    assert waiting(*cells[:2]) == []
    assert waiting(paced("a/x", 0.2), paced("b/z", 0.1)) == [], "all wait, as for the same data"
    assert waiting(paced("a/x", 1.0, "gpu:0"), paced("b/z", 0.1, "gpu:0")) == [], "the device computes"


def test_outputs_that_change_from_pass_to_pass_are_told_unless_all_do() -> None:
    def passes(backend: str, off: float) -> Measured:
        return one(backend, **received(outputs_off=[0.0, off]))

    changed = "its outputs changed from pass to pass, by up to 0.25 of the largest number"
    assert said(passes("a/x", 1e-6), passes("b/z", 0.25)) == [changed]
    assert said(passes("a/x", 0.25), passes("b/z", 0.25)) == [], "the model has states"


@pytest.mark.parametrize(
    ("honest", "cheat", "sentence"),
    [
        (
            received(samples=[256, 256]),
            received(samples=[256, 64]),
            "in the number of samples: trained on 64 in epoch 2 instead of 256",
        ),
        (received(steps=[8, 8]), received(steps=[8, 0]), "in the number of steps: 0 in epoch 2 instead of 8"),
        (
            received(sha256=["a", "b"]),
            received(sha256=["a", "c"]),
            "in the data that its training received in epoch 2",
        ),
        (
            received(learning_rate=[0.01, 0.01]),
            received(learning_rate=[1.0, 1.0]),
            "in its learning rate at the start of epoch 1: 1.00 instead of 0.0100",
        ),
        (
            received(weights_changed=[0, 0]),
            received(weights_changed=[0, 1]),
            "in its weights, which were changed outside training, before epoch 2",
        ),
        (
            received(updates=[8, 8]),
            received(updates=[8, 4]),
            "in the steps that its optimizer counts: 4 in epoch 2 instead of 8",
        ),
        ({"run_eagerly": 0}, {"run_eagerly": 1}, "in its run_eagerly: true instead of false"),
        ({"steps_per_execution": 1}, {"steps_per_execution": 4}, "in its steps_per_execution: 4 instead of 1"),
        (
            {"class_weight": "{}"},
            {"class_weight": '{"0": 5}'},
            "in its weights of classes: 0 5 instead of none",
        ),
        (
            {"augmentation": '{"horizontal_flip": true}'},
            {"augmentation": '{"horizontal_flip": false}'},
            "in its augmentation: horizontal_flip false instead of true",
        ),
        (
            {"order_of_updates": "in order"},
            {"order_of_updates": "in no fixed order"},
            "in its order of updates: in no fixed order instead of in order",
        ),
    ],
    ids=["samples", "steps", "data", "rate", "weights", "count", "eager", "calls", "classes", "images", "updates"],
)
def test_what_a_training_did_otherwise_is_named(honest: dict[str, Any], cheat: dict[str, Any], sentence: str) -> None:
    assert said(one("a/x", **honest), one("a/y", **honest), one("b/z", **cheat)) == [f"unlike a/x {sentence}"]
    assert said(one("a/x", **honest), one("a/y", **honest)) == []
    assert said(one("a/x", **honest), one("b/old")) == [], "an older guest did not report it"


def test_a_number_of_threads_that_the_examples_file_changed_is_named() -> None:
    threads: dict[str, Any] = {"threads_at_start": {"intra_op": 2}, "framework_threads": {"intra_op": 2}}
    changed: dict[str, Any] = {**threads, "framework_threads": {"intra_op": 1}}
    assert said(one("a/x", **threads), one("b/z", **changed)) == [
        "its number of threads was changed: intra_op 1 instead of 2"
    ]
    within = {**threads, **received(threads=[{"intra_op": 2}, {"intra_op": 1}])}
    assert said(one("a/x", **threads), one("b/z", **within)) == [
        "its number of threads was changed in epoch 2: intra_op 1 instead of 2"
    ]


def test_cores_that_the_examples_file_gave_up_are_named() -> None:
    honest, fewer = ({"cores_at_start": 2, **received(cores=[2, cores])} for cores in (2, 1))
    assert said(one("a/x", **honest), one("b/z", **fewer)) == [
        "its number of cores was changed in epoch 2: 1 instead of 2"
    ]


def test_rates_that_float32_rounds_are_the_same_and_epochs_that_one_lacks_are_not_compared() -> None:
    held, rounded = received(learning_rate=[0.01, 0.001]), received(learning_rate=[0.009999999776, 0.0010000000475])
    shorter: dict[str, Any] = {"received": {1: {"learning_rate": 0.01}}}
    assert said(one("a/x", **held), one("a/y", **rounded), one("b/z", **shorter)) == []


def test_usual_settings_leave_the_fingerprint_as_it_was_before_guests_reported_them() -> None:
    usual: dict[str, Any] = {
        "metrics": '["accuracy"]',
        "class_weight": "{}",
        "loss_weights": "{}",
        "steps_per_execution": 1,
    }
    usual |= {"run_eagerly": 0, "order_of_updates": "in order"}
    hashes = [
        fingerprints.fingerprint(fingerprints.reported(one("a/x", **facts)))
        for facts in ({}, usual, {**usual, "order_of_updates": "in no fixed order"})
    ]
    assert hashes[0] == hashes[1] != hashes[2]


def test_weights_of_losses_that_a_damaged_file_has_are_compared_as_they_are() -> None:
    found = said(one("a", loss_weights="[1.0]"), one("b", loss_weights="[1]"), one("c", loss_weights="2026-13-45"))
    assert [words for words in found if "weights of losses" in words and "2026-13-45" in words]
