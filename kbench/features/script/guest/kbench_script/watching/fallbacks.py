"""What trains in a slower way than Keras could: eager steps, and recurrent layers without a fused kernel."""

from typing import TYPE_CHECKING, Any, List, Sequence, Tuple

import keras

from kbench_guest.frameworks.layers import layers, owners

if TYPE_CHECKING:
    from kbench_guest.frameworks.keras_models import KerasModels

HAVE_KERNELS = ("LSTM", "GRU")  # cuDNN's, on GPUs
FEWER = {"jax": ("LSTM",)}  # of a backend that has not both
# What these kernels compute, in the words of a layer's configuration. For anything else Keras loops.
COMPUTED = {
    "activation": "tanh", "recurrent_activation": "sigmoid", "use_bias": True, "unroll": False,
    "recurrent_dropout": 0, "reset_after": True, "use_cudnn": "auto",
}  # fmt: skip


def fallbacks(framework: "KerasModels", model: Any) -> List[str]:
    """[a sentence without its full stop] on each; none is known of Keras 2 but on TensorFlow 2."""
    if not framework.eager:
        return []
    backend = keras.backend.backend()
    on_gpu = bool(model.weights) and framework.device(model) == "gpu"
    found = []
    if backend != "torch" and getattr(model, "run_eagerly", False):
        found.append("run_eagerly starts each operation of a step from Python")
    elif backend == "torch" and model.jit_compile:
        return found
    for name, has_kernel, why in loops(model, FEWER.get(backend, HAVE_KERNELS), on_gpu):
        if backend == "torch":
            found.append(f"{name} starts each operation of each time step from Python: {why}")
        elif on_gpu and has_kernel:  # elsewhere its loop is compiled, and nothing faster is known
            found.append(f"{name} computes one time step after another: {why}")
    return found


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
