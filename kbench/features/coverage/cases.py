"""Makes the cases of public names from their signatures: the same for all backends of a generation of Keras.

Each name once with what it has to be given, once for each setting that is likely to change its result, and on inputs
at which implementations part. What an argument gets depends on its name and its default alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from kbench.features.coverage import inputs, refusals
from kbench.features.coverage.arguments import GIVEN, KEPT, OF_NAME, OF_WEIGHTS, UNEQUAL, VARIED, others, pairs
from kbench.features.coverage.events import Public
from kbench.features.coverage.values import ProbeCase

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
    "layers.Masking": ("zeroed sequence",),
    "ops.dtype": ("whole numbers",),
    "ops.multi_hot": ("whole numbers",),
    "ops.one_hot": ("whole numbers",),
    "ops.pad": ("sequence", "definite matrix"),
    "ops.take": ("numbers and indices",),
    "regularizers.*": ("vectors", "definite matrix"),  # not symmetric
    **dict.fromkeys(("layers.Attention", "layers.AdditiveAttention", "layers.Dot"), OF_SEVERAL),
    **dict.fromkeys(("ops.average_pool", "ops.max_pool", "ops.adaptive_*_pool", "ops.unfold"), ("image",)),
}

# Of a layer or an optimizer: what makes it. Of others: what is computed from x0, x1, ...; in place of the plain call.
CODE: Mapping[str, tuple[str, ...]] = {
    "initializers.STFT": ("keras.initializers.STFT()((8, 1, 5))", "keras.initializers.STFT('imag')((8, 1, 5))"),
    "layers.StackedRNNCells": (  # with two states, and with one
        "keras.layers.RNN(keras.layers.StackedRNNCells([keras.layers.LSTMCell(4), keras.layers.GRUCell(7)]))",
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
_DATA = "np.random.RandomState(7).uniform(-1, 3, (7, 5, 3)).astype('float32')"
# Layers whose weights are given, or follow from data that they are adapted to.
OWN_WEIGHTS: Mapping[str, tuple[str, ...]] = {
    "layers.Embedding": ("keras.layers.Embedding(6, 3, weights=[np.arange(18.0).reshape(6, 3)])",),
    "layers.Normalization": tuple(
        f"(lambda layer: layer.adapt({data}) or layer)(keras.layers.Normalization({settings}))"
        for settings in ("", "axis=None", "axis=(1, 2)", "invert=True")
        for data in (_DATA, f"keras.ops.convert_to_tensor({_DATA})")
    ),
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
ARRAYS = frozenset({
    "image1", "image2", "volumes",
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
# They draw some numbers once for a batch, whose moments say little.
OF_A_BATCH = ("layers.AugMix", "layers.RandAugment", "layers.RandomElasticTransform")
# With what a layer draws in training, on numbers between -1 and 1.
DRAWN: Mapping[str, Any] = {"dropout": 0.37, "recurrent_dropout": 0.23, "value_range": [-1, 1]}
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
TRAINED, DTYPES = "mixed_bfloat16", ("float16", "float64")  # that policy is one to train in
MASKED_IN_FIT = "MeanSquaredError"  # a loss and a metric
OF_IMAGES = ("fill_mode", "interpolation")  # words, of which one value is enough for all checks


def chosen(names: Sequence[str], only: str) -> list[str]:
    """The names that are like one of the comma-separated patterns; all if there are none."""
    patterns = [one.strip() for one in only.split(",") if one.strip()] or ["*"]
    return [name for name in names if any(fnmatchcase(name, one) for one in patterns)]


def make(public: Mapping[str, Public], only: str = "", quick: bool = False, seed: int = 0) -> list[ProbeCase]:
    """The cases of the chosen names, numbered; `quick`: a few of each, their outputs alone. `seed` moves all inputs
    and weights. A name without a known value has none.
    """
    found: list[ProbeCase] = []
    for name in chosen(sorted(public), only):
        own = [*_of_name(public[name])]
        more = own and [*refusals.wrong(public[name], own[0]), *_in_fit(own[0])]
        for case in _most_telling(own) if quick else [*own, *more]:
            found.append(replace(case, id=len(found), seed=seed, outputs_only=quick or case.outputs_only))
    return found


def _most_telling(own: Sequence[ProbeCase]) -> list[ProbeCase]:
    """Of a name's cases the plain one, that with most settings, and a metric's on scores, or one behind a mask or in
    training.
    """
    if not own:
        return []
    found = [own[0], max(own, key=lambda one: len(one.settings))]
    on_scores = [one for one in own if one.inputs == inputs.SCORES and one.name.startswith("metrics.")]
    found += (on_scores or [one for one in own if one.masked or one.training])[:1]
    return [one for number, one in enumerate(found) if one not in found[:number]]


def _of_name(about: Public) -> Iterator[ProbeCase]:
    plain = _plain(about)
    if plain is None:
        return
    if code := CODE.get(about.name, ()):
        yield from (replace(plain, code=one) for one in code)
        return
    module, _, name = about.name.partition(".")
    varied = _varied(about, plain.settings)
    of_errors = module in OF_MODULES and about.name not in inputs.OWN and "entropy" not in name.lower()
    wide = ("wide numbers",) if of_errors else ()
    yield plain
    yield from _one_changed(plain, varied, wide)
    if wide:
        yield replace(plain, inputs=wide)
    yield from _several_changed(plain, varied)
    for made in OWN_WEIGHTS.get(about.name, ()):
        yield replace(
            plain,
            settings={},
            code=made,
            inputs=FIRST.get(about.name, ("sequence",)),
            outputs_only=True,
            weights=None,
        )
    known = {one for one, _, _ in about.parameters}
    if module == "layers":
        yield from _more_of_layer(plain, known, about.optional or ())
        if "training" in (about.optional or ()):
            yield from _in_training(about, plain, known, varied)
    elif module == "optimizers":
        yield replace(plain, inputs=(inputs.REPEATED,))
    elif (module in OF_MODULES or {*plain.arrays} == {"target", "output"}) and about.name not in inputs.OWN:
        yield from _more_of_loss(plain, varied)
    elif module in ("ops", "activations") and about.name not in (*inputs.OWN, *FIRST, *NO_EDGES):
        yield from _more_of_function(plain, known) if plain.arrays else ()


def _plain(about: Public) -> ProbeCase | None:
    """The name with what it has to be given; None if that is not known."""
    module, _, name = about.name.partition(".")
    special = OF_NAME.get(about.name, {})
    takes_arrays = about.parameters and name[:1].islower() and module not in ("layers", "optimizers")
    arrays = [
        one for one, needed, _ in about.parameters if takes_arrays and one in ARRAYS and needed and one not in special
    ]
    settings: dict[str, Any] = {}
    for argument, needed, _ in about.parameters:
        if about.name not in CODE and (argument in special or (needed and argument not in arrays)):
            settings[argument] = special.get(argument, GIVEN.get(argument))
    if about.name in WITHOUT or None in settings.values():
        return None
    known = {one for one, _, _ in about.parameters}
    case = ProbeCase(0, about.name, settings, (), tuple(arrays))
    apart = len(about.called or ()) > 1 if module == "layers" else not _is_listed(case)
    own = (about.name,) if about.name in inputs.OWN else ()
    first = own or _of_pattern(FIRST, about.name) or _inputs(module, name, arrays, apart)
    if "axis" in known and first == OF_FUNCTIONS[1]:
        first = ("sequence", *first)  # a symmetric matrix is the same along both
    elif module == "activations" and first == OF_FUNCTIONS[1]:
        first = ("vectors", *first)  # with as many negative numbers
    return replace(
        case,
        inputs=first,
        apart=apart,
        random=any(fnmatchcase(about.name, one) for one in RANDOM) and about.name not in EXACT,
        draws="seed" in known and not _has_weights(known),
        weights=(0.1, 0.6) if "Normalization" in name else (-0.5, 0.5),  # among them is a variance
    )


def _is_listed(case: ProbeCase) -> bool:
    """Whether it takes its arrays in a list."""
    return bool(LISTS & {*case.arrays}) or case.name in LISTED


def _has_weights(parameters: Set[str]) -> bool:
    """Whether it is a layer with weights, whose dropout is 0."""
    return any(one.endswith("_initializer") for one in parameters)


def _one_changed(
    plain: ProbeCase, varied: Mapping[str, Sequence[Mapping[str, Any]]], wide: tuple[str, ...]
) -> Iterator[ProbeCase]:
    """With each setting; a threshold of errors and the like also on wide numbers."""
    for argument, of in varied.items():
        for number, more in enumerate(of):
            is_number = isinstance(next(iter(more.values())), (int, float))
            several = number > 0 and (is_number or argument in OF_IMAGES)
            one = replace(plain, settings={**plain.settings, **more}, varies=argument, outputs_only=several)
            yield one
            if wide and isinstance(more.get(argument), float):
                yield replace(one, inputs=wide)


def _several_changed(plain: ProbeCase, varied: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[ProbeCase]:
    """With settings in pairs."""
    alone = [one for of in varied.values() for one in of]
    for more in pairs(varied) if len(varied) > 1 else ():
        if more and more not in alone:
            yield replace(plain, settings={**plain.settings, **more}, outputs_only=True)


def _varied(about: Public, settings: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The other settings of each argument that may change the result."""
    found = {}
    for argument, needed, default in about.parameters:
        value = settings.get(argument, default)
        is_varied = not needed or f"{about.name}.{argument}" in VARIED or argument in UNEQUAL
        if argument in KEPT or not (is_varied or isinstance(value, float)):
            continue
        if of := others(about.name, argument, value):
            found[argument] = of
    return found


