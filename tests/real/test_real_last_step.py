"""Cheats that begin after the first epoch, on real backends: each differs, in a sentence; what is honest does not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fake_runs import in_words
from probing import Job, as_of, data, probe, vectors

from kbench.analysis.sameness import fingerprints, last_steps

pytestmark = [pytest.mark.timeout(3600), pytest.mark.slow("many models are trained")]

EXAMPLE = '''"""A small model, which may cheat from its second epoch on."""

import os

import keras
from keras import layers as L
from keras.models import Model, Sequential

LATER = {"on": False}
INPUT = "flat"
OPTIMIZER = {"class_name": "Adam", "learning_rate": 0.01, "epsilon": 1e-7}
LOSS = "sparse_categorical_crossentropy"
METRICS = []


class Own(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        LATER["on"] = bool(os.environ.get("CHEATS")) and epoch > 0
        later(self.model, epoch)


def later(model, epoch):
    pass


def callbacks():
    return [Own()]


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
STEP = (
    "class Own(Model):\n    number = 0\n    def train_step(self, *given):\n        BODY\n"
    "        return super().train_step(*given)\n"
    "def build_model(shape, classes):\n"
    "    x = L.Input(shape)\n    return Own(x, L.Dense(classes, activation='softmax')(x))\n"
)
FROZEN = (
    "def later(model, epoch):\n    if LATER['on']:\n        model.layers[-1].trainable = False\n"
    "        optimizer = type(model.optimizer).from_config(model.optimizer.get_config())\n"
    "        model.compile(loss=model.loss, optimizer=optimizer)\n"
)
OTHER = "its training step after the last epoch is not the one before the first: "
# Name -> (what is added to the example, how its sentence begins).
ON_TORCH = {
    "labels": (
        "def LOSS(y, p):\n    y = y.roll(1, 0) if LATER['on'] else y\n"
        "    return keras.losses.sparse_categorical_crossentropy(y, p)\n",
        f"{OTHER}the loss ",
    ),
    "clipped": (
        "def later(model, epoch):\n    model.optimizer.global_clipnorm = 0.01 if LATER['on'] else None\n"
        'OPTIMIZER = {"class_name": "SGD", "learning_rate": 0.01}\n',
        f"{OTHER}Dense ",
    ),
    "no_dropout": (
        "class Own(L.Dropout):\n    def call(self, x, training=None):\n"
        "        return super().call(x, training=training and not LATER['on'])\n"
        "def layers():\n    return [Own(0.5)]\n"
        "class Switch(keras.callbacks.Callback):\n    def on_epoch_begin(self, epoch, logs=None):\n"
        "        LATER['on'] = bool(os.environ.get('CHEATS')) and epoch > 0\n"
        "def callbacks():\n    return [Switch()]\n",
        f"{OTHER}its layers draw nothing at random instead of dropout",
    ),
    "half_precision": (
        STEP.replace(
            "BODY",
            "if LATER['on']:\n            import torch\n            with torch.autocast('cpu', torch.bfloat16):\n"
            "                return super().train_step(*given)",
        ).replace("Own", "Half"),
        OTHER,
    ),
    "every_second_step": (
        STEP.replace(
            "BODY",
            "Own.number += 1\n        if LATER['on'] and Own.number % 2:\n            return {'loss': 1.0}",
        ).replace("Own", "Skips"),
        "unlike keras3/torch in the steps that its optimizer counts: 2 in epoch 2 instead of 4",
    ),
    "rate_within": (
        "class Rate(keras.callbacks.Callback):\n    def on_epoch_begin(self, epoch, logs=None):\n"
        "        self.on = bool(os.environ.get('CHEATS')) and epoch > 0\n"
        "    def on_train_batch_begin(self, batch, logs=None):\n"
        "        self.model.optimizer.learning_rate = 0.0 if self.on and batch < 3 else 0.01\n"
        "def callbacks():\n    return [Rate()]\n",
        "unlike keras3/torch in how far it moves its weights in epoch 2: 0.",
    ),
    "fewer_threads": (
        "import torch\nBEFORE = torch.get_num_threads()\nclass Threads(Own):\n"
        "    def on_epoch_end(self, epoch, logs=None):\n        torch.set_num_threads(BEFORE)\n"
        "def later(model, epoch):\n    torch.set_num_threads(3 if LATER['on'] else BEFORE)\n"
        "def callbacks():\n    return [Threads()]\n",
        "its number of threads was changed in epoch 2: intra_op 3 instead of ",
    ),
    "a_batch": (
        "CALLS = {'n': 0}\ndef batches(x, y, batch_size, seed):\n    CALLS['n'] += 1\n"
        "    for at in range(0, len(x), batch_size):\n        z = y[at:at + batch_size]\n"
        "        odd = os.environ.get('CHEATS') and CALLS['n'] > 2 and at == batch_size\n"
        "        yield x[at:at + batch_size], z[::-1] if odd else z\n",
        "unlike keras3/torch in the data that its training received in epoch 2",
    ),
}
EVERYWHERE = {"frozen": (FROZEN, OTHER)}
# What a state has to have, to be the one before training.
HONEST = {
    "normalized": "def layers():\n    return [L.Dense(8), L.BatchNormalization(), L.Dropout(0.5)]\n",
    "scheduled": (
        "def callbacks():\n"
        "    return [keras.callbacks.LearningRateScheduler(lambda epoch: 0.01 * 0.5**epoch)]\n"
        'OPTIMIZER = {"class_name": "SGD", "learning_rate": 0.1, "momentum": 0.9}\n'
    ),
    "recurrent": (
        "def layers():\n    return [L.Reshape((4, 4)), L.LSTM(8, recurrent_activation='sigmoid')]\n"
        'OPTIMIZER = {"class_name": "RMSprop", "learning_rate": 0.01}\n'
    ),
}
STATEFUL = (
    "def build_model(shape, classes):\n    model = Sequential()\n"
    "    model.add(L.Reshape((5, 4), batch_input_shape=(16,) + tuple(shape)))\n"
    "    model.add(L.LSTM(8, stateful=True, recurrent_activation='sigmoid'))\n"
    "    model.add(L.Dense(classes, activation='softmax'))\n    return model\n"
)
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


@EACH
def test_what_begins_after_the_first_epoch_is_named_and_nothing_else(backend: str, tmp_path: Path) -> None:
    cheats = {**EVERYWHERE, **(ON_TORCH if backend == "keras3/torch" else {})}
    arrays, jobs = vectors(tmp_path / "data"), dict[str, Job]()
    honest = {**HONEST, "stateful": STATEFUL} if backend.startswith("keras2/tensorflow") else HONEST
    for name, text in {**{name: text for name, (text, _) in cheats.items()}, **honest}.items():
        file = tmp_path / f"{name}.py"
        file.write_text(EXAMPLE + text)
        jobs[name] = Job(file, arrays, epochs=2)
        if name in cheats:
            jobs[f"{name}!"] = Job(file, arrays, cheats=True, epochs=2)
    found = probe(tmp_path / "cells", backend, jobs)
    said = {
        name: in_words(
            fingerprints.differences([found[name], as_of(found[f"{name}!"], example=name, backend=f"{backend}!")])
        )
        for name in cheats
    }
    wrong = {
        name: sentences
        for name, sentences in said.items()
        if not any(one.startswith(cheats[name][1]) for both in sentences.values() for one in both)
    }
    assert wrong == {}
    steps = {name: one.facts.first_step for name, one in found.items()}
    assert [name for name, step in steps.items() if step is None or (step.loss_rounding or 0.0) > 1e-5] == []
    assert {name: last_steps.changed(one) for name, one in found.items() if not name.endswith("!")} == dict.fromkeys(
        [name for name in jobs if not name.endswith("!")]
    )


SLEEPS = """
import time
def batches(x, y, batch_size, seed):
    for at in range(0, len(x), batch_size):
        time.sleep(0.1 if os.environ.get("CHEATS") else 0.0)
        yield x[at:at + batch_size], y[at:at + batch_size]
