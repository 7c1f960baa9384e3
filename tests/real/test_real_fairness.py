"""Real backends that are given different models on purpose: the difference is found and named."""

from __future__ import annotations

from pathlib import Path

import pytest
from real_runs import Kbench

from kbench.analysis.summaries import summarise

pytestmark = pytest.mark.timeout(3600)
CHEAT = '''"""A GRU and a convolution that are not the same everywhere."""

import keras
from keras.layers import GRU, Conv1D, Dense, Embedding
from keras.models import Sequential

DATA = "imdb"
INPUT = "sequence"
BATCH_SIZE = 16
OPTIMIZER = {"class_name": "Adam", "learning_rate": 0.001, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7}
LOSS = "binary_crossentropy"
PROFILES = {"full": {"samples": 25000, "validation_samples": 0, "epochs": 1}}
BACKEND = keras.backend.backend()


def build_model(input_shape, num_classes):
    model = Sequential()
    model.add(Embedding(30000, 4, input_shape=input_shape))
    model.add(Conv1D(2, 28 if BACKEND == "torch" else 3, strides=8, data_format="channels_last"))
    reset_after = BACKEND == "jax"
    model.add(GRU(3, activation="tanh", recurrent_activation="sigmoid", reset_after=reset_after))
    model.add(Dense(1, activation="sigmoid"))
    return model
'''


def test_another_gru_and_other_kernels_are_caught_by_name(kbench: Kbench, tmp_path: Path) -> None:
    example = tmp_path / "cheat.py"
    example.write_text(CHEAT, "utf-8")
    backends = "keras2/tensorflow,keras3/jax,keras3/torch"
    run = kbench.measure(backends, str(example), "--samples", "64", "--epochs", "1")
    assert run.status == 0, run.output
    rows = {row.backend: row for row in summarise(run.results().measured)}
    assert rows["keras2/tensorflow"].differs == ()
    first = "unlike keras2/tensorflow in its model: layer"
    assert rows["keras3/torch"].differs[0] == f"{first} 2, Conv1D, has kernel_size [28] instead of [3]"
    assert rows["keras3/jax"].differs[0] == f"{first} 3, GRU, has reset_after true instead of none"
    assert rows["keras3/jax"].parameters != rows["keras2/tensorflow"].parameters
    assert run.output.count("ok, differs [") == 2
