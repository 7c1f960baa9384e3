"""Two workers of each backend's own engine train as one does: the same weights, and each sample read once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from real_runs import Finished, Kbench

from kbench import store
from kbench.analysis.sameness import fingerprints
from kbench.cells import runner
from kbench.records.values import OK, Measured

pytestmark = [pytest.mark.timeout(3600), pytest.mark.slow("each backend trains twice")]

# With a plain optimizer, for what is not linear in gradients makes much of how they are rounded.
EXAMPLE = '''"""A small network without random numbers."""

from keras.layers import Dense
from keras.models import Sequential

DATA = "mnist"
INPUT = "flat"
BATCH_SIZE = 32
OPTIMIZER = {"class_name": "SGD", "learning_rate": 0.1, "momentum": 0.9}
LOSS = "sparse_categorical_crossentropy"
PROFILES = {"full": {"samples": 320, "validation_samples": 64, "epochs": 2}}


def build_model(input_shape, num_classes):
    model = Sequential()
    model.add(Dense(16, activation="relu", input_shape=input_shape))
    model.add(Dense(num_classes, activation="softmax"))
    return model
'''
LAYERS = 'LAYERS = [("Dense", (784, 16), (16,)), ("Dense", (16, 10), (10,))]\n'
TORCH = (
    LAYERS
    + """
import torch
from torch import nn
from torch.nn import functional


def build(weights, dropout, seed):
    model = nn.Sequential(nn.Linear(784, 16), nn.ReLU(), nn.Linear(16, 10))
    with torch.no_grad():
        for parameter, value in zip(model.parameters(), weights):
            parameter.copy_(torch.from_numpy(value.T))
    return model


def optimizer(model, learning_rate, momentum):
    return torch.optim.SGD(model.parameters(), lr=learning_rate, momentum=momentum)


def step(model, optimizer, x, y):
    optimizer.zero_grad()
    logits = model(torch.from_numpy(x))
    y = torch.from_numpy(y).long()
    loss = functional.cross_entropy(logits, y)
    loss.backward()
    optimizer.step()
    return loss.detach(), (logits.argmax(1) == y).float().mean()


@torch.no_grad()
def predict(model, x):
    return functional.softmax(model(torch.from_numpy(x)), dim=1).numpy()


def weights(model):
    return [parameter.detach().numpy().T for parameter in model.parameters()]
"""
)
JAX = (
    LAYERS
    + """
import jax
import jax.numpy as jnp
import numpy as np


def build(weights, dropout, seed):
    return {"params": [jnp.asarray(value) for value in weights]}


def optimizer(model, learning_rate, momentum):
    return {"velocities": [jnp.zeros_like(value) for value in model["params"]], "settings": (learning_rate, momentum)}


def step(model, optimizer, x, y):
    found = update(model["params"], optimizer["velocities"], x, y, *optimizer["settings"])
    model["params"], optimizer["velocities"], loss, accuracy = found
    return loss, accuracy


def predict(model, x):
    return jax.nn.softmax(forward(model["params"], x))


def weights(model):
    return [np.asarray(value) for value in model["params"]]


def forward(params, x):
    w1, b1, w2, b2 = params
    return jax.nn.relu(x @ w1 + b1) @ w2 + b2


def loss_of(params, x, y):
    logits = forward(params, x)
    loss = -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], axis=1))
    return loss, jnp.mean(jnp.argmax(logits, axis=1) == y)


@jax.jit
def update(params, velocities, x, y, learning_rate, momentum):
    (loss, accuracy), gradients = jax.value_and_grad(loss_of, has_aux=True)(params, x, y)
    velocities = [momentum * v - learning_rate * g for v, g in zip(velocities, gradients)]
    return [p + v for p, v in zip(params, velocities)], velocities, loss, accuracy
"""
)
GLUON = (
    LAYERS
    + """
import mxnet as mx
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

CONTEXTS = [mx.cpu()]
LOSS = gluon.loss.SoftmaxCrossEntropyLoss()


def build(weights, dropout, seed):
    net = nn.HybridSequential()
    net.add(nn.Dense(16, activation="relu", in_units=784), nn.Dense(10, in_units=16))
    net.initialize(ctx=CONTEXTS)
    for param, value in zip(net.collect_params().values(), weights):
        param.set_data(nd.array(value.T))
    net.hybridize()
    return net


def optimizer(net, learning_rate, momentum):
    return gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": learning_rate, "momentum": momentum})


