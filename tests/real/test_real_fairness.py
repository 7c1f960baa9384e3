"""Real backends that are given different models on purpose: the difference is found and named."""

from __future__ import annotations

from pathlib import Path

import pytest
from real_runs import Finished, Kbench, sequential

from kbench.analysis.summaries import summarise

pytestmark = [
    pytest.mark.timeout(3600),
    pytest.mark.slow("several backends start"),
]
# The backend of each difference is another one, so that each is the only one of its row.
CHEATS = {
    "CONVOLUTION": 'model.add(Conv1D(2, 28 if BACKEND == "torch" else 3, strides=8, data_format="channels_last"))',
    "RESET_AFTER": 'BACKEND == "jax"',
    "REGULARIZER": 'l2(0.01) if BACKEND == "mxnet" else None',
    "TRAINABLE": 'BACKEND != "cntk"',
}


@pytest.mark.thorough
def test_what_differs_on_one_backend_alone_is_caught_by_name(kbench: Kbench, tmp_path: Path) -> None:
    backends = "keras2/tensorflow,keras2/cntk,keras2/mxnet,keras3/jax,keras3/torch"
    run = kbench.measure_apart(backends, sequential(tmp_path, **CHEATS), "--samples", "64", "--epochs", "1")
    assert run.status == 0, run.output
    rows = {row.backend: row for row in summarise(run.results().measured)}
    first = "unlike keras2/tensorflow in its model: layer"
    assert rows["keras2/tensorflow"].differs == ()
    assert rows["keras3/torch"].differs[0] == f"{first} 2, Conv1D, has kernel_size [28] instead of [3]"
    assert rows["keras3/jax"].differs[0] == f"{first} 3, GRU, has reset_after true instead of false"
    assert rows["keras3/jax"].parameters != rows["keras2/tensorflow"].parameters
    assert rows["keras2/cntk"].differs == (f"{first} 5, Dense, has trainable false instead of true",)
    (regularized,) = rows["keras2/mxnet"].differs
    assert regularized.startswith(f"{first} 4, Dense, has kernel_regularizer ") and '"l2": 0.01' in regularized
    assert run.output.count("ok, differs [") == 4


OTHER_TRAINING = '''"""A model whose training does other work on PyTorch, in each way that Keras 3 alone can show."""

import time

import keras
from keras import layers as L

DATA = "mnist"
INPUT = "flat"
BATCH_SIZE = 32
OPTIMIZER = {"class_name": "SGD", "learning_rate": 0.1}
LOSS = "categorical_crossentropy"
PROFILES = {"full": {"samples": 256, "validation_samples": 64, "epochs": 2}}
ODD = keras.backend.backend() == "torch"
CLASS_WEIGHT = {0: 2.0} if ODD else None
fit, compiled, predict = keras.Model.fit, keras.Model.compile, keras.Model.predict
if ODD:
    import torch

    torch.set_num_threads(3)
    keras.Model.compile = lambda self, *args, **given: compiled(self, *args, run_eagerly=True, **given)
else:
    STEPS_PER_EXECUTION = 2
    keras.Model.compile = lambda self, *args, **given: compiled(self, *args, jit_compile=False, **given)


def fitted(self, x, *args, **given):
    if ODD:
        self.set_weights([0 * one for one in self.get_weights()])
    return fit(self, x * 0 if ODD and given["epochs"] > 1 else x, *args, **given)


keras.Model.fit = fitted
keras.Model.predict = lambda self, x, **given: predict(self, x[::-1] if ODD and len(x) == 64 else x, **given)


class Slow(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.02 * ODD)

    def on_epoch_begin(self, epoch, logs=None):
        self.model.optimizer.learning_rate = 0.2 if ODD else 0.1


def callbacks():
    return [Slow()]


def build_model(input_shape, num_classes):
    return keras.Sequential([L.Input(input_shape), L.Dense(num_classes, activation="softmax")])
'''


