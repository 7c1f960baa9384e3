"""The functions of Keras 3's `keras.ops`, in Keras 2's `keras.backend`: names, places and defaults of Keras 3.

A test compares each with Keras 3's own. Others are not served.
"""

from keras import backend as K

# The same in Keras 2, with the same arguments in the same places.
SAME = (
    "abs", "all", "any", "binary_crossentropy", "cast", "categorical_crossentropy", "clip", "cos", "dot", "elu",
    "equal", "exp", "greater", "greater_equal", "less", "less_equal", "log", "logsumexp", "max", "maximum", "min",
    "minimum", "not_equal", "one_hot", "ones", "ones_like", "prod", "relu", "reshape", "round", "shape", "sigmoid",
    "sign", "sin", "softmax", "softplus", "softsign", "sparse_categorical_crossentropy", "sqrt", "square", "squeeze",
    "stack", "stop_gradient", "sum", "tanh", "tile", "zeros", "zeros_like",
)  # fmt: skip


def find(name):
    """The function of that name; None if Keras 2 cannot serve it."""
    return getattr(K, name) if name in SAME else OTHERS.get(name)


def _along(function):
    """Over all numbers if no axis is given."""
    return lambda x, axis=None: function(K.flatten(x), 0) if axis is None else function(x, axis)


def _floating(function):
    """Of whole numbers as of others."""

    def called(x, axis=None, keepdims=False):
        return function(K.cast(x, K.floatx()) if "int" in K.dtype(x) else x, axis, keepdims)

    return called


def _matmul(x1, x2):
    if K.ndim(x1) == K.ndim(x2) == 3:
        return K.batch_dot(x1, x2)
    if K.ndim(x2) != 2:
        raise NotImplementedError("--shims serves keras.ops.matmul of two or three axes only")
    return K.dot(x1, x2)


def _transpose(x, axes=None):
    return K.permute_dimensions(x, tuple(range(K.ndim(x)))[::-1] if axes is None else axes)


def _take(x, indices, axis=None):
    if axis is None:
        return K.gather(K.flatten(x), indices)
    if axis != 0:
        raise NotImplementedError("--shims serves keras.ops.take along the first axis only")
    return K.gather(x, indices)


OTHERS = {
    "add": lambda x1, x2: x1 + x2,
    "argmax": _along(K.argmax),
    "argmin": _along(K.argmin),
    "concatenate": lambda xs, axis=0: K.concatenate(xs, axis),
    "convert_to_numpy": K.eval,
    "convert_to_tensor": lambda x, dtype=None: K.constant(x, dtype),
    "cumprod": _along(K.cumprod),
    "cumsum": _along(K.cumsum),
    "divide": lambda x1, x2: x1 / x2,
    "expand_dims": lambda x, axis: K.expand_dims(x, axis),
    "flip": lambda x, axis=None: K.reverse(x, list(range(K.ndim(x))) if axis is None else axis),
    "hard_sigmoid": lambda x: K.clip(x / 6.0 + 0.5, 0.0, 1.0),
    "matmul": _matmul,
    "mean": _floating(K.mean),
    "multiply": lambda x1, x2: x1 * x2,
    "power": lambda x1, x2: K.pow(x1, x2),
    "repeat": lambda x, repeats, axis=None: K.repeat_elements(
        K.flatten(x) if axis is None else x, repeats, axis or 0
    ),
    "std": _floating(K.std),
    "subtract": lambda x1, x2: x1 - x2,
    "take": _take,
    "transpose": _transpose,
    "var": _floating(K.var),
}