def step(net, trainer, x, y):
    xs, ys = (gluon.utils.split_and_load(array, CONTEXTS) for array in (x, y))
    with autograd.record():
        logits = [net(part) for part in xs]
        losses = [LOSS(*pair) for pair in zip(logits, ys)]
    autograd.backward(losses)
    trainer.step(len(x))
    right = [outputs.argmax(axis=1) == part for outputs, part in zip(logits, ys)]
    return tuple(sum(part.mean().asscalar() for part in parts) / len(parts) for parts in (losses, right))


def predict(net, x):
    return nd.softmax(net(nd.array(x, CONTEXTS[0]))).asnumpy()


def weights(net):
    return [param.data(CONTEXTS[0]).asnumpy().T for param in net.collect_params().values()]
"""
)
ENGINES = ["keras3/torch", "keras2/mxnet"]  # processes, and devices of one process
FURTHER = ["keras3/jax", "keras3/tensorflow", "keras2/tensorflow2", "native/torch", "native/jax", "native/gluon"]
MODULUS = 1 << 64


@pytest.fixture
def keeping_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The weights that a cell trained are kept in a file named after the number of its workers."""
    made = runner.specs.spec

    def spec(task: Any, *args: Any, **given: Any) -> dict[str, Any]:
        return {**made(task, *args, **given), "trained": str(tmp_path / f"{task.workers}.npz")}

    monkeypatch.setattr(runner.specs, "spec", spec)


@pytest.mark.usefixtures("keeping_weights")
@pytest.mark.parametrize("backend", [*ENGINES, *(pytest.param(one, marks=pytest.mark.thorough) for one in FURTHER)])
def test_two_workers_train_as_one_and_read_each_sample_once(kbench: Kbench, tmp_path: Path, backend: str) -> None:
    example = tmp_path / "small.py"
    example.write_text(EXAMPLE, "utf-8")
    for name, text in (("torch", TORCH), ("jax", JAX), ("gluon", GLUON)):
        (tmp_path / "native" / name).mkdir(parents=True)
        (tmp_path / "native" / name / "small.py").write_text(text, "utf-8")
    sizes = ("--samples", "160", "--workers", "1,2", "--threads", "1", "--repeats", "1")
    run = kbench.measure_apart(backend, str(example), *sizes)
    cells = {one.cell.workers: one for one in run.results().measured}
    assert [one.outcome.status for one in cells.values()] == [OK] * 2, [one.outcome for one in cells.values()]
    assert fingerprints.differences([*cells.values()]) == {}
    weights = [_weights(tmp_path / f"{count}.npz") for count in (1, 2)]  # after ten steps
    assert max(np.abs(a - b).max() for a, b in zip(*weights, strict=True)) < 1e-5
    one, two = (_events(run, cells[count], "epoch") for count in (1, 2))
    for name in ("loss", "val_loss"):
        np.testing.assert_allclose([e[name] for e in two], [e[name] for e in one], 1e-5)
    assert two[1]["loss"] < two[0]["loss"]
    assert [e["samples"] for e in two] == [160, 160]
    for epoch in (1, 2):
        told = [e for e in _events(run, cells[2], "worker") if e["epoch"] == epoch]
        assert sorted((e["rank"], e["samples"], e["batch_size"]) for e in told) == [(0, 80, 16), (1, 80, 16)]
        assert sum(int(e["read"], 16) for e in told) % MODULUS == int(told[0]["read_of_all"], 16)
        assert len({e["read"] for e in told}) == 2


@pytest.mark.usefixtures("keeping_weights")
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("backend", "same_mean", "same_variance"),
    [
        ("keras3/jax", True, True),
        ("keras3/tensorflow", False, False),
        ("keras2/tensorflow2", True, False),
        ("keras2/mxnet", True, False),
        ("keras3/torch", False, False),
    ],
)
def test_moving_averages_are_of_the_whole_batch_of_each_part_or_of_the_first(
    kbench: Kbench, tmp_path: Path, backend: str, same_mean: bool, same_variance: bool
) -> None:
    example = tmp_path / "normal.py"
    text = EXAMPLE.replace("import Dense", "import BatchNormalization, Dense").replace('"epochs": 2', '"epochs": 1')
    before = "    model.add(Dense(num_classes"
    example.write_text(text.replace(before, "    model.add(BatchNormalization())\n" + before), "utf-8")
    sizes = ("--samples", "32", "--workers", "1,2", "--threads", "1", "--repeats", "1")
    run = kbench.measure_apart(backend, str(example), *sizes)
    assert [one.outcome.status for one in run.results().measured] == [OK] * 2
    assert fingerprints.differences(run.results().measured) == {}, "in its step on trial each has all samples"
    # After one step, of gamma, beta, the moving mean and the moving variance the last two.
    one, two = ([x for x in _weights(tmp_path / f"{count}.npz") if x.shape == (16,)][-2:] for count in (1, 2))
    assert np.allclose(one[0], two[0], atol=1e-6) == same_mean
    assert np.allclose(one[1], two[1], atol=1e-6) == same_variance
    if same_mean and not same_variance:
        assert (two[1] < one[1] + 1e-6).all(), "of parts, without how far their means are apart"


