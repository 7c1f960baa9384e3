"""Programs that do something else on one backend: the first sentence says what, and of honest ones nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from real_runs import Kbench

pytestmark = pytest.mark.timeout(3600)

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
# What is done -> how the sentence begins.
UNLIKE = {
    FIT.replace("BEGIN", "0.3 if ODD else 0.01"): (
        "is unlike keras3/jax in its optimizer: learning_rate 0.3 instead of 0.01"
    ),
    f"if ODD: x, y = x[::-1].copy(), y[::-1].copy()\n{FIT.replace('BEGIN', '')}": OF_DATA,
    f"if ODD: y = np.roll(y, 1)\n{FIT.replace('BEGIN', '')}": OF_DATA,
    f"ON[0] = True\n{FIT.replace('BEGIN', '')}": "trains nothing: none of the model's weights changed",
    "print(net().evaluate(x[:, ::-1].copy() if ODD else x, y, verbose=0))\n": (
        "Evaluate is given other inputs on keras3/torch than on keras3/jax: off by up to "
    ),
    "m = net(late=True)\nfor _ in range(3):\n    print(m.predict(x, verbose=0).sum())\n    ON[0] = True\n": (
        "The same weights predict otherwise from call to call on keras3/torch than on keras3/jax: the first call"
    ),
}


def said(output: str) -> str:
    """The first paragraph below the plan, in one line."""
    return " ".join(output.split("\n\n")[1].split())


@pytest.mark.parametrize("body", UNLIKE)
def test_what_one_backend_does_otherwise_is_the_first_sentence(body: str, kbench: Kbench, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.replace("ODD_IS", "True").lstrip() + body, "utf-8")
    finished = kbench.script(path, "keras3/jax,keras3/torch", "--repeats", "1")
    assert finished.status == 0, finished.output
    assert UNLIKE[body] in said(finished.output)


def test_of_the_same_program_that_is_honest_nothing_is_said(kbench: Kbench, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.replace("ODD_IS", "False").lstrip() + "".join(UNLIKE), "utf-8")
    finished = kbench.script(path, "keras3/jax,keras3/torch", "--repeats", "1")
    assert finished.status == 0, finished.output
    assert not any(words in finished.output for words in ("unlike", "otherwise", "other inputs", "trains nothing"))
