"""Makes the cases of public names from their signatures: the same for all backends of a generation of Keras.

Each name once with what it has to be given, once for each setting that is likely to change its result, and on inputs
at which implementations part. What an argument gets depends on its name and its default alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from kbench.features.coverage import inputs
from kbench.features.coverage.events import Public
from kbench.features.coverage.values import ProbeCase


def _python(code: str) -> dict[str, str]:
    """A setting that JSON cannot have: an expression of keras and np."""
    return {"python": code}


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
    "layers.CategoryEncoding": ("whole numbers",),
    "layers.Embedding": ("whole numbers",),
    "layers.IntegerLookup": ("whole numbers",),
    "layers.Masking": ("masked sequence",),
    "ops.dtype": ("whole numbers",),
    "ops.multi_hot": ("whole numbers",),
    "ops.one_hot": ("whole numbers",),
    "ops.pad": ("sequence", "definite matrix"),
    "ops.take": ("numbers and indices",),
    **dict.fromkeys(("layers.Attention", "layers.AdditiveAttention", "layers.Dot"), OF_SEVERAL),
    **dict.fromkeys(("ops.average_pool", "ops.max_pool", "ops.adaptive_*_pool", "ops.unfold"), ("image",)),
}

_LSTM = _python("keras.layers.LSTM(3, return_sequences=True)")
_CELL = _python("keras.layers.LSTMCell(3)")
_DENSE = _python("keras.layers.Dense(3)")
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
    "reps": 2, "N": 3, "M": 3, "fft_length": 8, "activation": "tanh", "output_size": 2, "height_factor": 0.2,
    "width_factor": 0.2, "block_size": 2, "threshold": 0.1, "default_value": 7.0, "fill_value": 0.3,
    "start_indices": [1, 0], "max_val": 1.0, "equation": "abc,cd->abd", "output_shape": [None, 3],
    "fn": _python("keras.losses.mean_squared_error"), "function": _python("lambda x: 2 * x + 1"),
    "inner_optimizer": _python("keras.optimizers.SGD()"),
    "optimizer_map": _python("keras.optimizers.OptimizerMap(keras.optimizers.Adam(0.1))"),
    "layers": [_python("keras.layers.Rescaling(0.5)"), _python("keras.layers.Rescaling(1.0, 1.0)")],
    "bins": _python("np.array([-0.5, 0.0, 0.5])"), "normalizer": _python("2 * np.ones((4, 5), 'float32')"),
}  # fmt: skip
_WINDOW = {"x": 7}
OF_NAME: Mapping[str, Mapping[str, Any]] = {
    "layers.Bidirectional": {"layer": _LSTM},
    "layers.CategoryEncoding": {"num_tokens": 6},
    "layers.ConvLSTM1D": {"kernel_size": 2},
    "layers.ConvLSTM2D": {"kernel_size": 2},
    "layers.ConvLSTM3D": {"kernel_size": 2},
    "layers.ConvRNN2D": {"cell": _python("keras.layers.ConvLSTM2DCell(2, 2)")},
    "layers.Discretization": {"bin_boundaries": [-0.5, 0.0, 0.5]},
    "layers.GroupNormalization": {"groups": 2},
    "layers.IntegerLookup": {"vocabulary": [1, 2]},
    "layers.MelSpectrogram": {"fft_length": 16, "sequence_stride": 8, "num_mel_bins": 4},
    "layers.Normalization": {"mean": 0.2, "variance": 0.5},  # which it would have to be adapted for
    "layers.Permute": {"dims": [2, 1, 3]},
    "layers.RandomPosterization": {"factor": 4},
    "layers.STFTSpectrogram": {"frame_length": 8, "frame_step": 4, "fft_length": 8},
    "layers.StringLookup": {"vocabulary": ["cat", "dog"]},
    "layers.TextVectorization": {"vocabulary": ["cat", "dog"]},
    "ops.bartlett": _WINDOW, "ops.blackman": _WINDOW, "ops.hamming": _WINDOW, "ops.hanning": _WINDOW,
    "ops.kaiser": _WINDOW,
    "ops.batch_normalization": {"axis": -1},
    "ops.broadcast_to": {"shape": [2, 3, 3]},
    "ops.ctc_decode": {"sequence_lengths": _python("np.array([5, 4], 'int32')")},
    "ops.fold": {"output_size": [4, 4], "kernel_size": 2},
    "ops.istft": {"sequence_length": 8, "sequence_stride": 4},
    "ops.geomspace": {"start": 1, "stop": 4},
    "ops.multi_hot": {"num_classes": 4},
    "ops.rearrange": {"pattern": "b t c -> (b c) t"},
    "ops.scatter": {"shape": [6]},
    "ops.scatter_update": {"indices": _python("np.array([[2], [0]])")},
    "ops.slice": {"shape": [2, 2]},
    "ops.stft": {"sequence_length": 8, "sequence_stride": 4},
    "ops.take_along_axis": {"axis": 0},
    "ops.unravel_index": {"shape": [2, 3]},
    "ops.view": {"dtype": "int16"},
    "random.randint": {"minval": 0, "maxval": 9},
}  # fmt: skip
# Of a layer or an optimizer: what makes it. Of others: what is computed from x0, x1, ...; in place of the plain call.
CODE: Mapping[str, tuple[str, ...]] = {
    "initializers.STFT": ("keras.initializers.STFT()((8, 1, 5))", "keras.initializers.STFT('imag')((8, 1, 5))"),
    "layers.StackedRNNCells": (
        "keras.layers.RNN(keras.layers.StackedRNNCells([keras.layers.LSTMCell(3), keras.layers.LSTMCell(2)]))",
    ),
    "ops.argpartition": ("keras.ops.take(x0, keras.ops.argpartition(x0, 2)[2])",),  # the others are in any order
    "ops.associative_scan": ("keras.ops.associative_scan(lambda a, b: a + b, x0)",),
    "ops.cond": tuple(f"keras.ops.cond({flag}, lambda: x0 + 1, lambda: x0 - 1)" for flag in (True, False)),
    "ops.ctc_loss": ("keras.ops.ctc_loss(x0, x1, np.array([2, 3], 'int32'), np.array([5, 4], 'int32'))",),
    "ops.custom_gradient": (
        "keras.ops.custom_gradient(lambda x: (x * x, lambda *args, upstream=None: 7.0 * x))(x0)",
    ),
    "ops.dtype": ("str(keras.ops.dtype(x0)) == 'int32'",),
    "ops.einsum": ("keras.ops.einsum('ij,jk->ik', x0, x1)", "keras.ops.einsum('...ij,kj->...k', x0, x1)"),
    "ops.fori_loop": ("keras.ops.fori_loop(0, 3, lambda i, x: 2 * x - 1, x0)",),
    "ops.get_item": ("keras.ops.get_item(x0, (slice(1, None), 0))",),
    "ops.jvp": ("keras.ops.jvp(lambda x: keras.ops.sin(x) * x, (x0,), (x1,))",),
    "ops.map": ("keras.ops.map(lambda x: 2 * x + 1, x0)",),
    "ops.meshgrid": ("keras.ops.meshgrid(x0[0], x1[1])", "keras.ops.meshgrid(x0[0], x1[1], indexing='ij')"),
    "ops.scan": tuple(f"keras.ops.scan(lambda c, x: (c + x, c * x), x0[0], x0, reverse={r})" for r in (False, True)),
    "ops.select": ("keras.ops.select([x0 > 0.3, x0 > -0.3], [x0, -x0], 7.0)",),
    "ops.switch": ("keras.ops.switch(1, [lambda x: x + 1, lambda x: 2 * x], x0)",),
    "ops.vectorize": ("keras.ops.vectorize(lambda x: 2 * x + 1)(x0)",),
    "ops.vectorized_map": ("keras.ops.vectorized_map(lambda x: keras.ops.sum(x) * x, x0)",),
    "ops.while_loop": ("keras.ops.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, 2 * x - 1), (0, x0))[1]",),
    "initializers.Identity": tuple(f"keras.initializers.Identity({gain})((4, 4))" for gain in (1.0, 0.5)),
    **{  # functions of Keras 2 that make one
        f"initializers.{kind}_{how}": (f"keras.initializers.{kind}_{how}()((200, 150))",)
        for kind in ("glorot", "he", "lecun")
        for how in ("normal", "uniform")
    },
    **{f"regularizers.{one}": (f"keras.regularizers.{one}(0.1)(x0)",) for one in ("l1", "l2", "l1_l2")},
    "random.SeedGenerator": ("keras.random.uniform((200, 150), seed=keras.random.SeedGenerator(3))",),
}
# Names without a case, and why.
WITHOUT: Mapping[str, str] = {
    "layers.InputLayer": "it computes nothing",
    "layers.MaxNumBoundingBoxes": "it takes a dictionary of boxes",
    **dict.fromkeys(
        [f"layers.{one}" for one in ("DenseFeatures", "FlaxLayer", "JaxLayer", "TFSMLayer", "TorchModuleWrapper")]
        + ["optimizers.TFOptimizer"],
        "it wraps what a single framework has",
    ),
}
_PAD = {"padding": "same"}
# Values of what may be given, by the argument's name or by both names; a mapping has several settings. A flag is also
# turned, and another number halved.
VARIED: Mapping[str, tuple[Any, ...]] = {
    "padding": ("same", "causal"), "strides": (2, {**_PAD, "strides": 2}), "dilation_rate": (2,),
    "data_format": ("channels_first",), "activation": ("relu", "tanh"), "recurrent_activation": ("hard_sigmoid",),
    "depth_multiplier": (2,), "groups": ({"groups": 3, "filters": 3},), "merge_mode": ("sum", "ave", "mul"),
    "interpolation": ("bilinear",), "axis": (1,), "cropping": (1,), "size": (2,), "score_mode": ("concat",),
    "value_dim": (2,), "reduction": ("sum",), "label_smoothing": (0.1,), "momentum": (0.5,), "clipnorm": (0.1,),
    "clipvalue": (0.01,), "weight_decay": (0.1,), "implementation": (1,), "learning_rate": (0.1,), "lr": (0.1,),
    "epsilon": (0.1,), "offset": (1,), "decimals": (1,), "side": ("right",), "initial": (0.5,),
    "method": ("lower", "nearest"), "bins": (4,), "num_segments": (5,), "bias_axes": ("d",), "ord": (1,),
    "order": (1,), "strategy": ("beam_search",), "backward_layer": (_python(
        "keras.layers.LSTM(3, return_sequences=True, go_backwards=True, activation='relu')"
    ),),
    "layers.GroupNormalization.groups": (3,),
    "layers.CategoryEncoding.output_mode": ("count",),
    "layers.RNN.cell": (_python("keras.layers.GRUCell(3)"), _python("keras.layers.SimpleRNNCell(3)")),
    "ops.average.weights": (_python("np.arange(9.0, dtype='float32').reshape(3, 3)"),),
    "ops.bincount.weights": (_python("np.arange(10.0, dtype='float32')"),),
    "ops.clip.x_min": (0.6,),
    "ops.conv_transpose.output_padding": ({"strides": 2, "output_padding": 1},),
    "ops.correlate.mode": ("same", "full"),
    "ops.diag.k": (1, -1), "ops.eye.k": (1, -1), "ops.tri.k": (1, -1), "ops.tril.k": (1, -1), "ops.triu.k": (1, -1),
    "ops.dot_product_attention.mask": (_python("np.tril(np.ones((1, 1, 5, 5), bool))"),),
    "ops.dot_product_attention.scale": (0.3,),
    "ops.pad.mode": ("reflect", "symmetric"),
    "ops.rot90.k": (2,),
    "ops.scatter_update.reduction": ("add", "max", "min", "mul"),
    "ops.stft.window": ("hamming", None),
    "ops.trapezoid.x": (_python("np.array([0.0, 1.0, 3.0], 'float32')"),),
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
    "matrix", "data", "kernel", "depthwise_kernel", "pointwise_kernel", "mean", "variance", "query", "key", "value",
    "abs_", "angle", "targets", "predictions", "sorted_sequence", "updates", "variable", "segment_ids",
})  # fmt: skip
LISTS = frozenset({"arrays", "xs", "tensors"})
LISTED = ("ops.stack", "ops.fft", "ops.fft2", "ops.ifft2", "ops.irfft", "ops.istft")  # real and imaginary part
# They draw their own numbers.
RANDOM = ("random.*", "initializers.*")
EXACT = tuple(f"initializers.{one}" for one in ("Zeros", "Ones", "Constant", "Identity", "STFT"))
SEQUENCES = (
    "RNN", "LSTM", "GRU", "Bidirectional", "Attention", "TimeDistributed", "GlobalAveragePooling1D", "Concatenate",
)  # fmt: skip
# What else each kind of name is tried on.
OF_ELEMENTS: Mapping[int, tuple[str, ...]] = {1: ("edges",), 2: ("two edges",)}
ALONG_AXIS = ("ties", "edges")
ALONG_AXIS_1 = ("a size of one", "an empty axis")
# There nobody promises what they give: between infinities, in sums of them, and on what is no matrix; the largest
# number of float32 is not that of the reference; and equal numbers may be found in any order.
NO_EDGES = (
    "ops.nextafter", "ops.rfft", "ops.top_k", "ops.tril", "ops.triu", "ops.percentile", "ops.quantile",
    "ops.nanpercentile", "ops.nanquantile",
)  # fmt: skip
FLOAT16 = "float16"


def chosen(names: Sequence[str], only: str) -> list[str]:
    """The names that are like one of the comma-separated patterns; all if there are none."""
    patterns = [one.strip() for one in only.split(",") if one.strip()] or ["*"]
    return [name for name in names if any(fnmatchcase(name, one) for one in patterns)]


def make(public: Mapping[str, Public], only: str = "", quick: bool = False, seed: int = 0) -> list[ProbeCase]:
    """The cases of the chosen names, numbered; `quick`: each name once, its outputs alone. `seed` moves all inputs
    and weights. A name without a known value has none.
    """
    found: list[ProbeCase] = []
    for name in chosen(sorted(public), only):
        for case in _of_name(public[name]):
            found.append(replace(case, id=len(found), seed=seed, outputs_only=quick or case.outputs_only))
            if quick:
                break
    return found


def _of_name(about: Public) -> Iterator[ProbeCase]:
    module, _, name = about.name.partition(".")
    special = OF_NAME.get(about.name, {})
    takes_arrays = about.parameters and name[:1].islower() and module not in ("layers", "optimizers")
    arrays = [
        one for one, needed, _ in about.parameters if takes_arrays and one in ARRAYS and needed and one not in special
    ]
    settings: dict[str, Any] = {}
    code = CODE.get(about.name, ())
    for argument, needed, _ in about.parameters:
        if not code and (argument in special or (needed and argument not in arrays)):
            value = special.get(argument, GIVEN.get(argument))
            if value is None:
                return
            settings[argument] = value
    if about.name in WITHOUT:
        return
    listed = bool(LISTS & {*arrays}) or about.name in LISTED
    apart = len(about.called or ()) > 1 if module == "layers" else not listed
    own = (about.name,) if about.name in inputs.OWN else ()
    first = own or _of_pattern(FIRST, about.name) or _inputs(module, name, arrays, apart)
    drawn = any(fnmatchcase(about.name, one) for one in RANDOM) and about.name not in EXACT
    weights = (0.1, 0.6) if "Normalization" in name else (-0.5, 0.5)  # among them is a variance
    known = {one for one, _, _ in about.parameters}
    trained = any(one.endswith("_initializer") for one in known)
    draws = "seed" in known and not trained  # not a layer with weights, whose dropout is 0
    plain = ProbeCase(
        0, about.name, settings, first, tuple(arrays), apart, random=drawn, draws=draws, weights=weights
    )

    if code:
        yield from (replace(plain, code=one) for one in code)
        return
    yield plain
    for argument, needed, default in about.parameters:
        if argument not in KEPT and (not needed or f"{about.name}.{argument}" in VARIED):
            for one in _others(about.name, argument, settings.get(argument, default)):
                more = one if isinstance(one, Mapping) and "python" not in one else {argument: one}
                yield replace(plain, settings={**settings, **more})
    if module == "layers":
        yield from _more_of_layer(plain, name, known, trained)
    elif module == "optimizers":
        yield replace(plain, inputs=(inputs.REPEATED,))
    elif (module in OF_MODULES or {*arrays} == {"target", "output"}) and not own:
        yield replace(plain, inputs=("certain", "certain labels"), outputs_only=True)
    elif arrays and module in ("ops", "activations") and not listed and about.name not in (*own, *FIRST, *NO_EDGES):
        yield from _more_of_function(plain, known)


def _more_of_layer(plain: ProbeCase, name: str, parameters: Set[str], trained: bool) -> Iterator[ProbeCase]:
    """The layer behind a mask, on ties, on one small sample, on edges and in float16."""
    if any(part in name for part in SEQUENCES) and "Cell" not in name and "Conv" not in name:
        several = plain.apart or plain.inputs == OF_SEVERAL or name == "Concatenate"
        masked = replace(plain, masked=True, inputs=("two masked sequences" if several else "masked sequence",))
        yield masked
        if {"return_sequences", "go_backwards"} <= parameters:
            yield replace(masked, settings={**plain.settings, "return_sequences": True, "go_backwards": True})
    tied = _of_kind(inputs.TIED, plain)
    if tied and not (trained or plain.draws):  # whose gradients depend on how a backend breaks them
        yield replace(plain, inputs=tied)
    small = _of_kind("small", plain)
    if small:
        yield replace(plain, inputs=small, outputs_only=True)
    of_images = bool({"data_format", "value_range"} & parameters)
    if small and not (trained or of_images or plain.settings or plain.inputs == OF_SEVERAL):
        yield replace(plain, inputs=("edges of vectors", "two edges of vectors"), outputs_only=True)
    if any(one != "words" for name in plain.inputs for one, _ in inputs.INPUTS[name]):
        yield replace(plain, dtype=FLOAT16, outputs_only=True)


def _of_kind(kind: str, plain: ProbeCase) -> tuple[str, ...]:
    """The case's inputs, of this kind where there is one."""
    return tuple(f"{kind} {one}" for one in plain.inputs if f"{kind} {one}" in inputs.INPUTS)


