"""An example of each kind, as the docs show them, on real backends: the same data, weights, order, and learning."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pytest
from real_runs import Kbench

from kbench.analysis.summaries import summarise
from kbench.base import paths
from kbench.records.values import OK, UNSUPPORTED
from kbench.store import RunResults

pytestmark = [
    pytest.mark.timeout(3600),
    pytest.mark.slow("each kind is trained on several backends"),
]
KINDS = paths.project_folder("examples_models") / "kinds"
TRAINING = (  # all
    "keras2/tensorflow,keras2/tensorflow2,keras2/cntk,keras2/theano,keras2/mxnet,keras2/plaidml,"
    "keras3/tensorflow,keras3/jax,keras3/torch"
)
TWO = "keras2/tensorflow,keras3/jax"  # of both generations, in processes that the tests share
# Kind -> the scores that its table shows beside the losses.
SCORES = {
    "siamese": (),
    "autoencoder": ("val_mae",),
    "generator": ("val_accuracy",),
    "regression": ("val_mae",),
    "text_conv1d": ("val_accuracy",),
    "two_outputs": ("val_kind_accuracy", "val_kind_loss", "val_distance_mae", "val_distance_loss"),
    "subclassed": ("val_accuracy",),
    "sequence_to_sequence": ("val_accuracy",),
    "basic": ("val_accuracy",),
}
# With -m "" these run on all backends, and the others on another one.
EVERYWHERE = ("siamese", "text_conv1d", "autoencoder", "regression", "generator")
ELSEWHERE = "keras2/tensorflow,keras3/tensorflow,keras3/torch"
# One takes as long as all others; the other one trains by default with a layer of its own in it.
ELSEWHERE_ONLY = ("sequence_to_sequence", "basic")


def able(name: str) -> str:
    """The backends that train this kind alike: PlaidML leaves class weights out of binary crossentropy's gradient."""
    others = [one for one in TRAINING.split(",") if one != "keras2/plaidml" or name != "text_conv1d"]
    return ",".join(others)


def test_each_kind_has_a_test_and_each_backend_runs_four() -> None:
    assert {path.stem for path in KINDS.glob("*.py")} == set(SCORES)
    runs = Counter(name for kind in EVERYWHERE for name in able(kind).split(","))
    assert set(runs) == set(TRAINING.split(",")) and min(runs.values()) >= 4


@pytest.mark.parametrize(
    ("name", "backends"),
    [
        *((name, TWO) for name in SCORES if name not in ELSEWHERE_ONLY),
        *(pytest.param(name, able(name), marks=pytest.mark.thorough) for name in EVERYWHERE),
        *(pytest.param(name, ELSEWHERE, marks=pytest.mark.thorough) for name in SCORES if name not in EVERYWHERE),
    ],
)
def test_a_kind_of_example_is_the_same_on_every_backend(kbench: Kbench, name: str, backends: str) -> None:
    run = kbench.measure(backends, str(KINDS / f"{name}.py"))
    assert run.status == 0, run.output
    check_the_same(run.results(), backends, SCORES[name])
    assert all(score in run.output for score in SCORES[name] if score != "val_accuracy")


def check_the_same(results: RunResults, backends: str, scores: tuple[str, ...]) -> None:
    rows = summarise(results.measured)
    assert {row.backend for row in rows} == set(backends.split(","))
    assert [(row.status, row.differs) for row in rows] == [(OK, ())] * len(rows), rows
    assert len({row.fingerprint for row in rows}) == 1 and rows[0].fingerprint
    assert len({row.data_sha256 for row in rows}) == 1
    first = rows[0]
    for row in rows:
        assert row.final_val_loss == pytest.approx(first.final_val_loss, rel=0.02), row.backend
        found = dict(row.metrics) | {"val_accuracy": row.final_val_accuracy}
        for score in scores:
            assert math.isfinite(found[score] or math.nan), score
        assert row.final_val_accuracy is None or "val_accuracy" in scores


@pytest.mark.thorough
def test_a_gradient_that_leaves_out_class_weights_is_told(kbench: Kbench) -> None:
    run = kbench.measure("keras2/plaidml,keras3/jax,keras3/torch", str(KINDS / "text_conv1d.py"))
    rows = {row.backend: row for row in summarise(run.results().measured)}
    assert rows["keras3/jax"].differs == rows["keras3/torch"].differs == (), run.output
    (said,) = rows["keras2/plaidml"].differs
    assert "in the first optimizer step" in said and "Conv1D 1's kernel changes by" in said


def test_several_steps_in_one_call_are_counted_as_such_or_are_unsupported(kbench: Kbench, tmp_path: Path) -> None:
    text = (KINDS / "basic.py").read_text("utf-8")
    (tmp_path / "mine.py").write_text(text.replace("\nBATCH_SIZE", "\nSTEPS_PER_EXECUTION = 3\nBATCH_SIZE"), "utf-8")
    run = kbench.measure("keras2/cntk,keras3/jax,keras3/torch", str(tmp_path / "mine.py"))
    status = {one.cell.backend: one.outcome.status for one in run.results().measured}
    assert status == {"keras2/cntk": UNSUPPORTED, "keras3/jax": OK, "keras3/torch": UNSUPPORTED}, run.output
    (jax,) = [one for one in run.results().measured if one.outcome.status == OK]
    assert [len(epoch.step_seconds) for epoch in jax.epochs] == [2, 2], "four steps are a call of three, and of one"


def test_callbacks_end_a_training_early_and_the_row_says_so(kbench: Kbench, tmp_path: Path) -> None:
    text = (KINDS / "regression.py").read_text("utf-8").replace("patience=4", "patience=1, min_delta=1e6")
    (tmp_path / "mine.py").write_text(text, "utf-8")
    run = kbench.measure("keras2/tensorflow,keras3/jax", str(tmp_path / "mine.py"), "--epochs", "6")
    assert run.status == 0, run.output
    for one in run.results().measured:
        assert len(one.epochs) == 2, one.cell.backend
    assert run.output.count("its callbacks ended training after epoch 2") == 1


OWN_LAYER = """
from keras.layers import Layer


class Scaled(Layer):
    def build(self, input_shape):
        self.scale = self.add_weight(name="scale", shape=(input_shape[-1],), initializer="he_normal", trainable=True)
        super().build(input_shape)

    def call(self, x):
        return x * (1.0 + self.scale)


def build_model(input_shape, num_classes):
    first, last = Dense(64, activation="relu", input_shape=input_shape), Dense(num_classes, activation="softmax")
    return Sequential([first, Scaled(), last])
"""


@pytest.mark.parametrize(
    "backends",
    [
        "keras2/tensorflow,keras3/jax",
        pytest.param("keras2/tensorflow,keras2/theano,keras3/jax,keras3/torch", marks=pytest.mark.thorough),
    ],
)
def test_weights_of_a_layer_of_ones_own_are_drawn_alike(kbench: Kbench, tmp_path: Path, backends: str) -> None:
    text = (KINDS / "basic.py").read_text("utf-8")
    (tmp_path / "mine.py").write_text(text + OWN_LAYER, "utf-8")
    run = kbench.measure(backends, str(tmp_path / "mine.py"))
    assert run.status == 0, run.output
    check_the_same(run.results(), backends, ("val_accuracy",))