# At the end of an example's file: an engine that adds gradients up.
ADDING = {
    "keras2/mxnet": """
import sys

engines = sys.modules.get("kbench_workers.devices")  # one worker has none
if engines:
    engines.MXNetContexts.join = lambda self, model: None  # as keras-mxnet ships
""",
    "keras3/torch": """
import torch.distributed
from torch.nn.parallel import DistributedDataParallel

made = DistributedDataParallel.__init__


def add_up(state, bucket):
    reduced = torch.distributed.all_reduce(bucket.buffer(), async_op=True)
    return reduced.get_future().then(lambda sums: sums.value()[0])


def make(self, *args, **given):
    made(self, *args, **given)
    self.register_comm_hook(None, add_up)


DistributedDataParallel.__init__ = make
""",
}


@pytest.mark.thorough
@pytest.mark.parametrize("backend", [*ENGINES])
def test_an_engine_that_adds_gradients_up_differs_though_the_model_has_dropout(
    kbench: Kbench, tmp_path: Path, backend: str
) -> None:
    example = tmp_path / "adds.py"
    second = "    model.add(Dense(num_classes"
    text = EXAMPLE.replace("import Dense", "import Dense, Dropout")
    text = text.replace(second, "    model.add(Dropout(0.5))\n" + second) + ADDING[backend]
    example.write_text(text, "utf-8")
    sizes = ("--samples", "160", "--workers", "1,2", "--threads", "1", "--repeats", "1")
    run = kbench.measure_apart(backend, str(example), *sizes)
    (two,) = (one for one in run.results().measured if one.cell.workers == 2)
    assert two.outcome.status == OK, two.outcome
    found = fingerprints.differences(run.results().measured)
    assert [(how.kind, how.aspect) for how in found.pop(two.cell.id)] == [("first step", "size")]
    assert found == {}


# What stands for a mask of dropout: the state of the generator that it is drawn from.
SEEDS = """
from keras.callbacks import Callback
from keras.layers import Dropout


class Tells(Callback):
    def on_train_end(self, logs=None):
        print("seeds", [int(one) for one in self.model.layers[1].seed_generator.state])


def callbacks():
    return [Tells()]
"""


@pytest.mark.thorough
def test_each_process_draws_its_own_dropout(kbench: Kbench, tmp_path: Path) -> None:
    example = tmp_path / "drops.py"
    second = "    model.add(Dense(num_classes"
    example.write_text(EXAMPLE.replace(second, "    model.add(Dropout(0.5))\n" + second) + SEEDS, "utf-8")
    run = kbench.measure_apart(
        "keras3/torch", str(example), "--samples", "64", "--workers", "2", "--threads", "1", "--repeats", "1"
    )
    (measured,) = run.results().measured
    assert measured.outcome.status == OK, measured.outcome
    logs = [store.cell_folder(run.folder, measured.cell, worker).log.read_text("utf-8") for worker in range(2)]
    told = [[line for line in log.splitlines() if line.startswith("seeds")] for log in logs]
    assert [len(lines) for lines in told] == [1, 1]
    assert told[0] != told[1]


def _weights(path: Path) -> list[np.ndarray]:
    with np.load(path) as file:
        return [file[name] for name in file.files]


def _events(run: Finished, measured: Measured, kind: str) -> list[dict[str, Any]]:
    """Of all processes of the cell; but of epochs those of the first."""
    found = []
    for worker in range(measured.cell.workers if kind == "worker" else 1):
        path = store.cell_folder(run.folder, measured.cell, worker).events
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        found.extend(json.loads(line) for line in lines)
    return [one for one in found if one["event"] == kind]
