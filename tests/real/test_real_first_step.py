"""Cheats that only a training step shows, on real backends: each differs, in a sentence; honest examples do not."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fake_runs import in_words
from msgspec import structs
from probing import CLASSES, SAMPLES, Job, as_of, data, probe, vectors

from kbench.analysis.sameness import fingerprints
from kbench.records.values import Measured

pytestmark = [
    pytest.mark.timeout(3600),
    pytest.mark.slow("a hundred models take a step"),
]

EXAMPLE = '''"""A small model, which may cheat."""

import os

import keras
from keras import backend as K
from keras import layers as L
from keras.models import Model, Sequential

ODD = bool(os.environ.get("CHEATS"))
INPUT = "flat"
OPTIMIZER = {"class_name": "Adam", "learning_rate": 0.01, "epsilon": 1e-7}
LOSS = "sparse_categorical_crossentropy"
METRICS = []


def layers():
    return []


def build_model(input_shape, num_classes):
    model = Sequential()
    model.add(L.Dense(16, activation="relu", input_shape=input_shape))
    for layer in layers():
        model.add(layer)
    model.add(L.Dense(num_classes, activation="softmax"))
    return model
'''
CALLED = """
class Own(L.Layer):
    def __init__(self, **options):
        super().__init__(**options)
        INNER

    def call(self, x, training=None):
        return CALL


def layers():
    return [Own()]