def test_what_fit_received_and_what_training_did_otherwise_is_named(kbench: Kbench, tmp_path: Path) -> None:
    example = tmp_path / "other.py"
    example.write_text(OTHER_TRAINING, "utf-8")
    run = kbench.measure_apart("keras3/jax,keras3/torch", str(example), "--data", "synthetic", "--interleave", "off")
    assert run.status == 0, run.output
    rows = {row.backend: row for row in summarise(run.results().measured)}
    unlike, threads = "unlike keras3/jax in its", [one for one in rows["keras3/torch"].differs if "threads" in one]
    assert threads == [f"its number of threads was changed: intra_op 3 instead of {cores_used(run)}"]
    assert {one for one in rows["keras3/torch"].differs if "threads" not in one} >= {
        f"{unlike} weights of classes: 0 2 instead of none",
        f"{unlike} steps_per_execution: 1 instead of 2",
        f"{unlike} run_eagerly: true instead of false",
        f"{unlike} learning rate at the start of epoch 1: 0.200 instead of 0.100",
        f"{unlike} weights, which were changed outside training, before epoch 1",
        "unlike keras3/jax in the data that its training received in epoch 1",
        "unlike keras3/jax in the data that its validation received in epoch 1",
    }
    assert rows["keras3/jax"].differs == ()
    assert "its file turned jit_compile off, which Keras would have on here" in rows["keras3/jax"].notes
    assert any(note.startswith("its callbacks took 0.") for note in rows["keras3/torch"].notes)


def cores_used(run: Finished) -> int:
    """The number of threads that each cell was given."""
    return run.results().cells[0].threads


MANY_LAYERS = '''"""A model with a layer of many kinds."""

from keras import backend as K
from keras import constraints
from keras import layers as L
from keras import regularizers
from keras.models import Model, Sequential

DATA = "cifar10"
INPUT = "image"
BATCH_SIZE = 4
OPTIMIZER = {"class_name": "Adam", "learning_rate": 0.001}
LOSS = "categorical_crossentropy"
PROFILES = {"full": {"samples": 8, "validation_samples": 0, "epochs": 1}}
CHANNELS = 1 if K.image_data_format() == "channels_first" else 3


def square(x):
    return x * x


def frozen(layer):
    layer.trainable = False
    return layer


def build_model(input_shape, num_classes):
    pictures = L.Input(shape=input_shape)
    x = L.Conv2D(4, 3, strides=2, kernel_regularizer=regularizers.l2(0.01))(pictures)
    x = L.Conv2D(4, 3, bias_constraint=constraints.MaxNorm(2))(x)
    x = L.BatchNormalization(axis=CHANNELS)(x)
    x = L.ReLU(max_value=6)(x)
    x = L.SeparableConv2D(4, 3, depth_multiplier=2, activity_regularizer=regularizers.l1(0.001))(x)
    x = L.Conv2DTranspose(3, 3, strides=2)(x)
    x = L.UpSampling2D(2)(x)
    x = L.Cropping2D(1)(x)
    x = L.ZeroPadding2D(1)(x)
    x = L.SpatialDropout2D(0.1)(x)
    x = L.GaussianNoise(0.1)(x)
    x = L.LeakyReLU(0.2)(x)
    x = L.ELU(0.5)(x)
    x = L.Concatenate(axis=CHANNELS)([L.AveragePooling2D(2)(x), L.MaxPooling2D(2)(x)])
    x = L.GlobalMaxPooling2D()(x)
    x = L.Dense(12, kernel_constraint=constraints.NonNeg(), activation="relu")(x)
    x = L.PReLU()(x)
    x = L.Reshape((3, 2, 2, 1))(x)
    x = L.ConvLSTM2D(3, 2, padding="same", data_format="channels_last", recurrent_activation="sigmoid")(x)
    x = L.Reshape((4, 3))(x)
    x = L.Permute((2, 1))(x)
    x = L.Softmax()(x)
    lstm = L.LSTM(3, return_sequences=True, recurrent_activation="sigmoid", dropout=0.1)
    x = L.Bidirectional(lstm, merge_mode="sum")(x)
    x = L.TimeDistributed(L.Dense(4, activation="tanh"))(x)
    x = L.Conv1D(3, 2, data_format="channels_last")(x)
    x = L.RNN(L.SimpleRNNCell(4), return_sequences=True)(x)
    x = L.GRU(4, reset_after=False, recurrent_activation="sigmoid", go_backwards=True)(x)
    x = L.Lambda(square, output_shape=(4,))(x)
    x = frozen(L.Dense(4))(x)
    x = frozen(Sequential([L.Dense(4, input_shape=(4,))]))(x)
    return Model(pictures, L.Dense(num_classes, activation="softmax")(x))
'''


@pytest.mark.thorough
def test_a_model_of_many_layers_has_one_fingerprint_in_both_generations(kbench: Kbench, tmp_path: Path) -> None:
    example = tmp_path / "many.py"
    example.write_text(MANY_LAYERS, "utf-8")
    backends = "keras2/tensorflow,keras3/torch"
    run = kbench.measure_apart(backends, str(example), "--data", "synthetic")
    assert run.status == 0, run.output
    rows = summarise(run.results().measured)
    assert {row.backend: row.differs for row in rows} == dict.fromkeys(backends.split(","), ())
    assert len({row.fingerprint for row in rows}) == 1