def _in_training(
    about: Public, plain: ProbeCase, parameters: Set[str], varied: Mapping[str, Sequence[Mapping[str, Any]]]
) -> Iterator[ProbeCase]:
    """The layer called as in training; what it draws then by its moments."""
    trained = replace(plain, training=True, outputs_only=True)
    if not {"seed", "dropout"} & parameters:
        yield trained
        for argument, of in varied.items():
            if "Normalization" in plain.name:
                yield from (replace(trained, settings={**plain.settings, **one}, varies=argument) for one in of)
        return
    settings = {**plain.settings, "seed": 3}
    settings |= {key: value for key, value in DRAWN.items() if key in parameters}
    of_images = bool({"data_format", "value_range"} & parameters)  # which takes long
    augments = "data" in (about.called or ())
    if augments:
        yield from _augmenting(plain, parameters, varied)
    kinds = ("many image", "many volume") if of_images else ("many vectors", "many sequence")
    many = replace(trained, settings=settings, inputs=kinds, random=True, draws=False)
    if plain.inputs[:1] == OF_LAYERS[:1] and "seed" in parameters and plain.name not in OF_A_BATCH:
        yield many
        for argument, of in varied.items():
            if plain.draws and not augments:
                yield from (replace(many, settings={**settings, **one}, varies=argument) for one in of)


