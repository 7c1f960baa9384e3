"""The arrays that public names are tried with, as statements that draw them: in a guest and in pasted programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Arrays = tuple[tuple[str, tuple[int, ...]], ...]  # kind and shape of each

TIED = "tied"  # of -1, 0 and 1: maxima are found several times, and a relu is given its kink
COLOURS = "colours"  # an image of numbers between 0 and 1
ONE_IMAGE = "one image"  # without a batch
BYTES = "bytes"  # of an image
# Of a loss or a metric: probabilities and labels of 0 and 1; some scores are those that a threshold has; and labels
# in a column beside scores in a row, and the other way.
SCORES = ("scores",)
OF_LOSSES = (
    ("certain", "certain labels"),
    SCORES,
    ("column of classes",),
)
IN_COLUMNS = (("a column of labels",), ("labels and a column",))
STACKS = ("two stacks", "two sequences")
ROW, UNEQUAL_LENGTHS = "a row", "unequal lengths"  # which are mostly wrong
UNEQUAL = ("unequal columns", "unequal rows", "a row and a matrix")
REPEATED = "repeated gradients"  # of an embedding, by a batch that an optimizer is tried with
SEEDS_APART = 1000  # the arrays of a case have seeds of their own, as the weights of a layer
EDGES = "[0.5, -np.inf, 1, np.nan, -0.0, 3, -1, 0.0, 0.5, np.inf, -3, -0.5]"
_KINDS: Mapping[str, str] = {
    "floats": "{random}.uniform(-1, 1, {shape}).astype('float32')",
    "wide": "{random}.uniform(-3, 3, {shape}).astype('float32')",
    "positive": "{random}.uniform(0.1, 1, {shape}).astype('float32')",
    "integers": "{random}.randint(0, 4, {shape}).astype('int32')",
    "classes": "{random}.randint(1, 4, {shape}).astype('int32')",  # without 0, which is a blank
    "booleans": "{random}.uniform(-1, 1, {shape}) > 0",
    "scores": "np.round({random}.uniform(0.1, 0.9, {shape}), 1).astype('float32')",  # among them 0.5
    "labels": "({random}.uniform(0, 1, {shape}) < 0.4).astype('float32')",
    "bytes": "{random}.randint(0, 256, {shape}).astype('uint8')",
    "ties": "{random}.randint(-1, 2, {shape}).astype('float32')",
    "sorted": "np.sort({random}.uniform(-1, 1, {shape})).astype('float32')",
    "certain": "np.eye({last}, dtype='float32')[{random}.randint(0, {last}, {rows})]",
    "words": "np.array(['cat', 'dog', 'fish'])[{random}.randint(0, 3, {shape})]",
    "edges": "np.roll({edges}, {number}).astype('float32')",  # the same for all seeds
    "each edge": "np.repeat(np.float32({edges}), 12)",
    "every edge": "np.tile(np.float32({edges}), 12)",
    "edges of vectors": "np.roll({edges}, {number}).reshape(3, 4).astype('float32')",
    "probabilities": "{random}.uniform(0.1, 1, {shape}).astype('float32')",
    "zeroed": "{random}.uniform(-1, 1, {shape}).astype('float32')",
    "all masked": "{random}.uniform(-1, 1, {shape}).astype('float32')",
    "masked": "{random}.uniform(-1, 1, {shape}).astype('float32')",
    "definite": "{random}.uniform(-1, 1, {shape}).astype('float32')",
    "gradients": "{random}.uniform(-1, 1, {shape}).astype('float32')",
}
_THEN: Mapping[str, str] = {
    # Those of the rows grow, shrink, change their sign twice in four steps, and are zero but in every third.
    "gradients": "{x} = (np.abs({x}) + 0.2) * np.float32([1, -1, 1]) * np.float32([[[2.0 ** (n - 6)], "
    "[2.0 ** (2 - n)], [(-1) ** (n // 2)], [n % 3 == 1]] for n in range(10)])",
    "probabilities": "{x} /= {x}.sum(-1, keepdims=True)",
    "zeroed": "{x}[:, -2:] = 0",  # the last steps of each sequence
    # As masks.py of the guest has it.
    "masked": "{at} = [0, 0, 1], [3 - {n}, 4 - {n}, 1 + {n}]; {x}[{at}] = 6 + 20 * np.abs({x}[{at}])",
    "all masked": "{x}[1] = 6 + 20 * np.abs({x}[1])",
    "definite": "{x} = ({x} + {x}.T) / 4 + 2 * np.eye({last}, dtype='float32')",  # positive eigenvalues
}


def _floats(*shapes: tuple[int, ...]) -> Arrays:
    return tuple(("floats", shape) for shape in shapes)


_SMALL: Mapping[str, Arrays] = {
    "image": _floats((1, 6, 5, 1)),
    "sequence": _floats((1, 5, 1)),
    "vectors": _floats((1, 1)),
    "volume": _floats((1, 4, 4, 4, 1)),
    "whole numbers": (("integers", (1, 1)),),
    "two vectors": _floats((1, 1), (1, 1)),
    "two sequences": _floats((1, 5, 1), (1, 5, 1)),
}
# Shapes whose sizes differ: an axis in place of another tells.
_SHAPES: Mapping[str, Sequence[tuple[int, ...]]] = {
    "image": [(2, 6, 5, 3)],
    "sequence": [(2, 5, 3)],
    "vectors": [(3, 4)],
    "volume": [(2, 4, 6, 5, 3)],
    "two vectors": [(3, 4)] * 2,
    "two sequences": [(2, 5, 3)] * 2,
}
# What is tried besides plain inputs.
_TELLING: Mapping[str, Arrays] = {
    "ties": (("ties", (3, 4)),),
    "edges": (("edges", (12,)),),
    "two edges": (("each edge", (144,)), ("every edge", (144,))),  # each with each
    "edges of vectors": (("edges of vectors", (3, 4)),),
    "two edges of vectors": (("edges of vectors", (3, 4)), ("edges of vectors", (3, 4))),
    "an empty axis": _floats((2, 0, 3)),
    "a size of one": _floats((2, 1, 3)),
    "certain": (("certain", (4, 5)), ("certain", (4, 5))),  # probabilities of 0 and 1
    "certain labels": (("integers", (4,)), ("certain", (4, 5))),
    **{f"small {name}": arrays for name, arrays in _SMALL.items()},
    **{f"{TIED} {name}": tuple(("ties", shape) for shape in shapes) for name, shapes in _SHAPES.items()},
    **{f"whole {name}": tuple(("integers", shape) for shape in shapes) for name, shapes in _SHAPES.items()},
    "scores": (("labels", (20, 6)), ("scores", (20, 6))),
    "a column of labels": (("labels", (20, 1)), ("scores", (20,))),
    "labels and a column": (("labels", (20,)), ("scores", (20, 1))),
    "column of classes": (("integers", (4, 1)), ("probabilities", (4, 5))),
    "unequal parts": _floats((2, 5, 3), (2, 5, 2)),
    "broadcast sequences": _floats((2, 1, 3), (2, 5, 3)),
    "two stacks": _floats((2, 3, 4), (2, 4, 5)),  # of matrices
    "two images": _floats((2, 6, 5, 3), (2, 6, 5, 3)),
    "unequal columns": _floats((3, 3), (3, 2)),
    "unequal rows": _floats((3, 3), (2, 3)),
    "a row and a matrix": _floats((1, 3), (4, 3)),
    ROW: _floats((4,)),
    UNEQUAL_LENGTHS: (("probabilities", (4, 5)), ("probabilities", (4, 3))),
    ONE_IMAGE: (("positive", (6, 5, 3)),),
    BYTES: (("bytes", (2, 6, 5, 3)),),
    REPEATED: (("integers", (10, 5, 3)), ("floats", (10, 5, 3, 2))),
}
TELLING = frozenset(_TELLING)
# The arrays of one name alone.
OWN: Mapping[str, Arrays] = {
    "activations.glu": _floats((3, 4)),
    "layers.ConvLSTM2DCell": _floats((2, 4, 4, 3), (2, 2, 2, 4), (2, 2, 2, 4)),
    "layers.ConvLSTM3D": _floats((1, 2, 3, 3, 3, 2)),
    "layers.GRUCell": _floats((2, 5), (2, 4)),
    "layers.GroupNormalization": _floats((2, 3, 3, 6)),
    "layers.HashedCrossing": (("integers", (4,)), ("integers", (4,))),
    "layers.Hashing": (("integers", (4, 1)),),
    "layers.LSTMCell": _floats((2, 5), (2, 4), (2, 4)),
    "layers.MelSpectrogram": _floats((2, 64)),
    "layers.SimpleRNNCell": _floats((2, 5), (2, 4)),
    "layers.STFTSpectrogram": _floats((2, 32, 1)),
    "layers.StackedRNNCells": _floats((2, 5, 3)),
    "layers.StringLookup": (("words", (4, 1)),),
    "layers.TextVectorization": (("words", (4, 1)),),
    "losses.CTC": (("classes", (2, 3)), ("floats", (2, 5, 4))),
    "losses.ctc": (("classes", (2, 3)), ("floats", (2, 5, 4))),
    "metrics.MeanRelativeError": _floats((4, 5), (4, 5)),
    "ops.argpartition": _floats((6,)),
    "ops.associative_scan": _floats((3, 4)),
    "ops.batch_normalization": (("floats", (2, 4, 3)), ("floats", (3,)), ("positive", (3,))),
    "ops.bincount": (("integers", (10,)),),
    "ops.cond": _floats((3, 4)),
    "ops.conv": _floats((2, 6, 6, 3), (3, 3, 3, 2)),
    "ops.conv_transpose": _floats((2, 6, 6, 3), (3, 3, 2, 3)),
    "ops.correlate": _floats((6,), (3,)),
    "ops.ctc_decode": _floats((2, 5, 4)),
    "ops.ctc_loss": (("classes", (2, 3)), ("floats", (2, 5, 4))),
    "ops.custom_gradient": _floats((3, 4)),
    "ops.depth_to_space": _floats((2, 3, 3, 8)),
    "ops.depthwise_conv": _floats((2, 6, 6, 3), (3, 3, 3, 2)),
    "ops.digitize": _floats((3, 4)),
    "ops.dot_product_attention": _floats(*[(2, 5, 2, 4)] * 3),
    "ops.einsum": _floats((3, 4), (4, 4)),
    "ops.fft": _floats((3, 4), (3, 4)),
    "ops.fft2": _floats((3, 4), (3, 4)),
    "ops.fold": _floats((2, 12, 9)),
    "ops.fori_loop": _floats((3, 4)),
    "ops.get_item": _floats((3, 4)),
    "ops.glu": _floats((3, 4)),
    "ops.histogram": _floats((12,)),
    "ops.ifft2": _floats((3, 4), (3, 4)),
    "ops.image.extract_patches_3d": _floats((2, 4, 4, 4, 3)),
    "ops.image.map_coordinates": _floats((5, 4)),
    "ops.image.ssim": _floats((2, 6, 6, 3), (2, 6, 6, 3)),
    "ops.in_top_k": (("integers", (4,)), ("floats", (4, 5))),
    "ops.irfft": _floats((3, 5), (3, 5)),
    "ops.istft": _floats((2, 7, 5), (2, 7, 5)),
    "ops.jvp": _floats((3, 4), (3, 4)),
    "ops.map": _floats((3, 4)),
    "ops.meshgrid": _floats((3, 4), (2, 3)),
    "ops.polar": (("positive", (3,)), ("floats", (3,))),
    "ops.psnr": _floats((2, 4, 4, 3), (2, 4, 4, 3)),
    "ops.qr": _floats((5, 3)),
    "ops.rearrange": _floats((2, 5, 3)),
    "ops.scan": _floats((3, 4)),
    "ops.scatter": (("integers", (4, 1)), ("floats", (4,))),
    "ops.scatter_update": _floats((4, 3), (2, 3)),
    "ops.searchsorted": (("sorted", (6,)), ("floats", (4,))),
    **dict.fromkeys(
        [f"ops.segment_{one}" for one in ("max", "min", "prod", "sum")], (("floats", (6, 3)), ("integers", (6,)))
    ),
    "ops.select": _floats((3, 4)),
    "ops.separable_conv": _floats((2, 6, 6, 3), (3, 3, 3, 2), (1, 1, 6, 4)),
    "ops.slice": _floats((3, 4)),
    "ops.slice_update": _floats((3, 4), (2, 2)),
    "ops.space_to_depth": _floats((2, 4, 4, 3)),
    "ops.stft": _floats((2, 32)),
    "ops.stop_gradient": _floats((3, 4)),
    "ops.switch": _floats((3, 4)),
    "ops.take_along_axis": (("floats", (4, 4)), ("integers", (4, 4))),
    "ops.unravel_index": (("integers", (4,)),),
    "ops.vander": _floats((4,)),
    "ops.vectorize": _floats((3, 4)),
    "ops.vectorized_map": _floats((3, 4)),
    "ops.view": (("integers", (2, 4)),),
    "ops.view_as_complex": _floats((3, 2)),
    "ops.while_loop": _floats((3, 4)),
}
INPUTS: Mapping[str, Arrays] = {
    "image": _floats(*_SHAPES["image"]),
    COLOURS: (("positive", (2, 6, 5, 3)),),
    "sequence": _floats((2, 5, 3)),
    "vectors": _floats((3, 4)),
    "volume": _floats(*_SHAPES["volume"]),
    "whole numbers": (("integers", (2, 5)),),
    "two vectors": _floats((3, 4), (3, 4)),
    "two sequences": _floats((2, 5, 3), (2, 5, 3)),
    "zeroed sequence": (("zeroed", (2, 5, 3)),),
    "masked sequence": (("masked", (2, 5, 3)),),
    "all masked sequence": (("all masked", (2, 5, 3)),),
    "two masked sequences": (("masked", (2, 5, 3)), ("masked", (2, 5, 3))),
    "definite matrix": (("definite", (3, 3)),),
    "two matrices": (("definite", (3, 3)), *_floats((3, 3))),
    "three matrices": (("definite", (3, 3)), *_floats((3, 3), (3, 3))),
    "two whole numbers": (("integers", (2, 5)), ("integers", (2, 5))),
    "two booleans": (("booleans", (2, 5)), ("booleans", (2, 5))),
    "booleans": (("booleans", (2, 5)),),
    "masked predictions": (("probabilities", (2, 5, 5)), ("masked", (2, 5, 5))),
    "weighted probabilities": (("probabilities", (4, 5)), ("probabilities", (4, 5)), ("positive", (4,))),
    "weighted labels": (("integers", (4,)), ("probabilities", (4, 5)), ("positive", (4,))),
    "weighted steps": (("probabilities", (2, 5, 5)), ("masked", (2, 5, 5)), ("positive", (2, 5))),
    "many image": _floats((150, 6, 5, 3)),  # of which the moments are compared that a layer draws
    "many volume": _floats((1000, 3, 4, 5, 2)),
    "many sequence": _floats((1000, 5, 3)),
    "many vectors": _floats((4000, 6)),
    "probabilities": (("probabilities", (4, 5)), ("probabilities", (4, 5))),
    "labels": (("integers", (4,)), ("probabilities", (4, 5))),
    "wide numbers": (("wide", (4, 5)), ("wide", (4, 5))),
    "numbers and indices": (("floats", (5, 4)), ("integers", (4,))),
    "gradients": (("gradients", (10, 4, 3)),),  # of ten steps
    **_TELLING,
    "nothing": (),
    **OWN,
}


def statements(name: str, seed: int = 0) -> list[list[str]]:
    """The statements of numpy (np) that draw x0, x1, ... of this input: those of each array."""
    return [_statements(kind, shape, number, seed) for number, (kind, shape) in enumerate(INPUTS.get(name, ()))]


def all_statements(seed: int = 0) -> dict[str, list[str]]:
    """Name of an input -> the text that draws each of its arrays."""
    return {name: ["\n".join(lines) for lines in statements(name, seed)] for name in INPUTS}


def _statements(kind: str, shape: Sequence[int], number: int, seed: int) -> list[str]:
    words = {
        "random": f"np.random.RandomState({seed * SEEDS_APART + number})",
        "shape": tuple(shape),
        "last": shape[-1],
        "rows": tuple(shape[:-1]),
        "x": f"x{number}",
        "number": 5 * number,
        "n": number,
        "at": f"masked{number}",
        "edges": EDGES,
    }
    lines = [f"x{number} = {_KINDS[kind].format(**words)}"]
    return [*lines, _THEN[kind].format(**words)] if kind in _THEN else lines
