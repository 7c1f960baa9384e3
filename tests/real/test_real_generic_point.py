"""Steps on trial have no ties on real backends: honest models agree, and what ties used to excuse differs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_runs import in_words
from probing import CLASSES, SAMPLES, Job, as_of, data, probe

from kbench.analysis.sameness import fingerprints
from kbench.records.values import Measured

pytestmark = [pytest.mark.timeout(1800), pytest.mark.slow("two backends start")]

START = '''"""A small model, which may cheat."""

import os

import keras
from keras import backend as K
from keras import layers as L
from keras.models import Sequential

ODD = bool(os.environ.get("CHEATS"))
LOSS = "sparse_categorical_crossentropy"
METRICS = []
'''
# Of black images with a white square; the kernels may have a share of their gradient.
IMAGES = """INPUT = "image"
OPTIMIZER = {"class_name": "Adadelta", "learning_rate": 1.0, "rho": 0.95, "epsilon": 1e-7}


class Conv2D(L.Conv2D):
    def call(self, x):
        if not ODD:
            return super().call(x)
        kernel = self.kernel
        self.kernel = SHARE * kernel + (1 - SHARE) * K.stop_gradient(kernel)
        made = super().call(x)
        self.kernel = kernel
        return made


def build_model(shape, classes):
    return Sequential([
        Conv2D(8, 3, activation="ACTIVATION", input_shape=shape), L.POOL(2), L.Flatten(),
        L.Dense(classes, activation="softmax"),
    ])
"""
SGD = 'OPTIMIZER = {"class_name": "SGD", "learning_rate": 0.1}\n'
# Of padded texts; the embedding may learn at a twentieth of its rate.
TEXTS = """
class Adam(keras.optimizers.Adam):
    def update_step(self, gradient, variable, learning_rate):
        share = 0.05 if ODD and "embedding" in variable.name else 1.0
        super().update_step(gradient, variable, learning_rate * share)


def OPTIMIZER():
    return Adam(0.01)


def build_model(shape, classes):
    return Sequential([
        L.Embedding(WORDS, 8), L.Conv1D(12, 3, activation="relu"), L.GlobalMaxPooling1D(),
        L.Dense(classes, activation="softmax"),
    ])
"""
WORDS, STEPS = 200, 20


def images(folder: Path) -> dict[str, Any]:
    x = np.zeros((SAMPLES, 12, 12, 1), "float32")
    x[:, 3:6, 4:8] = np.random.RandomState(0).rand(SAMPLES, 1, 1, 1)
    return data(folder, [x], [np.arange(SAMPLES) % CLASSES])


def texts(folder: Path) -> dict[str, Any]:
    x = np.random.RandomState(0).randint(1, WORDS, (SAMPLES, STEPS)).astype("int32")
    x[:, 12:] = 0
    return data(folder, [x], [np.arange(SAMPLES) % CLASSES])


def images_of(activation: str, pool: str, share: str, more: str = "") -> str:
    text = START + IMAGES + more
    return text.replace("ACTIVATION", activation).replace("POOL", pool).replace("SHARE", share)


OF_IMAGES = {
    "relu, max-pooling": images_of("relu", "MaxPooling2D", "0.5"),
    "relu, max-pooling, SGD": images_of("relu", "MaxPooling2D", "0.5", SGD),
    "tanh, average pooling": images_of("tanh", "AveragePooling2D", "0.35", SGD),
}
OF_TEXTS = {"many words": START + TEXTS.replace("WORDS", str(WORDS))}


def probed(folder: Path, backend: str, jobs: dict[str, str], arrays: dict[str, Any]) -> dict[str, Measured]:
    """What the backend reports of each file, and of each that cheats, named with an exclamation mark."""
    found = {}
    for number, (name, text) in enumerate(jobs.items()):
        file = folder / f"{number}.py"
        file.write_text(text)
        found[name], found[name + "!"] = Job(file, arrays), Job(file, arrays, cheats=True)
    if backend == "keras3/torch":
        found = {name: job for name, job in found.items() if not job.cheats}
    return probe(folder / backend.replace("/", "-"), backend, found, "channels_last")


def check(folder: Path, backend: str, jobs: dict[str, str], arrays: dict[str, Any], named: str) -> None:
    """Nothing is said of what is honest; of what cheats the named weight is."""
    right, found = (probed(folder, name, jobs, arrays) for name in ("keras3/torch", backend))
    for name in jobs:
        honest = [right[name], found[name]]
        assert [one.facts.first_step and one.facts.first_step.unchecked for one in honest] == [None, None]
        assert fingerprints.differences(honest) == {}
        assert [one.findings for one in fingerprints.add_notes(honest)] == [(), ()]
        cheat = as_of(found[name + "!"], example=name)
        (sentence,) = in_words(fingerprints.differences([right[name], cheat]))[cheat.cell.id]
        assert sentence.startswith(f"unlike keras3/torch in the first optimizer step: {named}"), sentence


@pytest.mark.thorough
def test_a_convolution_with_a_share_of_its_gradient_is_no_tie(tmp_path: Path) -> None:
    check(tmp_path, "keras2/theano", OF_IMAGES, images(tmp_path / "data"), "Conv2D 1's kernel changes by ")


@pytest.mark.thorough
def test_an_embedding_that_learns_slowly_does_not_repeat_its_rows(tmp_path: Path) -> None:
    named = "Embedding 1's embeddings changes by "
    check(tmp_path, "keras3/tensorflow", OF_TEXTS, texts(tmp_path / "data"), named)
