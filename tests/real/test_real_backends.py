"""Every real backend runs an example, or with -m '' all, learns, and computes the same outputs as the others."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from real_runs import Finished, Kbench, compare_with_other_tests

from kbench.analysis.summaries import summarise
from kbench.analysis.times import flops
from kbench.base import paths
from kbench.records.values import Backend, Example, Measured
from kbench.selection import backends, examples

# A backend's first test makes its environment, and the first of an example may compile for minutes.
pytestmark = [
    pytest.mark.timeout(3600),
    pytest.mark.slow("each example is trained, and some are compiled for long"),
]
KNOWN = backends.load_all(paths.project_folder("backends"))
BACKENDS = {name: backend for name, backend in KNOWN.items() if backend.kind == "keras"}
EXAMPLES = examples.load_all(paths.project_folder("examples_models"))
# Half a minute and more on some backend.
LONG = {
    "alexnet_s", "cifar10_efficientnet", "cifar10_resnet50", "cifar10_vgg", "densenet121_chestxray",
    "fcn_r", "fcn_s", "imdb_gru_cudnn", "lstm_ptb", "mnist_hrnn", "resnet50_train", "resnet56", "segmentation_unet",
}  # fmt: skip
# Where layers have a form of their own, or steps are not compiled, what takes others long; else the quickest.
IN_SHORT = {
    "keras2/tensorflow": "mnist_cnn", "keras2/tensorflow2": "cifar10_cnn", "keras2/cntk": "mnist_cnn",
    "keras2/mxnet": "imdb_gru", "keras3/tensorflow": "cifar10_cnn", "keras3/jax": "tabular_mlp",
    "keras3/torch": "imdb_transformer",
}  # fmt: skip
# What computes recurrent layers on the CPU.
KERNELS = {
    "tensorflow": "loop", "cntk": "loop", "theano": "scan", "mxnet": "unrolled", "jax": "scan", "torch": "loop",
    "plaidml.keras.backend": "unrolled",
}  # fmt: skip
# Of a forward pass, by hand: products and sums, then biases, activations, pooling and gates; see test_flops.py.
OPERATIONS = {
    "mnist_mlp": 2 * (784 * 512 + 512 * 512 + 512 * 10) + 2 * (512 + 512 + 10),
    "mnist_cnn": 24_139_028,
    "mnist_hrnn": 28 * 28 * (2 * 129 * 512 + 17 * 128) + 28 * (2 * 256 * 512 + 17 * 128) + 2 * 128 * 10 + 2 * 10,
    "cifar10_cnn": 32 * 32 * 32 * (2 * 27 + 2)
    + 30 * 30 * 32 * (2 * 288 + 2)
    + 15 * 15 * 32 * 4
    + 15 * 15 * 64 * (2 * 288 + 2)
    + 13 * 13 * 64 * (2 * 576 + 2)
    + 6 * 6 * 64 * 4
    + 512 * (2 * 2304 + 2)
    + 10 * (2 * 512 + 2),
    "babi_rnn": (552 + 5) * (2 * 100 * 200 + 17 * 50) + 552 * 50 + 36 * (2 * 50 + 2),
    "imdb_gru": 150 * (2 * 225 * 300 + 14 * 100) + 2 * (2 * 100 + 2),
    "imdb_gru_cudnn": 150 * (2 * 225 * 300 + 17 * 100) + 2 * (2 * 100 + 2),  # a bias of the state, too
    "imdb_transformer": 150 * 64
    + 2
    * (
        4 * 150 * 64 * (2 * 64 + 1)  # projections
        + 150 * 64
        + 4 * 150 * 150 * (2 * 16 + 1 + 2 * 16)
        + 2 * 150 * 64 * (7 + 1)  # normalisations and shortcuts
        + 150 * 128 * (2 * 64 + 2)
        + 150 * 64 * (2 * 128 + 1)
    )
    + 150 * 64
    + 2 * (2 * 64 + 2),
    "char_gpt": 64 * 128
    + 2
    * (
        4 * 64 * 128 * (2 * 128 + 1)
        + 64 * 128
        + 4 * 64 * 64 * (2 * 32 + 1 + 2 * 32)
        + 2 * 64 * 128 * (7 + 1)
        + 64 * 512 * (2 * 128 + 2)
        + 64 * 128 * (2 * 512 + 1)
    )
    + 64 * 128 * 7
    + 64 * 68 * (2 * 128 + 2),
    "tabular_mlp": 128 * (2 * 74 + 1 + 2 + 1) + 64 * (2 * 128 + 1 + 2 + 1) + 2 * 64 + 2,
    "segmentation_unet": 64 * 64 * 16 * (2 * 9 + 2 + 2 * 144 + 2 + 2 * 288 + 2 + 2 * 144 + 2)
    + 32 * 32 * 32 * (2 * 144 + 2 + 2 * 288 + 2 + 2 * 576 + 2 + 2 * 288 + 2)
    + 16 * 16 * 64 * (2 * 288 + 2 + 2 * 576 + 2 + 2 * 1152 + 2 + 2 * 576 + 2)
    + 8 * 8 * 128 * (2 * 576 + 2 + 2 * 1152 + 2)
    + 4 * (32 * 32 * 16 + 16 * 16 * 32 + 8 * 8 * 64)  # poolings
    + 16 * 16 * 64 * (2 * 128 + 1)  # transposed: a product for each input, and a bias
    + 32 * 32 * 32 * (2 * 64 + 1)
    + 64 * 64 * 16 * (2 * 32 + 1)
    + 64 * 64 * (2 * 16 + 2),
    "fcn_s": 2 * 117_997_696,  # a bias and an activation are two operations, as each weight of a product
    "fcn_r": 2 * (784 * 2048 + 2048 * 4096 + 4096 * 1024 + 1024 * 10) + 2 * (2048 + 4096 + 1024 + 10),
    "cifar10_vgg": 32 * 32 * 50 * (2 * 27 + 2 + 2 * 450 + 2)
    + 16 * 16 * 50 * 4
    + 16 * 16 * 100 * (2 * 450 + 2 + 2 * 900 + 2)
    + 8 * 8 * 100 * 4
    + 512 * (2 * 6400 + 2)
    + 10 * (2 * 512 + 2),
    "lstm_ptb": 32 * 2 * (2 * 512 * 1024 + 17 * 256) + 32 * 10_000 * (2 * 256 + 2),
    # The products without the classifier's; a bias, a scale and a shift for each number of 53 convolutions; 49 times
    # relu; 16 additions; both poolings.
    "resnet50_features": 2 * (3_857_973_248 - 2048 * 1000)
    + 3 * 10_587_136
    + 9_081_856
    + 5_519_360
    + 56 * 56 * 64 * 9
    + 7 * 7 * 2048,
}


def lacks(backend: Backend, example: Example) -> bool:
    """Whether the backend's Keras is older than a layer of the example."""
    return backend.title.startswith("Keras 2.2") and "MultiHeadAttention" in example.path.read_text("utf-8")


