"""The recurrent layers of a Keras 3 model that loop over time steps, and why no fused kernel computes all at once."""

from typing import Any, List, Sequence, Tuple

import keras

from kbench_guest.frameworks.layers import layers, owners

HAVE_KERNELS = ("LSTM", "GRU")  # cuDNN's, on GPUs
# What these kernels compute, in the words of a layer's configuration. For anything else Keras loops.
COMPUTED = {
    "activation": "tanh", "recurrent_activation": "sigmoid", "use_bias": True, "unroll": False,
    "recurrent_dropout": 0, "reset_after": True, "use_cudnn": "auto",
}  # fmt: skip


def loops(model: Any, kernels: Sequence[str], on_gpu: bool) -> List[Tuple[str, bool, str]]:
    """[(layer in words, whether it is an LSTM or a GRU, why it loops)] of the layers that are known to loop.

    kernels: the classes that have a fused kernel on this backend's GPUs.
    """
    found = []
    for layer, _ in layers(model):
        inner = next((one for one in owners(layer) if isinstance(one, keras.layers.RNN)), None)
        why = "" if inner is None else _why(inner, kernels, on_gpu)
        if why:
            name = f"{layer.name} ({inner.__class__.__name__})"
            found.append((name, _is_one(inner, HAVE_KERNELS), why))
    return found


def _why(layer: Any, kernels: Sequence[str], on_gpu: bool) -> str:
    if not _is_one(layer, kernels):
        return "Keras has no fused kernel for it"
    if not on_gpu:
        return "Keras has no fused kernel for it on the CPU"
    held = layer.get_config()
    others = [name for name in sorted(COMPUTED) if held.get(name, COMPUTED[name]) != COMPUTED[name]]
    settings = ", ".join(f"{name}={held[name]!r}" for name in others)
    return f"the fused kernel cannot compute {settings}" if others else ""


def _is_one(layer: Any, names: Sequence[str]) -> bool:
    return isinstance(layer, tuple(getattr(keras.layers, name) for name in names))
