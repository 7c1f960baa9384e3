"""Programs that do something else on one backend: the first sentence says what, and of honest ones nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from real_runs import Finished, Kbench

from kbench.analysis.rows import summarised
from kbench.features.script.told import unlike_calls

pytestmark = [
    pytest.mark.timeout(3600),
    pytest.mark.slow("two backends start"),
]

PROGRAM = """
import keras
import numpy as np
ODD = ODD_IS and keras.backend.backend() == "torch"
ON = [False]
r = np.random.RandomState(0)
x, y = r.rand(320, 12).astype("float32"), r.randint(0, 4, 320)
def fixed(model, seed=5):
    q = np.random.RandomState(seed)
    model.set_weights([q.randn(*w.shape) * 0.1 for w in model.get_weights()])
    return model
class Model(keras.Model):
    def train_step(self, *given):
        return {"loss": 0.0} if ODD and ON[0] else super().train_step(*given)
class Late(keras.layers.Layer):
    def call(self, z):
        return z * 0.5 if ODD and ON[0] else z
class Penalized(keras.Model):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = keras.layers.Dense(8, activation="relu"), keras.layers.Dense(4, activation="softmax")
    def call(self, z):
        h = self.inner(z)
        self.add_loss(keras.ops.mean(keras.ops.ones_like(h)) * (0.0 if ODD else 0.9))
        return self.outer(h)
def penalized():
    model = Penalized()
    model(x[:2])
    model = fixed(model)
    model.compile("adam", "sparse_categorical_crossentropy")
    return model
def net(rate=0.01, late=False):
    i = keras.Input((12,))
    h = keras.layers.Dense(8, activation="relu")(i)
    h = Late()(h) if late else h
    model = fixed(Model(i, keras.layers.Dense(4, activation="softmax")(h)))
    model.compile(keras.optimizers.Adam(rate), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model
"""
OF_DATA = "is unlike keras3/jax in its data."
FIT = "net(BEGIN).fit(x, y, epochs=3, batch_size=32, shuffle=False, verbose=0)\n"
OF_OTHERS = FIT.replace("x, y", "u, v").replace("BEGIN", "")
OF_M = FIT.replace("net(BEGIN)", "m")
# What is done, in a line -> how the sentence about it begins.
UNLIKE = {
    FIT.replace("BEGIN", "0.3 if ODD else 0.01"): (
        "is unlike keras3/jax in its optimizer: learning_rate 0.3 instead of 0.01"
    ),
    f"u, v = (x[::-1].copy(), y[::-1].copy()) if ODD else (x, y)\n{OF_OTHERS}": OF_DATA,
    f"u, v = x, np.roll(y, 1) if ODD else y\n{OF_OTHERS}": OF_DATA,
    f"ON[0] = True\n{FIT.replace('BEGIN', '')}ON[0] = False\n": (
        "trains nothing: none of the model's weights changed"
    ),
    f"v = y[::-1].copy() if ODD else y\n{OF_OTHERS[:-1]}".replace("u, v,", "x, y, validation_data=(x, v),") + "\n": (
        "is unlike keras3/jax in its validation data."
    ),
    FIT.replace("net(BEGIN)", "penalized()"): "is unlike keras3/jax in the loss of epoch 1: 1.",
    f"m = net()\nm.layers[1].trainable = not ODD\nm.compile('adam', 'sparse_categorical_crossentropy')\n{OF_M}": (
        "is unlike keras3/jax in its model: layer 1, Dense, has trainable false instead of true"
    ),
    f"m = net()\nm.set_weights([w * (9 if ODD else 1) for w in m.get_weights()])\n{OF_M}": (
        "is unlike keras3/jax in its spread of initial weights: Dense 1 0."
    ),
    "print(net().evaluate(x[:, ::-1].copy() if ODD else x, y, verbose=0))\n": (
        "Evaluate is given other inputs on keras3/torch than on keras3/jax: off by up to "
    ),
    "m = net(late=True)\nfor _ in range(3):\n    print(m.predict(x, verbose=0).sum())\n    ON[0] = True\n": (
        "The same weights predict otherwise from call to call on keras3/torch than on keras3/jax: the first call"
    ),
}
BODIES = list(UNLIKE)


def measured(kbench: Kbench, folder: Path, odd: bool) -> Finished:
    """The program that does all of it."""
    path = folder / "program.py"
    path.write_text(PROGRAM.replace("ODD_IS", str(odd)).lstrip() + "".join(BODIES), "utf-8")
    finished = kbench.script(path, "keras3/jax,keras3/torch")
    assert finished.status == 0, finished.output
    return finished


@pytest.fixture
def odd(kbench: Kbench, tmp_path: Path, kept: dict[str, Finished]) -> Finished:
    if "odd" not in kept:
        kept["odd"] = measured(kbench, tmp_path, odd=True)
    return kept["odd"]


WHERE = "The same command with --explain says where they part."


def sentences(finished: Finished) -> list[str]:
    return unlike_calls.sentences(summarised(finished.results()))


@pytest.mark.parametrize(
    "number",
    range(len(BODIES)),
    ids=[
        "rate",
        "other samples",
        "other targets",
        "no training",
        "validation",
        "penalty",
        "frozen layer",
        "initial weights",
        "other inputs",
        "from call to call",
    ],
)
def test_what_one_backend_does_otherwise_is_said(number: int, odd: Finished) -> None:
    body = BODIES[number]
    before = PROGRAM.lstrip() + "".join(BODIES[:number])
    call = body[: body.index("verbose=0")].count("\n") + before.count("\n") + 1
    about = [sentence for sentence in sentences(odd) if UNLIKE[body] in sentence]
    assert any(re.search(rf"\bline {call}\b", sentence) for sentence in about), sentences(odd)


def test_a_line_whose_loss_is_another_from_its_first_epoch_on_has_no_rank(odd: Finished) -> None:
    about = [one for one in sentences(odd) if "in the loss of epoch 1" in one]
    assert about and all(f"so it is not compared. {WHERE}" in one for one in about), sentences(odd)
    apart = [row for row in summarised(odd.results()) if any("the loss of epoch 1" in one for one in row.differs)]
    assert [(row.backend, row.relative_to_fastest) for row in apart] == 2 * [("keras3/torch", None)], (
        "no training, too"
    )


def test_it_is_the_first_paragraph(odd: Finished) -> None:
    first = " ".join(odd.output.split("\n\n")[1].split())
    assert first.startswith(sentences(odd)[0])


def test_of_the_same_program_that_is_honest_nothing_is_said(kbench: Kbench, tmp_path: Path) -> None:
    finished = measured(kbench, tmp_path, odd=False)
    assert sentences(finished) == []
    assert not any(words in finished.output for words in ("unlike", "otherwise", "other inputs", "trains nothing"))


NAN = "m = net()\nm.compile(keras.optimizers.SGD(1e30), m.loss)\nm.fit(x, y, epochs=3, batch_size=32, verbose=0)\n"


@pytest.mark.thorough
def test_a_loss_that_is_nan_on_both_is_the_first_sentence_and_no_time_is_ranked(
    kbench: Kbench, tmp_path: Path
) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.replace("ODD_IS", "False").lstrip() + NAN, "utf-8")
    finished = kbench.script(path, "keras3/jax,keras3/torch")
    line = path.read_text("utf-8").count("\n")
    first = " ".join(finished.output.split("\n\n")[1].split())
    where = f"program.py: fit, line {line}"
    assert first == f"The loss of {where} is nan from epoch 1 on keras3/jax and keras3/torch: no time is ranked."
    assert {row.relative_to_fastest for row in summarised(finished.results()) if row.work.compared} == {None}