def enough(backend: Backend) -> Example:
    """The example that a backend runs in the default suite: that of IN_SHORT, or the quickest."""
    able = [one for one in EXAMPLES.values() if one.name not in LONG and one.task in backend.can]
    able = [one for one in able if not lacks(backend, one)]
    return min(
        able, key=lambda one: (one.name != IN_SHORT.get(backend.name), one.input != "flat", one.parameters or 0)
    )


ENOUGH = {name: enough(backend) for name, backend in BACKENDS.items()}  # with -m "" all run everywhere
CELLS = [
    pytest.param(
        example,
        backend,
        id=f"{example.name}-{backend.name}",
        marks=[] if ENOUGH[backend.name] == example else [pytest.mark.thorough],
    )
    for backend in sorted(BACKENDS.values(), key=lambda one: not one.programs)  # those that compile take longest
    for example in EXAMPLES.values()
    if example.task in backend.can and not lacks(backend, example)
]
ONLY_INFERRING = [backend for backend in BACKENDS.values() if "train" not in backend.can]


@pytest.mark.parametrize(("example", "backend"), CELLS)
def test_a_backend_runs_an_example_and_learns(
    example: Example, backend: Backend, kbench: Kbench, shared_folder: Path
) -> None:
    small = ("--samples", "8", "--batch-size", "4") if example.task == "infer" else ()
    # In a process of its own, as all are for users.
    measure = kbench.measure_apart if ENOUGH[backend.name] == example else kbench.measure
    run = measure(backend.name, example.name, *small)
    assert run.status == 0, run.output
    measured = run.cell()
    assert measured.outcome.status == "ok", measured.outcome
    _events_are_complete(run, measured)
    _what_was_loaded_is_what_was_asked_for(measured, backend)
    assert measured.facts.parameters == example.parameters
    assert measured.facts.weights_left == ()
    _operations_are_those_of_the_example(measured)
    _libraries_and_packages_are_told(run, measured, backend)
    if example.target.startswith("val_accuracy") and example.name not in LONG:
        _it_learns(measured, chance=1 / (run.spec()["data"]["num_classes"] or 2))
    elif example.task == "train":  # labels are random, or steps are few
        assert all(epoch.loss is not None and math.isfinite(epoch.loss) for epoch in measured.epochs)
    compare_with_other_tests(run, shared_folder)


@pytest.mark.parametrize("backend", ONLY_INFERRING, ids=lambda backend: backend.name)
def test_a_backend_that_cannot_train_says_so_and_fails_where_it_was_named_with_an_example(
    backend: Backend, kbench: Kbench
) -> None:
    trained = [example.name for example in EXAMPLES.values() if example.task == "train"]
    run = kbench.measure(backend.name, ",".join(trained))
    assert run.status == 1, run.output
    outcomes = [measured.outcome for measured in run.results().measured]
    assert [(one.status, one.reason) for one in outcomes] == [("unsupported", backend.cannot)] * len(trained)