def _augmenting(
    plain: ProbeCase, parameters: Set[str], varied: Mapping[str, Sequence[Mapping[str, Any]]]
) -> Iterator[ProbeCase]:
    """A layer of images on unbatched ones and on bytes: one that augments in training, with ranges of one number to
    draw from, or a probability of 1.
    """
    if "seed" not in parameters:
        yield replace(plain, inputs=(inputs.BYTES,), outputs_only=True)
    factors = [one for one in sorted(parameters) if one.endswith("factor")]
    if "seed" not in parameters or not factors or plain.name in OF_A_BATCH:
        yield replace(plain, inputs=(inputs.ONE_IMAGE,), training=True, outputs_only=True)
        return
    settings = {**plain.settings, **{one: [0.37, 0.37] for one in factors}}
    trained = replace(plain, training=True, draws=True, outputs_only=True, settings=settings)
    yield from (replace(trained, inputs=(one,)) for one in (inputs.ONE_IMAGE, inputs.BYTES))
    ranges = {"value_range": [0, 1]} if "value_range" in parameters else {}
    others = [more for argument, of in varied.items() if argument not in (*factors, *ranges) for more in of]
    for more in ({}, dict.fromkeys(factors, 1.0), *others):
        yield replace(trained, inputs=(inputs.COLOURS,), settings={**settings, **ranges, **more})


