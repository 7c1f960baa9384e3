"""Keras 2 on TensorFlow 2: what a program gets of Keras, and what an example shows beside Keras 3."""

from __future__ import annotations

from pathlib import Path

import pytest
from real_runs import Kbench

from kbench.features.script import events
from kbench.records.values import OK

pytestmark = pytest.mark.slow("TensorFlow starts and compiles")
BACKEND = "keras2/tensorflow2"
SMALL = ("--samples", "256")

PROGRAM = """
import subprocess
import sys

import keras
import numpy as np
import tensorflow as tf
from tensorflow import keras as of_tensorflow
from tensorflow.keras.layers import Dense

model = keras.Sequential([Dense(4, activation="relu", input_shape=(3,)), keras.layers.Dense(1)])
model.compile(optimizer=of_tensorflow.optimizers.SGD(0.1), loss="mse", run_eagerly=EAGERLY)
x = np.arange(96, dtype="float32").reshape(32, 3) / 96
kept = []
leak = of_tensorflow.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: kept.append(np.ones(LEAKED * 2**17)))
model.fit(x, x.sum(axis=1), batch_size=8, epochs=12, verbose=0, callbacks=[leak])
same = of_tensorflow.Model is keras.Model is tf.keras.Model
child = [sys.executable, "-c", "import keras; print(keras.__version__)"]
if LEAKED:
    printed = subprocess.check_output(child, text=True).strip()
    print(keras.__version__.split(".")[0], same, printed == keras.__version__)
"""


def written(folder: Path, **values: object) -> Path:
    program = folder / "train.py"
    text = PROGRAM
    for name, value in values.items():
        text = text.replace(name, str(value))
    program.write_text(text)
    return program


OLDER = [pytest.param(f"{BACKEND}@{version}", marks=pytest.mark.thorough) for version in ("2.15", "2.11")]


@pytest.mark.parametrize("backend", [BACKEND, *OLDER])
def test_a_program_has_keras_2_however_it_imports_it_and_a_leak_is_said(
    kbench: Kbench, tmp_path: Path, backend: str
) -> None:
    program = written(tmp_path, EAGERLY=False, LEAKED=5)
    run = kbench.script(program, backend, "--show-output")
    one = run.cell()
    assert one.outcome.status == OK, run.output
    assert "2 True True" in run.output
    assert one.facts.keras_version.startswith("2.") and one.facts.backend_version.startswith("2.")
    assert len(one.outcome.memory) >= 1
    assert "Memory grows with each epoch on" in " ".join(run.output.split())


@pytest.mark.thorough
def test_run_eagerly_is_observed_and_memory_that_does_not_grow_is_not_accused(kbench: Kbench, tmp_path: Path) -> None:
    program = written(tmp_path, EAGERLY=True, LEAKED=0)
    run = kbench.script(program, BACKEND)
    (site,) = (about for name, about in events.sites(run.cell().facts).items() if name.startswith("fit"))
    assert site.facts["run_eagerly"] is True, run.output
    assert "emory grows" not in run.output


@pytest.mark.thorough
def test_beside_keras_3_it_does_the_same_work_on_the_same_tensorflow(kbench: Kbench) -> None:
    run = kbench.measure(f"{BACKEND},keras3/tensorflow,{BACKEND}+jit=on", "mnist_mlp", *SMALL)
    two, three, compiled = run.results().measured
    assert [one.outcome.status for one in (two, three, compiled)] == [OK, OK, OK], run.output
    assert two.facts.backend_version == three.facts.backend_version
    assert (two.facts.keras_version[0], three.facts.keras_version[0]) == ("2", "3")
    assert (two.facts.jit, compiled.facts.jit) == ("off", "on")
    assert "differs" not in run.output


@pytest.mark.parametrize("backend", OLDER)
def test_with_an_older_tensorflow_it_trains_an_example(kbench: Kbench, backend: str) -> None:
    one = kbench.measure(backend, "mnist_mlp", *SMALL).cell()
    assert one.outcome.status == OK, one.outcome.reason
    minor = backend.rpartition("@")[2]
    assert one.facts.keras_version.startswith(f"{minor}.") and one.facts.backend_version.startswith(f"{minor}.")