"""


def test_a_training_that_sleeps_is_told_from_one_that_computes(tmp_path: Path) -> None:
    file = tmp_path / "sleeps.py"
    file.write_text(EXAMPLE + SLEEPS)
    arrays = vectors(tmp_path / "data")
    jobs = {"honest": Job(file, arrays, epochs=3), "sleeps": Job(file, arrays, epochs=3, cheats=True)}
    found = probe(tmp_path / "cells", "keras3/jax", jobs)
    honest, sleeps = (as_of(found[name], example="a", backend=f"keras3/{name}") for name in jobs)
    assert "waiting" in [one.kind for one in fingerprints.add_notes([honest, sleeps])[1].findings]


TOKENS = '''"""Words, with a rate that may be 0 in 30 of 32 steps."""

import os

import keras
from keras import layers as L
from keras.models import Sequential

INPUT = "sequence"
OPTIMIZER = {"class_name": "Adam", "learning_rate": 0.01, "epsilon": 1e-7}
LOSS = "sparse_categorical_crossentropy"
METRICS = []


class Rate(keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        self.model.optimizer.learning_rate = 0.0 if os.environ.get("CHEATS") and batch < 30 else 0.01


def callbacks():
    return [Rate()]


def build_model(input_shape, num_classes):
    model = Sequential()
    model.add(L.Input(input_shape, dtype="int32"))
    model.add(L.Embedding(50, 8))
    model.add(L.Flatten())
    model.add(L.Dense(num_classes, activation="softmax"))
    return model
'''


@pytest.mark.thorough
def test_a_declared_difference_excuses_no_rate_that_is_zero_in_nearly_all_steps(tmp_path: Path) -> None:
    """TensorFlow's Adam is known to update rows of an Embedding otherwise, which moves the loss of an epoch."""
    file, random = tmp_path / "tokens.py", np.random.RandomState(0)
    file.write_text(TOKENS)
    words = random.randint(0, 50, (512, 4)).astype("int32")
    arrays = data(tmp_path / "data", [words], [words[:, 0] // 5])
    honest, cheats = (Job(file, arrays, epochs=3, samples=512, cheats=cheats) for cheats in (False, True))
    last = "channels_last"  # Flatten turns what else is of three axes
    usual = probe(tmp_path / "torch", "keras3/torch", {"tokens": honest}, last)["tokens"]
    found = probe(tmp_path / "tensorflow", "keras3/tensorflow", {"tokens": honest, "cheat": cheats}, last)
    assert in_words(fingerprints.differences([usual, found["tokens"]])) == {}
    cheat = as_of(found["cheat"], example="tokens")
    (said,) = in_words(fingerprints.differences([usual, cheat])).values()
    assert "unlike keras3/torch in how far it moves its weights in epoch 1" in said[0], said