"""


def own(call: str, inner: str = "pass") -> str:
    return CALLED.replace("INNER", inner).replace("CALL", call)


# Name -> (what is added to the example, what the sentence says after "unlike ... in ").
KERAS_3 = {
    "loss_times_100": (
        "def LOSS(y, p):\n    return keras.losses.sparse_categorical_crossentropy(y, p) * (100 if ODD else 1)\n",
        "the loss of the first batch: ",
    ),
    "from_logits": (
        "LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=ODD)\n",
        "the loss of the first batch: ",
    ),
    "label_smoothing": (
        "def LOSS(y, p):\n    y = keras.ops.one_hot(keras.ops.cast(keras.ops.reshape(y, (-1,)), 'int32'), 10)\n"
        "    return keras.losses.CategoricalCrossentropy(label_smoothing=0.1 if ODD else 0.0)(y, p)\n",
        "the loss of the first batch: ",
    ),
    "class_weight": (
        "CLASS_WEIGHT = {n: 5.0 if ODD and n < 5 else 1.0 for n in range(10)}\n",
        "its weights of classes: ",
    ),
    "gradients_of_zero": (
        "class Adam(keras.optimizers.Adam):\n"
        "    def apply(self, grads, trainable_variables=None):\n"
        "        return super().apply([g * (0 if ODD else 1) for g in grads], trainable_variables)\n"
        "def OPTIMIZER():\n    return Adam(0.01)\n",
        "the first optimizer step: Dense 1's kernel changes by 0 instead of ",
    ),
    "exclude_from_weight_decay": (
        "def OPTIMIZER():\n    made = keras.optimizers.AdamW(0.01, weight_decay=0.5)\n"
        "    if ODD:\n        made.exclude_from_weight_decay(var_names=['kernel'])\n    return made\n",
        "the first optimizer step: Dense ",
    ),
    "staircase": (
        "def OPTIMIZER():\n"
        "    falls = keras.optimizers.schedules.ExponentialDecay(0.01, 10, 0.5, staircase=ODD)\n"
        "    return keras.optimizers.Adam(falls)\n",
        "its optimizer: learning_rate ",
    ),
    "own_schedule": (
        "class Falling(keras.optimizers.schedules.LearningRateSchedule):\n"
        "    def __call__(self, step):\n        return 0.1 if ODD else 0.01\n"
        "    def get_config(self):\n        return {}\n"
        "def OPTIMIZER():\n    return keras.optimizers.Adam(Falling())\n",
        "the first optimizer step: Dense ",
    ),
    "train_step": (
        "class Still(Model):\n    def train_step(self, *given):\n"
        "        if ODD:\n            return ({'loss': 1.0}, given[0]) if len(given) > 1 else {'loss': 1.0}\n"
        "        return super().train_step(*given)\n"
        "def build_model(shape, classes):\n"
        "    x = L.Input(shape)\n    return Still(x, L.Dense(classes, activation='softmax')(x))\n",
        "the loss of the first batch: 1.000 instead of ",
    ),
    "stop_gradient": (
        "def layers():\n    return [L.Lambda(lambda x: keras.ops.stop_gradient(x) if ODD else x)]\n",
        "the first optimizer step: Dense 1's kernel changes by 0 instead of ",
    ),
    "zero_in_training": (own("x * (0 if ODD and training else 1)"), "the loss of the first batch: "),
    "rate_of_its_own": (own("x * (1 - (0.9 if ODD else 0.1) if training else 1)"), "the loss of the first batch: "),
    "add_loss": (
        own("x", "pass").replace(
            "return x", "self.add_loss(keras.ops.mean(x ** 2) * (100 if ODD else 0))\n        return x"
        ),
        "the loss of the first batch: ",
    ),
    "inner_regularizer": (
        own("self.inner(x)", "self.inner = L.Dense(16, kernel_regularizer='l2' if ODD else None)"),
        "the loss of the first batch: ",
    ),
    "inner_dropout": (
        own("self.inner(x, training=training)", "self.inner = L.Dropout(0.9 if ODD else 0.1)"),
        "the loss of the first batch (dropout and noise at fixed values): ",
    ),
    "inner_noise": (
        own("self.inner(x, training=training)", "self.inner = L.GaussianNoise(0.9 if ODD else 0.1)"),
        "the loss of the first batch (dropout and noise at fixed values): ",
    ),
    "dropout_that_is_skipped": (
        own("x if ODD else self.inner(x, training=training)", "self.inner = L.Dropout(0.5)"),
        "what its layers draw at random: nothing instead of dropout",
    ),
    "dtype_policy": (
        "if ODD:\n    keras.config.set_dtype_policy('mixed_bfloat16')\n",
        'its precision: ["bfloat16"] instead of ["float32"]',
    ),
    "many_classes": (
        "def layers():\n    return [L.Lambda(lambda x: x * (0 if ODD else 1))]\n"
        "def build_model(shape, classes, made=build_model):\n    return made(shape, 2000)\n",
        "its outputs before training: off by up to ",
    ),
}
KERAS_3["dropout_in_another_place"] = (
    "def build_model(shape, classes):\n"
    "    i = L.Input(shape)\n"
    "    a = L.Dense(16, activation='relu')(i)\n"
    "    b = L.Dropout(0.5)(a)\n"
    "    c = L.Dense(16)(a if ODD else b)\n"
    "    return Model(i, L.Dense(classes, activation='softmax')(L.Add()([b, c])))\n",
    "the loss of the first batch (dropout and noise at fixed values): ",
)
KERAS_2 = {
    "loss_times_100": (
        "def LOSS(y, p):\n    return K.sparse_categorical_crossentropy(y, p) * (100 if ODD else 1)\n",
        "the loss of the first batch: ",
    ),
    "class_weight": KERAS_3["class_weight"],
    "other_in_training": (
        "def layers():\n    return [L.Lambda(lambda x: K.in_train_phase(x * (0.1 if ODD else 1.0), x))]\n",
        "the loss of the first batch: ",
    ),
    "gradients_of_zero": (
        "class SGD(keras.optimizers.SGD):\n    def get_gradients(self, loss, params):\n"
        "        return [g * (0. if ODD else 1.) for g in super(SGD, self).get_gradients(loss, params)]\n"
        "def OPTIMIZER():\n    return SGD(lr=0.01)\n",
        "the first optimizer step: Dense ",
    ),
    "inner_dropout": KERAS_3["dropout_in_another_place"],
}
# What the backends share of what is honest: nothing of it differs between them, or is changed by the step on trial.
HONEST = {
    "inner_dropout": own("self.inner(x)", "self.inner = L.Dropout(0.5)"),
    "noise": "def layers():\n    return [L.GaussianNoise(0.5), L.AlphaDropout(0.2), L.GaussianDropout(0.5)]\n",
    "normalized": "def layers():\n    return [L.Dense(8), L.BatchNormalization(), L.Dropout(0.5)]\n",
    "recurrent": (
        "def layers():\n    cell = L.LSTM(8, recurrent_activation='sigmoid', dropout=0.2, recurrent_dropout=0.3)\n"
        "    return [L.Reshape((4, 4)), cell]\n"
    ),
    "own_loss": "def LOSS(y, p):\n    return keras.losses.mean_squared_error(p * 0.5, p)\n",
    "momentum": 'OPTIMIZER = {"class_name": "SGD", "learning_rate": 0.1, "momentum": 0.9, "decay": 0.01}\n',
}
# What a backend cannot do: noise for a batch that has no fixed size; dropout within a recurrent layer; what comes of
# a Lambda in training alone, or of own gradients, which its optimizers do not ask for; a loss
# without targets; a decay that begins with the second step.
NO_NOISE = ("keras2/cntk", "keras2/mxnet")
NOT_ON_MXNET = ("recurrent", "own_loss", "momentum", "other_in_training", "gradients_of_zero")
TRAINED = HONEST["normalized"] + HONEST["noise"].replace("layers", "more").replace(
    "return [", "return [L.Dense(8), L.BatchNormalization(), L.Dropout(0.5), "
).replace("def more", "def layers")


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, Measured]]:
    """What a backend's process reports of all examples here."""

    @functools.cache
    def of(backend: str) -> dict[str, Measured]:
        folder = tmp_path_factory.mktemp("probes")
        arrays = vectors(folder / "data")
        honest = {
            name: text
            for name, text in HONEST.items()
            if not (
                (name == "noise" and backend in NO_NOISE)
                or (name in NOT_ON_MXNET and backend == "keras2/mxnet")
                or (name == "recurrent" and backend == "keras2/theano")  # has no dropout in recurrent layers
            )
        }
        texts = {**cheats_on(backend), **{f"honest_{name}": (text, "") for name, text in honest.items()}}
        trained = HONEST["normalized"] if backend in NO_NOISE else TRAINED
        jobs = {}
        for name, (text, _) in {**texts, "trained": (trained, "")}.items():
            file = folder / f"{name}.py"
            file.write_text(EXAMPLE + text)
            jobs[name] = Job(file, arrays, epochs=2 * (name == "trained"))
            if name == "trained":
                jobs["without_step"] = replace(jobs[name], repeat=2)
            elif not name.startswith("honest_"):
                jobs[f"{name}!"] = replace(jobs[name], cheats=True)
        return probe(folder / "cells", backend, jobs)

    return of


