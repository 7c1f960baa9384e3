"""The `parity` command on real backends: they compute the same, and a recurrent layer that does not is named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from real_runs import Kbench, sequential

from kbench.base import paths
from kbench.records.values import CHANNELS_FIRST, CHANNELS_LAST
from kbench.selection import backends

pytestmark = [
    pytest.mark.timeout(3600),
    pytest.mark.slow("several backends train step by step, and some compile for long"),
]
PROGRAMS = Path(__file__).parent / "programs"
BACKENDS = backends.load_all(paths.project_folder("backends"))


def layouts() -> Iterator[Any]:
    """Each layout with backends whose own is the other: one of each generation that trains without a compiler.

    With -m "" all.
    """
    for layout in (CHANNELS_FIRST, CHANNELS_LAST):
        others = [one for one in BACKENDS.values() if one.kind == "keras" and one.image_data_format != layout]
        chosen = {one.generation: one.name for one in others if "train" in one.can and not one.programs}
        # On a CPU TensorFlow transposes for each convolution: few train with channels first who need not.
        marks = [pytest.mark.thorough] if layout == CHANNELS_FIRST else []
        yield pytest.param(layout, sorted(chosen.values()), id=layout, marks=marks)
        yield pytest.param(layout, [one.name for one in others], id=f"{layout}-all", marks=pytest.mark.thorough)


@pytest.mark.parametrize(("layout", "others"), [*layouts()])
def test_backends_compute_mnist_cnn_alike_in_the_other_layout(kbench: Kbench, layout: str, others: list[str]) -> None:
    """In their own layout they run the examples in test_real_backends, with the same outputs."""
    compared = kbench.parity(",".join(others), "mnist_cnn", "--image-data-format", layout, "--batch-size", "8")
    rows = compared.parity()
    assert compared.status == 0, compared.output
    assert [row["backend"] for row in rows] == others
    for row in rows:
        assert row["reference"] == "numpy"
        assert row["verdict"] in ("same", "explained"), compared.output
        # Known differences are those of training: no backend may compute another model.
        assert float(row["outputs"]) < 1e-4 and float(row["loss"]) < 1e-5 and row["first_layer"] == ""
        assert bool(row["10_steps"]) == ("train" in BACKENDS[row["backend"]].can)


@pytest.mark.thorough
def test_a_sequential_without_an_input_is_compared_in_both_generations(kbench: Kbench, tmp_path: Path) -> None:
    compared = kbench.parity("keras2/tensorflow,keras3/torch", sequential(tmp_path), "--data", "synthetic")
    rows = compared.parity()
    assert compared.status == 0 and len(rows) == 2, compared.output
    assert all(float(row["outputs"]) < 1e-4 and row["verdict"] in ("same", "explained") for row in rows), rows
    assert {row["reference"] for row in rows} == {"numpy"}


# What is not in order goes wrong by a race between threads: six times of six when nothing else ran, but on a busy
# machine, with one thread for each of several tests, it may end well many times.
RACES = 20


@pytest.mark.thorough  # by default the cell state that CNTK returns is named in test_real_predictions.py
def test_the_form_that_ships_is_found_out_and_the_layer_is_named(kbench: Kbench) -> None:
    """Against numpy; no other backend is needed."""
    compared = kbench.parity("keras2/cntk", "mnist_hrnn", "--batch-size", "4", "--form", "default")
    assert compared.status == 1, compared.output
    (wrong,) = compared.parity()
    assert wrong["backend"].endswith("cntk") and wrong["verdict"] == "differs"
    assert wrong["first_layer_class"] == "TimeDistributed(LSTM)"
    assert float(wrong["first_layer_deviation"]) > 0.01


SMALL_VARIANCE = '''"""Batch normalisation of numbers whose variance is near its epsilon."""

from keras.initializers import RandomNormal
from keras.layers import BatchNormalization, Dense
from keras.models import Sequential

DATA = "mnist"
INPUT = "flat"
BATCH_SIZE = 16
OPTIMIZER = {"class_name": "SGD", "learning_rate": 1.0}
LOSS = "categorical_crossentropy"
PROFILES = {"full": {"samples": 64, "validation_samples": 0, "epochs": 1}}


def build_model(input_shape, num_classes):
    model = Sequential()
    model.add(Dense(8, use_bias=False, kernel_initializer=RandomNormal(stddev=0.001), input_shape=input_shape))
    model.add(BatchNormalization(epsilon=1e-5))
    model.add(Dense(num_classes, activation="softmax"))
    return model
'''


@pytest.mark.parametrize(
    ("backend", "why"),
    [
        ("keras2/cntk", "always trains with epsilon 0.001"),
        ("keras2/mxnet", "takes its gamma for 1 and never trains it"),
    ],
)
def test_batch_normalisation_trains_as_it_states_only_in_the_right_form(
    backend: str, why: str, kbench: Kbench, tmp_path: Path
) -> None:
    example = tmp_path / "small_variance.py"
    example.write_text(SMALL_VARIANCE)
    two = (f"{backend},keras3/jax", str(example), "--data", "synthetic")
    corrected = kbench.parity(*two)
    assert corrected.status == 0, corrected.output
    as_it_ships = kbench.parity(*two, "--form", "default")
    assert as_it_ships.status == 1 and [row["verdict"] for row in as_it_ships.parity()] == ["differs"] * 2
    assert why in " ".join(as_it_ships.output.split())


SEVERAL_NORMALISED = '''"""Several normalised convolutions, smooth so that rounding changes little."""

from keras import backend
from keras.layers import Activation, BatchNormalization, Conv2D, Dense, Flatten
from keras.models import Sequential

DATA = "cifar10"
BATCH_SIZE = 16
OPTIMIZER = {"class_name": "SGD", "learning_rate": 0.1}
LOSS = "categorical_crossentropy"
PROFILES = {"full": {"samples": 64, "validation_samples": 0, "epochs": 1}}
CHANNELS = 1 if backend.image_data_format() == "channels_first" else -1


def build_model(input_shape, num_classes):
    model = Sequential([Conv2D(8, 3, strides=2, use_bias=False, input_shape=input_shape)])
    for _ in range(4):
        model.add(BatchNormalization(axis=CHANNELS))
        model.add(Activation("tanh"))
        model.add(Conv2D(8, 3, use_bias=False, padding="same"))
    model.add(Flatten())
    model.add(Dense(num_classes, activation="softmax"))
    return model
'''


@pytest.mark.thorough
def test_images_are_normalised_rightly_in_training_only_in_the_right_form(kbench: Kbench, tmp_path: Path) -> None:
    """PlaidML repeats gamma over the batch in one place and not in another, and adds both gradients too early."""
    example = tmp_path / "several_normalised.py"
    example.write_text(SEVERAL_NORMALISED.replace("range(4)", "range(1)"))
    two = ("keras2/plaidml,keras3/jax", str(example), "--data", "synthetic")
    corrected = kbench.parity(*two)
    assert [row["verdict"] for row in corrected.parity()] == ["same"] * 2, corrected.output
    as_it_ships = kbench.parity(*two, "--form", "default")
    assert as_it_ships.status == 1 and [row["verdict"] for row in as_it_ships.parity()] == ["differs"] * 2
    assert "Of images, BatchNormalization gets wrong gradients" in " ".join(as_it_ships.output.split())


def test_moving_averages_are_read_when_a_step_has_written_them(kbench: Kbench, tmp_path: Path) -> None:
    """MXNet writes them in its backward pass, for which reading them does not wait."""
    example = tmp_path / "several_normalised.py"
    example.write_text(SEVERAL_NORMALISED)
    compared = kbench.parity("keras2/mxnet,keras3/jax", str(example), "--data", "synthetic")
    assert [row["verdict"] for row in compared.parity()] == ["same"] * 2, compared.output


@pytest.mark.thorough
def test_keras_2_on_tensorflow_1_trains_rightly_only_with_its_updates_in_order(
    kbench: Kbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", "1")  # all cores: threads have to race
    two = ("keras2/tensorflow,keras2/cntk", "mnist_mlp")
    ordered = kbench.parity(*two)
    assert ordered.status == 0, ordered.output
    assert [row["verdict"] for row in ordered.parity()] == ["same", "same"], ordered.output
    for _ in range(RACES):
        as_it_ships = kbench.parity(*two, "--form", "default")
        if all(float(row["10_steps"]) > 1e-3 for row in as_it_ships.parity()):
            break
    rows = as_it_ships.parity()
    assert all(float(row["10_steps"]) > 1e-3 and row["verdict"] == "explained" for row in rows), as_it_ships.output
    assert "As it ships, it computes gradients while weights change" in as_it_ships.output


@pytest.mark.parametrize(
    ("program", "names", "reference"),
    [
        pytest.param("conv1d_text", "keras2/cntk,keras3/jax,keras3/torch", "median of 3", marks=pytest.mark.thorough),
        pytest.param("two_outputs", "keras2/cntk,keras3/tensorflow", "numpy", marks=pytest.mark.thorough),
        pytest.param("subclassed", "keras2/tensorflow,keras3/torch", "median of 2", marks=pytest.mark.thorough),
        pytest.param("custom_step", "keras3/jax,keras3/torch", "numpy", marks=pytest.mark.thorough),
        ("gan", "keras2/tensorflow,keras3/jax", "numpy"),
        pytest.param("sequence", "keras3/tensorflow,keras3/torch", "numpy", marks=pytest.mark.thorough),
        pytest.param(
            "siamese", "keras2/tensorflow,keras3/jax,keras3/torch", "median of 3", marks=pytest.mark.thorough
        ),
    ],
)
def test_a_users_program_computes_the_same(program: str, names: str, reference: str, kbench: Kbench) -> None:
    """Each begins with other weights and draws other dropout on each backend; here it does not."""
    compared = kbench.parity_of_script(names, PROGRAMS / f"{program}.py")
    rows = compared.parity()
    assert compared.status == 0, compared.output
    assert [row["backend"] for row in rows] == names.split(",")
    for row in rows:
        assert row["verdict"] in ("same", "explained") and row["reference"] == reference, compared.output
        assert float(row["outputs"]) < 1e-5 and row["10_steps"], compared.output


@pytest.mark.thorough
def test_the_moving_averages_of_one_backend_do_not_make_the_others_differ(kbench: Kbench, tmp_path: Path) -> None:
    """Keras 2 on TensorFlow corrects them for their start at zero: its numbers are the largest, and the odd ones."""
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np\nfrom keras.layers import BatchNormalization, Dense\n"
        "from keras.models import Sequential\n"
        "model = Sequential([Dense(6, use_bias=False, input_shape=(4,)), BatchNormalization(), Dense(1)])\n"
        "model.compile('sgd', 'mse')\nx = np.random.RandomState(0).rand(64, 4) * 10\n"
        "model.fit(x, x[:, :1], batch_size=8, verbose=0)\n"
    )
    compared = kbench.parity_of_script("keras2/tensorflow,keras3/jax,keras3/torch", program)
    rows = compared.parity()
    assert compared.status == 0, compared.output
    assert [row["verdict"] for row in rows] == ["explained", "same", "same"] and rows[0]["reference"] == "numpy"
    said = " ".join(compared.output.split())
    assert "(BatchNormalization): moving mean by 99 times its norm, moving variance by" in said
    assert "predictions differ at once, training hardly" in said


@pytest.mark.thorough
def test_what_tells_two_backends_apart_in_a_program_is_named(kbench: Kbench, tmp_path: Path) -> None:
    """CNTK's LSTM gives its cell state, and Keras 2 leaves samples without weight out of the loss's mean."""
    compared = kbench.parity_of_script("keras2/cntk,keras2/tensorflow,keras3/jax", PROGRAMS / "weighted.py")
    wrong, _, right = compared.parity()
    assert compared.status == 1 and wrong["first_layer_class"] == "LSTM" and right["first_layer"] == ""
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np\nfrom keras.layers import GRU\nfrom keras.models import Sequential\n"
        "model = Sequential()\nmodel.add(GRU(3, input_shape=(4, 2)))\nmodel.compile('sgd', 'mse')\n"
        "model.fit(np.ones((32, 4, 2)), np.ones((32, 3)), verbose=0)\n"
    )
    compared = kbench.parity_of_script("keras2/tensorflow,keras3/jax", program)
    assert compared.status == 1
    assert [row["verdict"] for row in compared.parity()] == ["alone", "differs"], compared.output
    assert compared.parity()[1]["reason"] == (
        "another model: GRU 1 has a weight of shape (2, 9), on keras2/tensorflow (9,)"
    )


@pytest.mark.thorough
def test_inputs_that_go_by_name_reach_the_layers_that_take_them_in_every_generation(kbench: Kbench) -> None:
    """Its data have the names in alphabetical order, and its model does not."""
    compared = kbench.parity("keras2/cntk,keras3/torch", "tabular_mlp")
    assert compared.status == 0, compared.output
    for row in compared.parity():
        assert (row["verdict"], row["reference"], row["first_layer"]) == ("same", "numpy", ""), row
        assert float(row["outputs"]) < 1e-6 and float(row["loss"]) < 1e-6
    run = kbench.measure("keras2/cntk", "tabular_mlp")
    step = run.cell().facts.first_step
    assert step is not None and not step.unchecked and step.loss == pytest.approx(0.91120, rel=1e-4)