def test_a_keras_that_is_older_than_a_layer_says_which(kbench: Kbench) -> None:
    run = kbench.measure("keras2/tensorflow", "imdb_transformer")
    outcome = run.cell().outcome
    assert (outcome.status, outcome.reason) == ("unsupported", "Keras 2.2.4 has no LayerNormalization")


def test_backends_write_the_same_text_and_say_how_fast(kbench: Kbench, tmp_path: Path) -> None:
    writes = tmp_path / "writes.py"
    text = EXAMPLES["char_gpt"].path.read_text("utf-8")
    writes.write_text(re.sub(r"(?m)^TARGET = .*$", 'TASK = "infer"', text), "utf-8")
    run = kbench.measure("keras3/jax,keras3/torch", str(writes), "--samples", "4", "--batch-size", "2")
    assert run.status == 0, run.output
    for row in summarise(run.results().measured):
        assert (row.status, row.differs) == ("ok", ()), row
        assert row.tokens_per_second and row.first_token_seconds
        assert row.of_features["operations_per_sample"] == 32 * OPERATIONS["char_gpt"]
    for one in run.results().measured:
        assert all(len(epoch.step_seconds) == 2 * 32 and epoch.tokens == 4 * 32 for epoch in one.epochs)


def test_a_repeat_on_jax_loads_what_the_first_process_compiled_and_learns_the_same(kbench: Kbench) -> None:
    kbench.compiled = None
    first, repeat = kbench.measure_apart("keras3/jax", "mnist_mlp", "--repeats", "2").results().measured
    assert [one.outcome.status for one in (first, repeat)] == ["ok", "ok"]
    assert [one.outcome.compilation_cached for one in (first, repeat)] == [False, True]
    assert [epoch.loss for epoch in repeat.epochs] == [epoch.loss for epoch in first.epochs]


def _events_are_complete(run: Finished, measured: Measured) -> None:
    kinds = [event["event"] for event in run.events()]
    assert kinds[0] == "start" and kinds[-1] == "end"
    assert {"loaded", "order", "model", "device", "probe"} <= set(kinds)
    assert [epoch.epoch for epoch in measured.epochs] == list(range(1, measured.cell.epochs + 1))
    assert all(epoch.seconds > 0 and epoch.samples > 0 for epoch in measured.epochs)
    for epoch in measured.epochs:
        # Each batch is a step on every backend, and together they are the epoch.
        assert len(epoch.step_seconds) == epoch.samples // measured.cell.batch_size
        assert sum(epoch.step_seconds) == pytest.approx(epoch.seconds, abs=1e-5)
    phases = {"import", "data", "build", "first_step", "first_epoch"}
    assert phases <= set(measured.phases)
    assert measured.facts.events_damaged == 0


def _what_was_loaded_is_what_was_asked_for(measured: Measured, backend: Backend) -> None:
    facts = measured.facts
    assert facts.keras_backend == backend.keras_backend
    assert facts.image_data_format == measured.cell.image_data_format
    assert facts.device == "cpu"
    assert facts.keras_version.startswith(backend.generation.removeprefix("keras"))
    if form := facts.form:
        wanted = [how for layer, how in backend.recurrent.items() if layer in facts.layer_words]
        assert all(how in form for how in wanted) if wanted else form == "symbolic"
    kernel = KERNELS.get(backend.keras_backend, facts.recurrent_kernel) if facts.form else ""
    assert facts.recurrent_kernel == kernel


def _operations_are_those_of_the_example(measured: Measured) -> None:
    """In whatever form and layout it runs."""
    assert measured.facts.layer_shapes is not None
    counted = flops.count(measured.facts.layer_shapes)
    assert counted.unknown == ()
    if measured.cell.example in OPERATIONS:  # a new example has its own in test_flops.py, or none
        assert counted.forward == OPERATIONS[measured.cell.example]


def _libraries_and_packages_are_told(run: Finished, measured: Measured, backend: Backend) -> None:
    libraries = measured.facts.libraries
    assert libraries and all(one.threads is None or one.threads >= 1 for one in libraries)
    told = run.results().provenance
    kept = told["environments"][backend.name]
    assert any(name.startswith("keras") for name in kept["packages"]) and "numpy" in kept["packages"]
    assert kept["variables"]["OMP_NUM_THREADS"]
    (row,) = summarise([measured], provenance=told)
    assert row.of_features["percent_of_limit"] > 0


def _it_learns(measured: Measured, chance: float) -> None:
    first, *_, last = measured.epochs
    for epoch in measured.epochs:
        assert None not in (epoch.loss, epoch.accuracy, epoch.val_loss, epoch.val_accuracy)
    # Dropout makes the training figures of so few batches noisy, and RMSprop's first steps are large ones. Where
    # weights begin small, as in alexnet_r, the first epochs fit only the samples.
    assert last.val_loss < first.val_loss or last.loss < first.loss  # type: ignore[operator]
    assert max(last.accuracy, last.val_accuracy) > chance  # type: ignore[type-var]
