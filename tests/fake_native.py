"""Test helper: a native backend on the fake framework, with a twin of the fake bench's example in numpy."""

from __future__ import annotations

from pathlib import Path

from fake_backends import HOST_PYTHON
from fake_bench import Bench

TOML = """
title = "The fake without Keras"
kind = "native"
framework = "theano"
module = "theano"
distribution = "fake-framework"
python = ["{python}"]
can = ["train", "infer"]
image_data_format = "channels_last"
gpu_image_data_format = "channels_first"
color = "#AA0000"

[[builds]]
name = "cpu"
device = "cpu"
requirements = ["fake-framework==1.0"]
"""
TWIN = '''"""my_example in numpy."""

import numpy as np

LAYERS = [("Dense", (16, 3), (3,))]


def build(weights, dropout, seed):
    return {"kernel": weights[0], "bias": weights[1]}


def optimizer(model, learning_rate, momentum):
    return learning_rate


def step(model, optimizer, x, y):
    x = x.reshape(len(x), -1)
    found = predict(model, x)
    right = np.eye(3, dtype="float32")[y]
    gradient = (found - right) / len(x)
    model["kernel"] = model["kernel"] - np.float32(optimizer) * (x.T @ gradient)
    model["bias"] = model["bias"] - np.float32(optimizer) * gradient.sum(axis=0)
    loss = -np.log(np.clip(found[np.arange(len(x)), y], 1e-7, 1.0)).mean()
    return loss, (found.argmax(axis=1) == y).mean()


def predict(model, x):
    scores = x.reshape(len(x), -1) @ model["kernel"] + model["bias"]
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def weights(model):
    return [model["kernel"], model["bias"]]
'''


def add_native(bench: Bench, name: str = "fake", *, twin: str = TWIN, toml: str = TOML) -> Path:
    """Give the bench native/<name>, and a twin of my_example unless it is empty; returns where that lies."""
    path = bench.backends / "native" / f"{name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(toml.format(python=HOST_PYTHON))
    path.with_name(f"{name}.cpu.lock").write_text(bench.lock_of("fake-framework"))
    file = bench.folder / "native" / name / "my_example.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    if twin:
        file.write_text(twin)
    return file