def _more_of_layer(plain: ProbeCase, parameters: Set[str], optional: Sequence[str]) -> Iterator[ProbeCase]:
    """The layer behind a mask, on ties, on one small sample, on edges, on whole numbers, of other types and without
    training. optional: what its call may be given.
    """
    yield from _behind_a_mask(plain, parameters, optional)
    trained = _has_weights(parameters)
    for end in ("_regularizer", "_constraint"):
        if given := {one: OF_WEIGHTS.get(one, OF_WEIGHTS[end]) for one in sorted(parameters) if one.endswith(end)}:
            yield replace(plain, settings={**plain.settings, **given})
    if "training" in optional:
        yield replace(plain, inference=True, outputs_only=True)
    tied = _of_kind(inputs.TIED, plain)
    if tied and not (trained or plain.draws):  # whose gradients depend on how a backend breaks them
        yield replace(plain, inputs=tied)
    small = _of_kind("small", plain)
    if small:
        yield replace(plain, inputs=small, outputs_only=True)
    of_images = bool({"data_format", "value_range"} & parameters)
    if (plain.inputs == OF_SEVERAL or not plain.settings) and not (plain.apart or trained or of_images):
        yield replace(plain, inputs=("unequal parts", "broadcast sequences"))
    if plain.inputs == OF_SEVERAL and not plain.apart:
        yield replace(plain, inputs=("two images",))
    if small and not (trained or of_images or plain.settings or plain.inputs == OF_SEVERAL):
        yield replace(plain, inputs=("edges of vectors", "two edges of vectors"), outputs_only=True)
    if any(one != "words" for name in plain.inputs for one, _ in inputs.INPUTS[name]):
        yield from (replace(plain, dtype=one, outputs_only=one != TRAINED) for one in (TRAINED, *DTYPES))
    if whole := _of_kind("whole", plain):
        yield replace(plain, inputs=whole)


def _behind_a_mask(plain: ProbeCase, parameters: Set[str], optional: Sequence[str]) -> Iterator[ProbeCase]:
    """What the layer does with a mask, or whether it hands it on; also where all of a sample is masked."""
    name = plain.name.partition(".")[2]
    if "Cell" in name or (*plain.inputs[-2:],) != OF_SEVERAL:
        return
    of_images = bool({"data_format", "value_range"} & parameters)
    takes = "mask" in optional or (any(part in name for part in SEQUENCES) and "Conv" not in name)
    several = plain.apart or plain.inputs == OF_SEVERAL or name == "Concatenate"
    sequence = ("two masked sequences",) if several else ("masked sequence", "two masked sequences")
    masked = replace(plain, masked=True, inputs=sequence, outputs_only=not takes)
    if takes or not of_images:
        yield masked
    if takes and not several:
        yield replace(masked, inputs=("all masked sequence",), outputs_only=True)
    if takes and "training" in optional:
        yield replace(masked, training=True, outputs_only=True)
    if {"return_sequences", "go_backwards"} <= parameters:
        yield replace(masked, settings={**plain.settings, "return_sequences": True, "go_backwards": True})


def _of_kind(kind: str, plain: ProbeCase) -> tuple[str, ...]:
    """The case's inputs, of this kind where there is one."""
    return tuple(f"{kind} {one}" for one in plain.inputs if f"{kind} {one}" in inputs.INPUTS)


