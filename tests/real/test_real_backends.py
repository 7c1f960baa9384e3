"""Every real backend on every example that it can do: it runs, it learns, and all compute the same model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from measured import Run, events, measure

from kbench import backends, examples, paths
from kbench.values import CHANNELS_FIRST, CHANNELS_LAST, Backend, Example

BACKENDS = backends.load_all(paths.project_folder("backends"))
EXAMPLES = examples.load_all(paths.project_folder("examples_models"))
# Chance is one in as many classes; the answers of babi_qa2 are six of its words, and a few batches find that out.
CHANCE = {
    "mnist_mlp": 0.1,
    "mnist_cnn": 0.1,
    "mnist_hrnn": 0.1,
    "cifar10_cnn": 0.1,
    "babi_rnn": 1 / 36,
    "imdb_gru": 0.5,
}
# float32: a dot product of n terms is good to about n**0.5 * 6e-8 of its size, and ResNet-50 has 53 in a row.
SAME = {"rtol": 1e-3, "atol": 1e-4}
SLOW_FIRST = ("babi_rnn", "mnist_hrnn", "resnet50_features", "cifar10_cnn", "imdb_gru", "mnist_cnn", "mnist_mlp")
CELLS = [
    pytest.param(EXAMPLES[example], backend, id=f"{example}-{name}")
    for example in SLOW_FIRST
    for name, backend in BACKENDS.items()
    if EXAMPLES[example].task in backend.can
]

TRAINING = [backend for backend in BACKENDS.values() if "train" in backend.can]


def test_every_example_is_measured_here() -> None:
    assert set(SLOW_FIRST) == set(EXAMPLES)
    assert len(CELLS) == 6 * 7 + 8


@pytest.mark.parametrize(("example", "backend"), CELLS)
def test_a_backend_runs_an_example_and_learns(
    example: Example, backend: Backend, tmp_path: Path, probes: Path
) -> None:
    run = measure(example.name, backend.name, tmp_path)
    assert run.status == 0, run.output
    assert run.measured.outcome.status == "ok", run.measured.outcome
    _events_are_complete(run)
    _what_was_loaded_is_what_was_asked_for(run, backend)
    assert run.measured.facts["parameters"] == example.parameters
    assert run.measured.facts["weights_left"] == []
    if example.task == "train":
        _it_learns(run, CHANCE[example.name])
    _outputs_are_those_of_the_other_backends(run, probes / example.name)


@pytest.mark.parametrize(
    "backend", [one for one in BACKENDS.values() if "train" in one.can], ids=lambda one: one.name
)
def test_the_other_layout_of_pictures_gives_the_same_outputs(backend: Backend, tmp_path: Path, probes: Path) -> None:
    other = CHANNELS_LAST if backend.image_data_format == CHANNELS_FIRST else CHANNELS_FIRST
    run = measure("mnist_cnn", backend.name, tmp_path, "--image-data-format", other, "--epochs", "1")
    assert run.status == 0, run.output
    _what_was_loaded_is_what_was_asked_for(run, backend)
    assert run.measured.cell.image_data_format == other
    _outputs_are_those_of_the_other_backends(run, probes / "mnist_cnn")


@pytest.mark.parametrize("example", [example for example in EXAMPLES.values() if example.task == "train"])
def test_inference_alone_is_said_and_does_not_fail_a_run(example: Example, tmp_path: Path) -> None:
    only_infers = next(backend for backend in BACKENDS.values() if "train" not in backend.can)
    run = measure(example.name, only_infers.name, tmp_path)
    assert run.status == 1, "both the backend and the example were named"
    assert run.measured.outcome.status == "unsupported"
    assert run.measured.outcome.reason == only_infers.cannot


def _events_are_complete(run: Run) -> None:
    kinds = [event["event"] for event in events(run)]
    assert kinds[0] == "start" and kinds[-1] == "end"
    assert {"loaded", "order", "model", "device", "probe"} <= set(kinds)
    assert [epoch.epoch for epoch in run.measured.epochs] == list(range(1, run.measured.cell.epochs + 1))
    assert all(epoch.seconds > 0 and epoch.samples > 0 for epoch in run.measured.epochs)
    phases = {"import", "data", "build", "first_epoch"}
    assert phases <= set(run.measured.phases)
    assert run.measured.facts["events_damaged"] == 0


def _what_was_loaded_is_what_was_asked_for(run: Run, backend: Backend) -> None:
    facts = run.measured.facts
    assert facts["keras_backend"] == backend.keras_backend
    assert facts["image_data_format"] == run.measured.cell.image_data_format
    assert facts["device"] == "cpu"
    assert str(facts["keras_version"]).startswith(backend.generation.removeprefix("keras"))
    form = str(facts["form"])
    if form:
        layers = {str(layer[0]) for layer in facts["layers"]}  # type: ignore[attr-defined]
        wanted = [how for layer, how in backend.recurrent.items() if layer in layers]
        assert all(how in form for how in wanted) if wanted else form == "symbolic"


def _it_learns(run: Run, chance: float) -> None:
    first, *_, last = run.measured.epochs
    for epoch in run.measured.epochs:
        assert None not in (epoch.loss, epoch.accuracy, epoch.val_loss, epoch.val_accuracy)
    # Dropout makes the training figures of so few batches noisy, and RMSprop's first steps are large ones.
    assert last.val_loss < first.val_loss  # type: ignore[operator]
    assert max(last.accuracy, last.val_accuracy) > chance  # type: ignore[type-var]


def _outputs_are_those_of_the_other_backends(run: Run, folder: Path) -> None:
    """Every pair is compared: by whichever of the two comes later."""
    folder.mkdir(parents=True, exist_ok=True)
    own = np.array(run.measured.facts["probe"])
    part = folder / f"{run.measured.cell.id}.part"
    part.write_text(json.dumps(own.tolist()), "utf-8")
    part.rename(part.with_suffix(".json"))
    for other in folder.glob("*.json"):
        np.testing.assert_allclose(own, np.array(json.loads(other.read_text("utf-8"))), **SAME, err_msg=other.name)