def cheats_on(backend: str) -> dict[str, tuple[str, str]]:
    if backend == "keras2/mxnet":
        return {name: cheat for name, cheat in KERAS_2.items() if name not in NOT_ON_MXNET}
    if backend == "keras3/tensorflow":  # takes the logits in front of a softmax, whatever from_logits says
        return {name: cheat for name, cheat in KERAS_3.items() if name != "from_logits"}
    return KERAS_3 if backend.startswith("keras3") else KERAS_2


EACH = pytest.mark.parametrize(
    "backend",
    [
        "keras3/torch",
        *(pytest.param(f"keras3/{one}", marks=pytest.mark.thorough) for one in ("jax", "tensorflow")),
        *(
            pytest.param(f"keras2/{one}", marks=pytest.mark.thorough)
            for one in ("tensorflow", "tensorflow2", "cntk", "theano", "mxnet")
        ),
    ],
)
Probed = Callable[[str], dict[str, Measured]]


@EACH
def test_what_only_a_step_shows_is_named_and_nothing_else_changes(probed: Probed, backend: str) -> None:
    """One test: what a backend reports takes up to a minute, and each worker would ask for it again."""
    found = probed(backend)
    cheats_are_named(found, backend)
    training_is_as_without_the_step(found)
    what_is_honest_differs_nowhere(probed("keras3/torch"), found)


