"""A twin's initial weights, and what its weights are called."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from guest_modules import guest

TWIN = """
NORMAL = ("RandomNormal", {"stddev": 0.01})
INITIALIZERS = {"Dense": (NORMAL, "Zeros"), "Conv2D": ("HeNormal",)}
LAYERS = [("Dense", (300, 40), (40,)), ("Conv2D", (3, 3, 16, 32)), ("Dense", (300, 40), (40,))]
"""


def test_its_initializers_are_keras_own_with_their_settings(tmp_path: Any) -> None:
    (tmp_path / "twin.py").write_text(TWIN)
    with guest(tmp_path, "kbench_native.twin", "proof.initializers") as (module, initializers):
        kernel, bias, alone, other, _ = module.Twin(str(tmp_path / "twin.py"), False, 7).drawn()
        expected = initializers.draw("RandomNormal", {"stddev": 0.01}, (300, 40), initializers.stream(7, 0, 0))
    assert kernel.tobytes() == expected.astype("float32").tobytes() and not bias.any()
    assert alone.shape == (3, 3, 16, 32) and (kernel != other).any()


def test_its_weights_are_called_as_keras_calls_them(tmp_path: Any) -> None:
    with guest(tmp_path, "kbench_native.twin") as (module,):
        assert module.weight_names("Conv2D", 1) == ["kernel"]
        assert module.weight_names("GRU", 3) == ["kernel", "recurrent_kernel", "bias"]
        assert module.weight_names("Embedding", 1) == ["embeddings"]
        assert module.weight_names("Of my own", 4)[3] == "weight 3"
        assert module.weight_names("BatchNormalization", 4) == ["gamma", "beta", "moving_mean", "moving_variance"]


def test_a_single_layer_may_have_initializers_of_its_own_by_its_place(tmp_path: Any) -> None:
    text = 'LAYERS = 3 * [("Dense", (4, 2), (2,))]\nINITIALIZERS = {"Dense": ("Zeros",) * 2, 0: ("Ones",) * 2'
    (tmp_path / "twin.py").write_text(text + ', -1: ("Ones", "Zeros")}\n')
    with guest(tmp_path, "kbench_native.twin") as (module,):
        drawn = module.Twin(str(tmp_path / "twin.py"), False, 7).drawn()
    assert [float(one.mean()) for one in drawn] == [1.0, 1.0, 0.0, 0.0, 1.0, 0.0]
    with guest(tmp_path, "kbench_native.twin") as (module,):
        (tmp_path / "twin.py").write_text('LAYERS = [("Conv2DTranspose", (2, 2, 8, 16), (8,))]\n')
        kernel, bias = module.Twin(str(tmp_path / "twin.py"), False, 7).drawn()
    assert kernel.any() and not bias.any(), "Keras's own"


NAMED = """
import numpy as np

LAYERS = [("Dense", (2, 1), (1,))]


def build(weights, dropout, seed):
    return {"weights": weights, "seen": []}


def optimizer(model, learning_rate):
    return learning_rate


def step(model, optimizer, x, y):
    model["seen"].append((sorted(x), len(y)))
    return optimizer, 0.5


def predict(model, x):
    return 1 / (1 + np.exp(-(x["a"] - x["b"])))


def weights(model):
    return model["weights"]
"""


def test_it_takes_named_inputs_and_is_scored_by_its_probabilities(tmp_path: Any) -> None:
    (tmp_path / "twin.py").write_text(NAMED)
    x = {"a": np.array([[2.0], [0.0], [1.0], [0.0]], "float32"), "b": np.ones((4, 1), "float32")}
    y = np.array([[1.0], [0.0], [0.0], [1.0]], "float32")
    with guest(tmp_path, "kbench_native.twin", "kbench_native.framework", "scores") as (module, native, scores):
        twin = module.Twin(str(tmp_path / "twin.py"), False, 7)
        twin.build(twin.drawn())
        twin.compile({"class_name": "SGD", "learning_rate": 0.25}, "binary_crossentropy")
        framework, clock = native.AnyFramework(np), SimpleNamespace(begin=id, finish=id)
        logs = framework.train_epoch(twin, 1, {"x": x, "y": y, "batch_size": 2}, clock, [])
        found = framework.evaluate(twin, x, y, batch_size=2)
        by_hand = scores.binary_crossentropy(twin.predict(x, 2), y)
    assert twin.state()[0]["seen"] == [(["a", "b"], 2), (["a", "b"], 2)]
    assert logs == {"loss": 0.25, "accuracy": 0.5}
    assert found == {"loss": by_hand, "accuracy": 0.75}


def test_workers_are_told_to_a_twin_that_knows_them_and_refused_by_one_that_does_not(tmp_path: Any) -> None:
    (tmp_path / "twin.py").write_text("LAYERS = []\nCONTEXTS = [0]\n")
    with guest(tmp_path, "kbench_native.twin", "protocol") as (module, protocol):
        twin = module.Twin(str(tmp_path / "twin.py"), False, 7)
        twin.set_in_file("CONTEXTS", [0, 1])
        assert twin._file.CONTEXTS == [0, 1]
        with pytest.raises(protocol.Refused, match="the twin has no DEVICES, which its workers would be"):
            twin.set_in_file("DEVICES", [0, 1])