def _more_of_function(plain: ProbeCase, parameters: Set[str]) -> Iterator[ProbeCase]:
    """The function on ties, infinities and the like; one along an axis also on an empty one and on one of size 1."""
    outputs = replace(plain, outputs_only=True)
    if len(plain.arrays) == 1 and "axis" in parameters:
        yield from (replace(outputs, inputs=(one,)) for one in ALONG_AXIS)
        along = {**plain.settings, "axis": 1}
        yield from (replace(outputs, inputs=(one,), settings=along) for one in ALONG_AXIS_1)
    else:
        yield from (replace(outputs, inputs=(one,)) for one in OF_ELEMENTS.get(len(plain.arrays), ()))


def _of_pattern(patterns: Mapping[str, tuple[str, ...]], name: str) -> tuple[str, ...]:
    return next((value for one, value in patterns.items() if fnmatchcase(name, one)), ())


def _inputs(module: str, name: str, arrays: Sequence[str], apart: bool) -> tuple[str, ...]:
    if module == "layers":
        return OF_SEVERAL if apart else (*OF_LAYERS, *OF_SEVERAL)
    if module == "optimizers":
        return ("numbers",)
    if module in OF_MODULES or {*arrays} in ({"target", "output"}, {"y_true", "y_pred"}):
        return ("probabilities", "labels")
    if arrays == ["inputs"]:  # of poolings and the like
        return OF_LAYERS
    if LISTS & {*arrays}:
        return ("two matrices",)
    if not arrays and module not in ("initializers", "random", "ops"):  # an object that is called with an array
        return OF_FUNCTIONS[1]
    return OF_FUNCTIONS.get(len(arrays), ())


def _others(name: str, argument: str, default: Any) -> Sequence[Any]:
    """Other values than the default that an argument of `name` may have."""
    values = VARIED.get(f"{name}.{argument}", VARIED.get(argument))
    if values is not None:
        if argument == "padding":
            if not isinstance(default, str):
                return [1 if default != 1 else 2]
            return [value for value in values if value != default and (value != "causal" or ".Conv1D" in name)]
        if argument == "strides" and "pool" in name.lower():  # whose default is the size of the pool
            return (1, {**_PAD, "strides": 1}, {**_PAD, "strides": 3})
        return [value for value in values if value != default]
    if isinstance(default, bool):
        return [not default]
    if isinstance(default, float):
        return [default / 2 if default else 0.1]
    return []
