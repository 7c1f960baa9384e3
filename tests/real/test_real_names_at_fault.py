"""Programs that fail or compute something else on one backend: the public name of Keras at fault, or none."""

from __future__ import annotations

from pathlib import Path

import pytest
from real_runs import Kbench

pytestmark = [
    pytest.mark.timeout(3600),
    pytest.mark.slow("two backends start"),
    pytest.mark.thorough,  # with a Keras of a few lines in tests/features/script/test_guest_at_fault.py
]

PROGRAM = """
import keras
import numpy as np
from keras import ops
class Mine(keras.layers.Layer):
    def call(self, x):
        return {returned}
model = keras.Sequential([keras.layers.Input((6,)), keras.layers.Dense(4), Mine(), keras.layers.Dense(1)])
print(model.predict(np.ones((32, 6)), verbose=0).shape)
"""


def said(kbench: Kbench, folder: Path, returned: str) -> str:
    """What is printed of a program whose layer returns this, on JAX and PyTorch."""
    (folder / "mine.py").write_text(PROGRAM.format(returned=returned))
    run = kbench.script(folder / "mine.py", "keras3/jax,keras3/torch")
    assert run.status == 1, run.output
    return " ".join(run.output.split())


def test_the_public_name_that_raises_on_one_backend_is_named(kbench: Kbench, tmp_path: Path) -> None:
    text = said(kbench, tmp_path, "ops.layer_normalization(x, axis=0)")
    assert "On keras3/torch `ops.layer_normalization` raises RuntimeError: Given normalized_shape=" in text
    assert "coverage --backends keras3/torch --only ops.layer_normalization`." in text


def test_no_name_is_blamed_for_what_the_program_does_itself(kbench: Kbench, tmp_path: Path) -> None:
    text = said(kbench, tmp_path, "x.clone() if keras.backend.backend() == 'torch' else x.clone(1)")
    assert "failed on keras3/jax" in text and "coverage" not in text


COMPARED = """
import keras
import numpy as np
from keras import ops
from keras.ops import pad
class Mine(keras.layers.Layer):
    def call(self, x):
        return {returned}
x = np.random.RandomState(0).rand(32, 8, 3)
model = keras.Sequential([keras.layers.Input((8, 3)), {layers}])
model.predict(x, verbose=0)
"""


@pytest.mark.parametrize(
    ("layers", "returned", "named"),
    [
        ("Mine()", "x * ops.mean(pad(ops.tanh(x), 1) + 1.0)", "--backends keras3/torch,keras3/jax --only ops.pad`"),
        (
            "keras.layers.Lambda(lambda x: x * ops.mean(ops.pad(x, 1) + 1.0))",
            "",
            "--backends keras3/torch,keras3/jax --only ops.pad`",
        ),
        (
            "Mine(), keras.layers.AveragePooling1D(5, 3, 'same')",
            "ops.tanh(x)",
            "`layers.AveragePooling1D(pool_size=(5,), padding='same', strides=(3,))` is the first that differs",
        ),
        ("Mine(), keras.layers.Dense(2)", "ops.softmax(ops.pad(x, ((0, 0), (1, 1), (0, 0))))", ""),
    ],
)
def test_what_computes_something_else_is_named(
    layers: str, returned: str, named: str, kbench: Kbench, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(COMPARED.format(layers=layers, returned=returned or "x"))
    compared = kbench.parity_of_script("keras3/jax,keras3/torch,keras3/numpy", tmp_path / "mine.py")
    text = " ".join(compared.output.split())
    assert (compared.status, named in text, "coverage" in text) == (int(bool(named)), True, bool(named)), text
