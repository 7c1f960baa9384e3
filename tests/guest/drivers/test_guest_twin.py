"""A twin's initial weights, and what its weights are called."""

from __future__ import annotations

from typing import Any

from guest_modules import guest

TWIN = """
NORMAL = ("RandomNormal", {"stddev": 0.01})
INITIALIZERS = {"Dense": (NORMAL, "Zeros"), "Conv2D": ("HeNormal",)}
LAYERS = [("Dense", (300, 40), (40,)), ("Conv2D", (3, 3, 16, 32)), ("Dense", (300, 40), (40,))]
"""


def test_its_initializers_are_keras_own_with_their_settings(tmp_path: Any) -> None:
    (tmp_path / "twin.py").write_text(TWIN)
    with guest(tmp_path, "drivers.twin", "proof.initializers") as (module, initializers):
        kernel, bias, alone, other, _ = module.Twin(str(tmp_path / "twin.py"), False, 7).drawn()
        expected = initializers.draw("RandomNormal", {"stddev": 0.01}, (300, 40), initializers.stream(7, 0, 0))
    assert kernel.tobytes() == expected.astype("float32").tobytes() and not bias.any()
    assert alone.shape == (3, 3, 16, 32) and (kernel != other).any()


def test_its_weights_are_called_as_keras_calls_them_and_averages_are_not_trained(tmp_path: Any) -> None:
    with guest(tmp_path, "drivers.twin", "drivers.native_parity") as (module, native_parity):
        assert module.weight_names("Conv2D", 1) == ["kernel"]
        assert module.weight_names("GRU", 3) == ["kernel", "recurrent_kernel", "bias"]
        assert module.weight_names("Embedding", 1) == ["embeddings"]
        assert module.weight_names("Of my own", 4)[3] == "weight 3"
        roles = native_parity.roles("BatchNormalization", 4)
    assert [(one["name"], one["trained"]) for one in roles] == [
        ("gamma", True),
        ("beta", True),
        ("moving_mean", False),
        ("moving_variance", False),
    ]
