"""Makes the cases of public names from their signatures: the same for all backends of a generation of Keras.

Each name once with what it has to be given, and once for each setting that is likely to change its result. What an
argument gets depends on its name and its default alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from kbench.coverage.values import ProbeCase
from kbench.reported import Public

# What a layer or function is tried with: kind and shape of each array, as kbench_guest.drivers.probes draws them.
INPUTS: Mapping[str, tuple[tuple[str, tuple[int, ...]], ...]] = {
    "image": (("floats", (2, 6, 6, 3)),),
    "sequence": (("floats", (2, 5, 3)),),
    "vectors": (("floats", (3, 4)),),
    "volume": (("floats", (2, 4, 4, 4, 3)),),
    "whole numbers": (("integers", (2, 5)),),
    "two vectors": (("floats", (3, 4)), ("floats", (3, 4))),
    "two sequences": (("floats", (2, 5, 3)), ("floats", (2, 5, 3))),
    "masked sequence": (("masked", (2, 5, 3)),),
    "definite matrix": (("definite", (3, 3)),),
    "two matrices": (("definite", (3, 3)), ("floats", (3, 3))),
    "three matrices": (("definite", (3, 3)), ("floats", (3, 3)), ("floats", (3, 3))),
    "two whole numbers": (("integers", (2, 5)), ("integers", (2, 5))),
    "two booleans": (("booleans", (2, 5)), ("booleans", (2, 5))),
    "booleans": (("booleans", (2, 5)),),
    "probabilities": (("probabilities", (4, 5)), ("probabilities", (4, 5))),
    "labels": (("integers", (4,)), ("probabilities", (4, 5))),
    "numbers and indices": (("floats", (5, 3)), ("integers", (4,))),
    "numbers": (("floats", (5, 3)), ("floats", (5, 2))),
    "nothing": (),
}
OF_LAYERS = ("image", "sequence", "vectors", "volume", "whole numbers")
OF_SEVERAL = ("two sequences", "two vectors")
OF_FUNCTIONS: Mapping[int, tuple[str, ...]] = {
    0: ("nothing",),
    1: ("definite matrix", "image", "sequence", "whole numbers", "booleans"),
    2: ("two matrices", "two whole numbers", "two booleans"),
    3: ("three matrices",),
}
OF_MODULES = ("losses", "metrics")
FIRST = {
    "layers.Embedding": ("whole numbers",),
    "layers.CategoryEncoding": ("whole numbers",),
    "layers.Masking": ("masked sequence",),
    "ops.one_hot": ("whole numbers",),
    "ops.take": ("numbers and indices",),
    **dict.fromkeys(("layers.Attention", "layers.AdditiveAttention", "layers.Dot"), OF_SEVERAL),
}

_LSTM = {"of": "layers.LSTM", "settings": {"units": 3, "return_sequences": True}}
_CELL = {"of": "layers.LSTMCell", "settings": {"units": 3}}
_DENSE = {"of": "layers.Dense", "settings": {"units": 3}}
# What has to be given, by the argument's name; before that, by the name of what it is given to.
GIVEN: Mapping[str, Any] = {
    "units": 3, "filters": 2, "kernel_size": 3, "pool_size": 2, "rate": 0.3, "stddev": 0.3, "n": 2, "dims": [2, 1],
    "target_shape": [-1], "input_dim": 6, "output_dim": 3, "axes": 1, "layer": _DENSE, "cell": _CELL, "num_heads": 2,
    "key_dim": 3, "height": 4, "width": 4, "scale": 0.5, "num_tokens": 6, "theta": 0.5, "head_dim": 3, "num_bins": 4,
    "num_query_heads": 2, "num_key_value_heads": 1, "bin_boundaries": [-0.5, 0.0, 0.5], "num_classes": 4, "k": 2,
    "max_length": 10, "value": 0.5, "factor": 0.1, "shape": [200, 150], "axis": 0, "axis1": 0, "axis2": 1,
    "dtype": "float32", "repeats": 2, "shift": 1, "pad_width": 1, "num": 5, "start": 0, "stop": 4, "newshape": [-1],
    "source": 0, "destination": 1, "num_segments": 4, "size": [4, 4], "sequence_length": 2, "sequence_stride": 1,
    "alpha": 1.5, "beta": 2.0, "counts": 5.0, "probabilities": 0.4, "num_samples": 200, "num_thresholds": 20,
    "min_value": 0.1, "max_value": 0.8, "target_class_ids": [0, 1], "recall": 0.5, "precision": 0.5,
    "sensitivity": 0.5, "specificity": 0.5, "x_min": -0.5, "x_max": 0.5, "q": 0.3, "indices_or_sections": 3,
    "reps": 2, "subscripts": "ij", "N": 3, "M": 3, "fft_length": 8,
}  # fmt: skip
OF_NAME: Mapping[str, Mapping[str, Any]] = {
    "layers.Bidirectional": {"layer": _LSTM},
    "layers.ConvLSTM1D": {"kernel_size": 2},
    "layers.ConvLSTM2D": {"kernel_size": 2},
    "layers.ConvLSTM3D": {"kernel_size": 2},
    "layers.Permute": {"dims": [2, 1, 3]},
    "layers.Normalization": {"mean": 0.2, "variance": 0.5},  # which it would have to be adapted for
    "ops.geomspace": {"start": 1, "stop": 4},
    "random.randint": {"minval": 0, "maxval": 9},
    "layers.StackedRNNCells": {"cells": [_CELL, _CELL]},
}
# Values of what may be given; a flag is also turned, and another number halved.
VARIED: Mapping[str, tuple[Any, ...]] = {
    "padding": ("same", "causal", 1), "strides": (2,), "dilation_rate": (2,), "data_format": ("channels_first",),
    "activation": ("relu", "tanh"), "recurrent_activation": ("hard_sigmoid",), "depth_multiplier": (2,),
    "groups": (2,), "merge_mode": ("sum", "ave"), "interpolation": ("bilinear",), "axis": (1,), "cropping": (1,),
    "size": (2,), "score_mode": ("concat",), "value_dim": (2,), "reduction": ("sum",), "label_smoothing": (0.1,),
    "momentum": (0.5,), "clipnorm": (0.1,), "clipvalue": (0.01,), "weight_decay": (0.1,), "implementation": (1,),
}  # fmt: skip
KEPT = frozenset({
    "trainable", "stateful", "sparse", "ragged", "dynamic", "autocast", "dtype", "name", "seed", "use_ema",
    "jit_compile", "loss_scale_factor", "gradient_accumulation_steps", "ema_momentum", "weighted", "from_logits",
    "ema_overwrite_frequency", "input_length", "flash_attention", "max_norm", "thresholds", "use_locking",
    "synchronized", "sorted", "dropout", "recurrent_dropout",
})  # fmt: skip
ARRAYS = frozenset({
    "x", "x1", "x2", "inputs", "input", "a", "b", "y", "tensor", "tensors", "array", "values", "operand", "image",
    "images", "logits", "indices", "target", "output", "y_true", "y_pred", "condition", "arrays", "xs", "w", "v",
    "matrix", "data",
})  # fmt: skip
LISTS = frozenset({"arrays", "xs", "tensors"})
# They draw their own numbers.
RANDOM = ("random.*", "initializers.*")
EXACT = ("initializers.Zeros", "initializers.Ones", "initializers.Constant", "initializers.Identity")
SEQUENCES = ("RNN", "LSTM", "GRU", "Bidirectional", "Attention", "TimeDistributed")


def chosen(names: Sequence[str], only: str) -> list[str]:
    """The names that are like one of the comma-separated patterns; all if there are none."""
    patterns = [one.strip() for one in only.split(",") if one.strip()] or ["*"]
    return [name for name in names if any(fnmatchcase(name, one) for one in patterns)]


def make(public: Mapping[str, Public], only: str = "", quick: bool = False) -> list[ProbeCase]:
    """The cases of the chosen names, numbered; `quick`: each name once. A name without a known value has none."""
    found: list[ProbeCase] = []
    for name in chosen(sorted(public), only):
        for case in _of_name(public[name], len(found)):
            found.append(case)
            if quick:
                break
    return found


def _of_name(about: Public, number: int) -> Iterator[ProbeCase]:
    module, _, name = about.name.partition(".")
    special = OF_NAME.get(about.name, {})
    takes_arrays = about.parameters and name[:1].islower() and module not in ("layers", "optimizers")
    arrays = [one for one, needed, _ in about.parameters if takes_arrays and one in ARRAYS and needed]
    if LISTS & {*arrays}:
        return
    settings: dict[str, Any] = {}
    for argument, needed, _ in about.parameters:
        if argument in special or (needed and argument not in arrays):
            value = special.get(argument, GIVEN.get(argument))
            if value is None:
                return
            settings[argument] = value
    apart = module == "layers" and len(about.called or ()) > 1
    inputs = FIRST.get(about.name) or _inputs(module, name, arrays, apart)
    drawn = any(fnmatchcase(about.name, one) for one in RANDOM) and about.name not in EXACT
    weights = (0.1, 0.6) if "Normalization" in name else (-0.5, 0.5)  # among them is a variance

    def case(more: Mapping[str, Any], masked: bool = False) -> ProbeCase:
        nonlocal number
        number += 1
        given = ("masked sequence",) if masked else inputs
        return ProbeCase(
            number - 1, about.name, {**settings, **more}, given, tuple(arrays), apart, masked, drawn, weights
        )

    yield case({})
    for argument, needed, default in about.parameters:
        if not needed and argument not in KEPT and argument not in settings:
            yield from (case({argument: value}) for value in _others(name, argument, default))
    if module == "layers" and any(part in name for part in SEQUENCES) and not apart and "Cell" not in name:
        yield case({}, masked=True)


def _inputs(module: str, name: str, arrays: Sequence[str], apart: bool) -> tuple[str, ...]:
    if module == "layers":
        return OF_SEVERAL if apart else (*OF_LAYERS, *OF_SEVERAL)
    if module == "optimizers":
        return ("numbers",)
    if module in OF_MODULES or {*arrays} in ({"target", "output"}, {"y_true", "y_pred"}):
        return ("probabilities", "labels")
    if arrays == ["inputs"]:  # of poolings and the like
        return OF_LAYERS
    if not arrays and module not in ("initializers", "random", "ops"):  # an object that is called with an array
        return OF_FUNCTIONS[1]
    return OF_FUNCTIONS.get(len(arrays), ())


def _others(name: str, argument: str, default: Any) -> Sequence[Any]:
    """Other values than the default that an argument of `name` may have."""
    if argument in VARIED:
        only = {"causal": "Conv1D", 1: "ZeroPadding"} if argument == "padding" else {}
        return [value for value in VARIED[argument] if value != default and only.get(value, "") in name]
    if isinstance(default, bool):
        return [not default]
    if isinstance(default, float):
        return [default / 2 if default else 0.1]
    return []