def _more_of_loss(plain: ProbeCase, varied: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[ProbeCase]:
    """A loss or a metric with weights, with a mask, and on labels and scores, a metric with all of its settings."""
    outputs = replace(plain, outputs_only=True)
    if plain.name.partition(".")[2][:1].isupper():
        yield replace(outputs, inputs=("weighted probabilities", "weighted labels"))
        yield replace(outputs, inputs=("masked predictions",), masked=True)
    of_classes = "categorical" in plain.name.lower()  # of which a column has one
    for one in (*inputs.OF_LOSSES, *(() if of_classes else inputs.IN_COLUMNS)):
        yield replace(outputs, inputs=one)
    for of in varied.values() if plain.name.startswith("metrics.") else ():
        untied = (more for more in of if "top_k" not in more)  # which of equal scores are the largest is open
        yield from (replace(outputs, settings={**plain.settings, **more}, inputs=inputs.SCORES) for more in untied)


def _in_fit(plain: ProbeCase) -> Iterator[ProbeCase]:
    """A loss or a metric with weights in `fit`; also behind a mask, which reaches all of them in the same way."""
    module, _, name = plain.name.partition(".")
    if module in OF_MODULES and name[:1].isupper() and plain.name not in inputs.OWN:
        fitted = replace(plain, inputs=("weighted probabilities", "weighted labels"), fitted=True, outputs_only=True)
        yield fitted
        if name == MASKED_IN_FIT:
            yield replace(fitted, inputs=("weighted steps",), masked=True)


def _more_of_function(plain: ProbeCase, parameters: Set[str]) -> Iterator[ProbeCase]:
    """The function on ties, infinities and the like; one along an axis also on an empty one and on one of size 1."""
    outputs = replace(plain, outputs_only=True)
    if plain.inputs == (inputs.COLOURS,):
        if not any(isinstance(one, Mapping) for one in plain.settings.values()):  # which is for a batch
            yield replace(outputs, inputs=(inputs.ONE_IMAGE,))
    elif _is_listed(plain):
        yield replace(outputs, inputs=inputs.UNEQUAL)
    elif "threshold" in parameters:
        yield replace(outputs, settings={**plain.settings, "threshold": 1.0}, inputs=ALONG_AXIS[:1])
    elif len(plain.arrays) == 1 and "axis" in parameters:
        yield from (replace(outputs, inputs=(one,)) for one in ALONG_AXIS)
        along = {**plain.settings, "axis": 1}
        yield from (replace(outputs, inputs=(one,), settings=along) for one in ALONG_AXIS_1)
    else:
        yield from (replace(outputs, inputs=(one,)) for one in OF_ELEMENTS.get(len(plain.arrays), ()))
        if len(plain.arrays) == 2 and "axes" not in parameters:
            yield from (replace(outputs, inputs=one) for one in (inputs.UNEQUAL, inputs.STACKS))


def _of_pattern(patterns: Mapping[str, tuple[str, ...]], name: str) -> tuple[str, ...]:
    return next((value for one, value in patterns.items() if fnmatchcase(name, one)), ())


def _inputs(module: str, name: str, arrays: Sequence[str], apart: bool) -> tuple[str, ...]:
    if module == "layers":
        return OF_SEVERAL if apart else (*OF_LAYERS, *OF_SEVERAL)
    if module == "optimizers":
        return ("gradients",)
    if module in OF_MODULES or {*arrays} in ({"target", "output"}, {"y_true", "y_pred"}):
        return ("probabilities", "labels")
    if name.startswith("image."):
        return (inputs.COLOURS,)
    if arrays == ["inputs"]:  # of poolings and the like
        return OF_LAYERS
    if LISTS & {*arrays}:
        return ("two matrices",)
    if not arrays and module not in ("initializers", "random", "ops"):  # an object that is called with an array
        return OF_FUNCTIONS[1]
    return OF_FUNCTIONS.get(len(arrays), ())