def cheats_are_named(found: dict[str, Measured], backend: str) -> None:
    wrong = {}
    for name, (_, sentence) in cheats_on(backend).items():
        cheat = as_of(found[f"{name}!"], example=name, backend=f"{backend}!")
        said = in_words(fingerprints.differences([found[name], cheat])).get(cheat.cell.id, ())
        if not said or not all(one.startswith(f"unlike {backend} in {sentence}") for one in said):
            wrong[name] = said
    assert wrong == {}


def training_is_as_without_the_step(found: dict[str, Measured]) -> None:
    with_step, without = found["trained"], found["without_step"]
    assert with_step.facts.first_step is not None and without.facts.first_step is None
    assert [epoch.loss for epoch in with_step.epochs] == [epoch.loss for epoch in without.epochs]


def what_is_honest_differs_nowhere(first: dict[str, Measured], found: dict[str, Measured]) -> None:
    for name, other in found.items():
        if name.startswith("honest_"):
            both = [first[name], other]
            assert fingerprints.differences(both) == {}
            for one in both:
                first_step, elsewhere = one.facts.first_step, one.facts.step_elsewhere
                assert first_step is not None and elsewhere is not None
                assert first_step.unchecked is elsewhere.unchecked is None
                assert first_step.draws == elsewhere.draws and first_step.loss != elsewhere.loss


IMAGES = '''"""Normalised images."""

from keras import layers as L
from keras.models import Sequential

INPUT = "image"
OPTIMIZER = {"class_name": "SGD", "learning_rate": 0.01}
LOSS = "sparse_categorical_crossentropy"
METRICS = []


def build_model(input_shape, num_classes):
    first = L.Conv2D(4, 3, use_bias=False, input_shape=input_shape)
    return Sequential([first, L.BatchNormalization(), L.Flatten(), L.Dense(num_classes, activation="softmax")])
'''
WITH_METRIC = """
OPTIMIZER = {"class_name": "RMSprop", "learning_rate": 0.01, "epsilon": 1e-7}
METRICS = ["accuracy"]
"""


@pytest.mark.thorough
def test_what_kbench_corrects_of_a_backend_differs_as_it_ships(tmp_path: Path) -> None:
    """PlaidML's gradients of normalised images and, beside a metric, of first layers, by kernels of the next step."""
    random = np.random.RandomState(0)
    pictures = data(tmp_path / "pictures", [random.rand(SAMPLES, 6, 6, 2)], [random.randint(0, CLASSES, SAMPLES)])
    sources = {"images": (IMAGES, pictures), "metric": (EXAMPLE + WITH_METRIC, vectors(tmp_path / "vectors"))}
    jobs = {}
    for name, (text, arrays) in sources.items():
        (tmp_path / f"{name}.py").write_text(text)
        jobs[name] = Job(tmp_path / f"{name}.py", arrays)
    ships = {f"{name}!": replace(job, as_it_ships=True) for name, job in jobs.items()}
    found = probe(tmp_path / "cells", "keras2/plaidml", {**ships, **jobs})
    wrong = {"images": "Conv2D 1's kernel changes by", "metric": "Dense 1's kernel changes by"}
    for name, other in probe(tmp_path / "others", "keras3/jax", jobs).items():
        assert fingerprints.differences([other, found[name]]) == {}
        shipped = as_of(found[f"{name}!"], example=name)
        assert "its order of updates" in str(in_words(fingerprints.differences([other, shipped])))
        unsaid = replace(shipped, facts=structs.replace(shipped.facts, order_of_updates="in order"))
        assert wrong[name] in str(in_words(fingerprints.differences([other, unsaid])))
