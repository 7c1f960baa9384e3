"""What arguments of public names get, by their names and defaults alone: what has to be given, and other values.

Numbers are generic: at 1, 2 or 0.5 many formulas agree, and rounding to a digit changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any


def _python(code: str) -> dict[str, str]:
    """A setting that JSON cannot have: an expression of keras and np."""
    return {"python": code}


_LSTM = _python("keras.layers.LSTM(4, return_sequences=True)")
_CELL = _python("keras.layers.LSTMCell(4)")
_DENSE = _python("keras.layers.Dense(4)")
# What has to be given, by the argument's name; before that, by the name of what it is given to.
GIVEN: Mapping[str, Any] = {
    "units": 4, "filters": 4, "kernel_size": 3, "pool_size": 2, "rate": 0.3142, "stddev": 0.37, "n": 2,
    "dims": [2, 1], "target_shape": [-1], "input_dim": 6, "output_dim": 3, "axes": 1, "layer": _DENSE, "cell": _CELL,
    "num_heads": 4, "key_dim": 7, "height": 4, "width": 3, "scale": 0.37, "num_tokens": 6, "theta": 0.37,
    "head_dim": 6, "num_bins": 4, "num_query_heads": 4, "num_key_value_heads": 2, "bin_boundaries": [-0.5, 0.0, 0.5],
    "num_classes": 4, "k": 2, "max_length": 10, "value": 0.37, "factor": 0.137, "shape": [200, 150], "axis": 0,
    "axis1": 0, "axis2": 1, "dtype": "float32", "repeats": 2, "shift": 1, "pad_width": 1, "num": 5, "start": 0,
    "stop": 4, "newshape": [-1], "source": 0, "destination": 1, "num_segments": 4, "size": [4, 4],
    "sequence_length": 2, "sequence_stride": 1, "alpha": 1.37, "beta": 1.9, "counts": 5.0, "probabilities": 0.37,
    "num_samples": 200, "num_thresholds": 20, "min_value": 0.137, "max_value": 0.83, "target_class_ids": [0, 1],
    "recall": 0.37, "precision": 0.37, "sensitivity": 0.37, "specificity": 0.37, "x_min": -0.37, "x_max": 0.41,
    "q": 0.37, "indices_or_sections": 3, "reps": 2, "N": 3, "M": 3, "fft_length": 8, "activation": "tanh",
    "output_size": 2, "height_factor": 0.23, "width_factor": 0.17, "block_size": 2, "threshold": 0.137,
    "default_value": 7.0, "fill_value": 0.37,
    "start_indices": [1, 0], "max_val": 1.9, "equation": "abc,cd->abd", "output_shape": [None, 3],
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
    "ops.image.affine_transform": {"transform": _python(
        "np.float32([[1.1, 0.1, 0.2, -0.05, 0.9, 0.3, 0.001, 0.002], [0.9, -0.1, 0.4, 0.1, 1.2, -0.3, 0, 0.01]])"
    )},
    "ops.image.crop_images": {"top_cropping": 1, "left_cropping": 2, "bottom_cropping": 2, "right_cropping": 1},
    "ops.image.extract_patches": {"size": [2, 3]},
    "ops.image.extract_patches_3d": {"size": [2, 3, 1]},
    "ops.image.map_coordinates": {
        "coordinates": _python("np.random.RandomState(7).uniform(-1, 6, (2, 7)).astype('float32')"), "order": 1
    },
    "ops.image.pad_images": {"top_padding": 1, "left_padding": 2, "bottom_padding": 3, "right_padding": 1},
    "ops.image.perspective_transform": {
        "start_points": _python("np.float32([[[0, 0], [0, 5], [5, 0], [5, 5]]] * 2)"),
        "end_points": _python("np.float32([[[1, 0], [0, 4], [4, 1], [5, 5]], [[0, 1], [1, 5], [5, 0], [4, 4]]])"),
    },
    "ops.image.resize": {"size": [4, 7]},
    "ops.image.scale_and_translate": {
        "output_shape": [2, 8, 4, 3], "scale": _python("np.float32([1.37, 0.71])"), "spatial_dims": [1, 2],
        "translation": _python("np.float32([0.31, -0.17])"), "method": "linear",
    },
    "ops.image.ssim": {"filter_size": 3},
    "ops.istft": {"sequence_length": 8, "sequence_stride": 4},
    "ops.geomspace": {"start": 1, "stop": 4},
    "ops.multi_hot": {"num_classes": 4},
    "ops.rearrange": {"pattern": "b t c -> (b c) t"},
    "ops.scatter": {"shape": [6]},
    "ops.scatter_update": {"indices": _python("np.array([[2], [0]])")},
    "ops.slice": {"shape": [2, 2]},
    "ops.stft": {"sequence_length": 8, "sequence_stride": 4},
    "ops.take_along_axis": {"axis": 0},
    "ops.unfold": {"kernel_size": 2},
    "ops.unravel_index": {"shape": [2, 3]},
    "ops.view": {"dtype": "int16"},
    "random.randint": {"minval": 0, "maxval": 9},
}  # fmt: skip
_PAD = {"padding": "same"}
# Values of what may be given, by the argument's name or by both names; a mapping has several settings. A flag is also
# turned, and another number gets two generic values.
VARIED: Mapping[str, tuple[Any, ...]] = {
    "padding": ("same", "causal"), "strides": (2, {**_PAD, "strides": 2}), "dilation_rate": (2,),
    "data_format": ("channels_first",), "activation": ("relu", "tanh"), "recurrent_activation": ("hard_sigmoid",),
    "depth_multiplier": (2,), "groups": ({"groups": 3, "filters": 3},), "merge_mode": ("sum", "ave", "mul"),
    "interpolation": ("bilinear", "nearest", "bicubic"),
    "fill_mode": ("constant", "nearest", "wrap", "reflect"), "axis": (1, [-1, -2], 0), "cropping": (1,), "size": (2,),
    "score_mode": ("concat",),
    "value_dim": (7,), "reduction": ("sum",), "label_smoothing": (0.137,), "kernel_size": (2,), "pool_size": (3,),
    "momentum": (0.37, 0.83),
    "clipnorm": (0.137,), "global_clipnorm": (0.137,), "clipvalue": (0.037,), "weight_decay": (0.037,),
    "use_ema": ({"use_ema": True, "ema_momentum": 0.83, "ema_overwrite_frequency": 3},),
    "gradient_accumulation_steps": (3,), "implementation": (1,), "learning_rate": (0.037,), "lr": (0.037,),
    "epsilon": (0.137,), "offset": (1, -1), "decimals": (1,), "side": ("right",), "initial": (0.37,),
    "max_value": (0.37,), "negative_slope": (0.037,),
    "method": ("lower", "nearest"), "bins": (4,), "num_segments": (5,), "bias_axes": ("d",), "ord": (1,),
    "order": (1,), "strategy": ("beam_search",), "backward_layer": (_python(
        "keras.layers.LSTM(4, return_sequences=True, go_backwards=True, activation='relu')"
    ),),
    "q": (0.137, [0.2, 0.83], 0.703),
    # What is None by default, and words.
    "ignore_class": (1,), "class_id": (1,), "top_k": (2,), "thresholds": ([0.2, 0.37, 0.83],),
    "average": ("micro", "macro", "weighted"), "gamma": (0.37, 2.9), "threshold": (0.37, 0.83),
    "class_aggregation": (None, "variance_weighted_average"), "curve": ("PR", "PRGAIN"),
    "summation_method": ("minoring", "majoring"), "output_mode": ("one_hot", "multi_hot", "count"),
    "window": ("hamming",), "scaling": ("spectrum",), "distribution": ("uniform", "untruncated_normal"),
    "standardize": ("lower",), "split": ("character",), "max_tokens": (5,), "salt": (7,), "mask_value": (1,),
    "input_axes": ({"input_axes": [0, 1], "output_axes": [1]},), "sliding_window": (2,), "shared_axes": ([1],),
    "logit_soft_cap": (1.9,), "attn_logits_soft_cap": (1.9,), "M": (5,), "fft_length": (6,), "length": (17,),
    "rcond": (0.37,), "tol": (0.9,), "posinf": (7.0,), "neginf": (-7.0,), "constant_values": (0.37,),
    "range": ([-0.5, 0.5],), "axes": ([1, 0],), "renorm_clipping": (
        {"renorm": True, "renorm_clipping": _python("{'rmin': 0.9, 'rmax': 1.1, 'dmax': 0.1}")},
    ),
    "label_weights": ({"multi_label": True, "num_labels": 5, "label_weights": [0.1, 0.2, 0.3, 0.4, 0.5]},),
    "layers.RandomErasing.fill_value": (0.37,), "layers.RandomFlip.mode": ("horizontal", "vertical"),
    "layers.STFTSpectrogram.mode": ("magnitude", "psd", "real", "imag", "angle", "stft"),
    "layers.MelSpectrogram.max_freq": (3000,), "layers.MelSpectrogram.sequence_length": (12,),
    "layers.MultiHeadAttention.output_shape": (7,),
    "initializers.VarianceScaling.mode": ("fan_out", "fan_avg"), "ops.qr.mode": ("complete",),
    "regularizers.OrthogonalRegularizer.mode": ("columns",),
    "losses.circle.ref_labels": (
        {"ref_labels": _python("np.array([0, 1, 2])"), "ref_embeddings": _python("np.eye(3, 5, dtype='float32')")},
    ),
    "ops.arange.stop": ({"stop": 7},), "ops.arange.step": ({"stop": 9, "step": 2},),
    "ops.dot_product_attention.bias": (
        _python("np.random.RandomState(7).uniform(-1, 1, (2, 2, 5, 5)).astype('float32')"),
    ),
    "ops.layer_normalization.gamma": (_python("np.float32([0.5, 1.5, 2.5])"),),
    "ops.layer_normalization.beta": (_python("np.float32([0.5, 1.5, -2.5])"),),
    "ops.batch_normalization.scale": (_python("np.float32([0.5, 1.5, 2.5])"),),
    "ops.batch_normalization.offset": (_python("np.float32([0.5, 1.5, -2.5])"),),
    "ops.rms_normalization.scale": (_python("np.float32([0.5, 1.5, 2.5])"),),
    "ops.multi_hot.num_classes": (5,), "ops.vander.N": (3,), "ops.where.x1": ({"x1": 0.37, "x2": -1.9},),
    "layers.GroupNormalization.groups": (3,),
    "layers.CategoryEncoding.output_mode": ("count",),
    "layers.RNN.cell": (_python("keras.layers.GRUCell(4)"), _python("keras.layers.SimpleRNNCell(4)")),
    "layers.CenterCrop.width": (9,),  # more than the inputs have
    "layers.IntegerLookup.num_oov_indices": (3, {"num_oov_indices": 0, "vocabulary": [3, 0, 2, 1]}),
    "layers.StringLookup.num_oov_indices": (3, {"num_oov_indices": 0, "vocabulary": ["fish", "cat", "dog"]}),
    "metrics.R2Score.num_regressors": (3, 39, 41),  # of forty numbers: 39 leave none over
    "layers.Dot.axes": (2,),
    "ops.fold.dilation": ({"dilation": 2, "output_size": [5, 5]},),
    "ops.average.weights": (_python("np.arange(9.0, dtype='float32').reshape(3, 3)"),),
    "ops.bincount.weights": (_python("np.arange(10.0, dtype='float32')"),),
    "ops.clip.x_min": (-0.137,),
    "output_padding": ({"strides": 2, "output_padding": 1},),
    "ops.correlate.mode": ("same", "full"),
    "ops.diagflat.k": (1, -1),
    "ops.diag.k": (1, -1), "ops.eye.k": (1, -1), "ops.tri.k": (1, -1), "ops.tril.k": (1, -1), "ops.triu.k": (1, -1),
    "ops.dot_product_attention.mask": (_python("np.tril(np.ones((1, 1, 5, 5), bool))"),),
    "ops.dot_product_attention.scale": (0.37,),
    "optimizers.SGD.learning_rate": (0.037, *(
        _python(f"keras.optimizers.schedules.{one}") for one in (
            "CosineDecay(0.037, 7, alpha=0.19, warmup_target=0.083, warmup_steps=3)",
            "CosineDecayRestarts(0.037, 3, t_mul=1.37, m_mul=0.83, alpha=0.19)",
            "ExponentialDecay(0.037, 3, 0.71)", "ExponentialDecay(0.037, 3, 0.71, staircase=True)",
            "InverseTimeDecay(0.037, 3, 0.71)", "InverseTimeDecay(0.037, 3, 0.71, staircase=True)",
            "PiecewiseConstantDecay([3, 5], [0.037, 0.019, 0.0083])",
            "PolynomialDecay(0.037, 7, 0.0019, power=1.37)",
            "PolynomialDecay(0.037, 4, 0.0019, power=1.37, cycle=True)",
        )
    )),
    **{
        f"ops.image.{name}.{side}_{how}": ({f"{side}_{how}": None, f"target_{of}": size},)
        for name, how, size in (("crop_images", "cropping", 3), ("pad_images", "padding", 11))
        for side, of in (("top", "height"), ("bottom", "height"), ("left", "width"), ("right", "width"))
    },
    "ops.image.map_coordinates.order": (0,),
    "ops.image.scale_and_translate.method": ("cubic", "lanczos3"),
    "ops.pad.mode": ("reflect", "symmetric"),
    "ops.rot90.k": (2,),
    "ops.scatter_update.reduction": ("add", "max", "min", "mul"),
    "ops.stft.window": ("hamming", None),
    "ops.unfold.dilation": (2,),
    "random.binomial.counts": (3.0, 8.0),
    "ops.trapezoid.x": (_python("np.array([0.0, 1.0, 3.0], 'float32')"),),
}  # fmt: skip
# What acts on weights: that of all weights together; the last of many outputs, whose sum is large.
OF_WEIGHTS: Mapping[str, Any] = {
    "_regularizer": _python("keras.regularizers.l2(0.137)"),
    "_constraint": _python("keras.constraints.MaxNorm(0.37)"),
    "activity_regularizer": _python("keras.regularizers.l2(0.00137)"),
}
KEPT = frozenset({
    "trainable", "stateful", "sparse", "ragged", "dynamic", "autocast", "dtype", "name", "seed", "jit_compile",
    "loss_scale_factor", "ema_momentum", "weighted",
    "ema_overwrite_frequency", "input_length", "muon_a", "muon_b", "muon_c",
    "flash_attention", "max_norm", "use_locking",
    "synchronized", "sorted", "dropout", "recurrent_dropout",
})  # fmt: skip


# Tuples with unequal entries, for as many axes as the name says.
UNEQUAL: Mapping[str, Sequence[Any]] = {
    "kernel_size": (2, 3, 1), "pool_size": (3, 2, 1), "strides": (2, 1, 3), "dilation_rate": (1, 2, 1),
    "size": (2, 3, 1), "cropping": ([1, 0], [0, 1], [1, 1]), "padding": ([0, 2], [1, 0], [2, 1]),
}  # fmt: skip
EXCLUSIVE = (  # of which one may be given
    ("strides", "dilation_rate"),
    ("bias", "mask"),
    ("crop_to_aspect_ratio", "pad_to_aspect_ratio"),
    ("clipnorm", "clipvalue", "global_clipnorm"),
)
INTEGERS = (3, 5)


def others(name: str, argument: str, default: Any) -> list[dict[str, Any]]:
    """The settings with other values than the default that an argument of `name` may have."""
    values: Sequence[Any] | None = VARIED.get(f"{name}.{argument}", VARIED.get(argument))
    if argument == "padding" and values is not None and not isinstance(default, str):
        values = (1 if default != 1 else 2,)
    elif argument == "padding" and values is not None:
        values = tuple(value for value in values if value != "causal" or ".Conv1D" in name)
    elif argument == "strides" and "pool" in name.lower():  # whose default is the size of the pool
        values = (1, {**_PAD, "strides": 1}, {**_PAD, "strides": 3})
    elif values is None:
        values = _generic(default)
    unequal = [] if isinstance(default, str) else _unequal(name, argument)
    found = [value for value in (*values, *unequal) if value != default]
    if argument == "axis" and not name.startswith("ops."):  # layers take several in a list, others none
        several = [_python(f"{one}") for one in found if isinstance(one, list) and name.startswith("layers.")]
        found = [*found[:1], *several, *(one for one in found[1:] if not isinstance(one, list))]
    return [{**one} if isinstance(one, Mapping) and "python" not in one else {argument: one} for one in found]


def _generic(default: Any) -> Sequence[Any]:
    """Another flag; two numbers of the same kind: of a share near 1 others, else a third and twice as much."""
    if isinstance(default, bool):
        return (not default,)
    if isinstance(default, int):
        return INTEGERS
    if not isinstance(default, float):
        return ()
    if default == 0:
        return 0.37, 0.83
    if 0.5 < default < 1:
        return tuple(round(1 - factor * (1 - default), 7) for factor in (0.37, 1.9))
    return tuple(float(f"{factor * default:.4g}") for factor in (0.37, 1.9))


def _unequal(name: str, argument: str) -> list[list[Any]]:
    axes = next((number for number in (2, 3) if f"{number}D" in name), 0)
    return [list(UNEQUAL[argument][:axes])] if axes and argument in UNEQUAL else []


def pairs(varied: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[dict[str, Any]]:
    """Settings such that each two arguments are once both changed, and once each of them without the other: in which
    of them an argument is changed says a digit of its number, in base 2. varied: the settings of each argument.
    """
    for digit in range(max(len(varied) - 1, 0).bit_length()):
        for changed in (1, 0):
            yield _together(varied, [number for number in range(len(varied)) if number >> digit & 1 == changed])
    yield _together(varied, range(len(varied)))


def _together(varied: Mapping[str, Sequence[Mapping[str, Any]]], changed: Collection[int]) -> dict[str, Any]:
    """The last setting of each argument that is changed, but one that cannot stand beside those before it."""
    found: dict[str, Any] = {}
    for number, (argument, settings) in enumerate(varied.items()):
        excluded = {one for group in EXCLUSIVE if argument in group for one in group if one != argument}
        if number in changed and not excluded & {*found}:
            found |= {key: value for key, value in settings[-1].items() if key not in found}
    return found
