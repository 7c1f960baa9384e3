"""The functions of Keras 2's `keras.backend`, in the operations of Keras 3. Arguments are those of Keras 2."""

import keras
from keras import ops

# The same under the same name, with the same arguments in the same places.
SAME = (
    "abs", "all", "any", "argmax", "argmin", "cast", "clip", "cos", "cumprod", "cumsum", "dot", "elu", "equal", "exp",
    "eye", "greater", "greater_equal", "hard_sigmoid", "less", "less_equal", "log", "logsumexp", "max", "maximum",
    "mean", "min", "minimum", "not_equal", "one_hot", "ones", "ones_like", "prod", "relu", "reshape", "round",
    "shape", "sigmoid", "sign", "sin", "softmax", "softplus", "softsign", "sqrt", "square", "squeeze", "std",
    "stop_gradient", "sum", "tanh", "tile", "transpose", "var", "zeros", "zeros_like", "arange",
    "categorical_crossentropy", "sparse_categorical_crossentropy", "binary_crossentropy", "stack",
)  # fmt: skip


def find(name):
    """The function of that name; None if Keras 3 has nothing that does the same."""
    if name in SAME:
        return getattr(ops, name)
    return OTHERS.get(name)


def _batch_dot(x, y, axes=None):
    """A dot product for each sample; x and y have at least two axes, the first of them samples."""
    axes = (axes, axes) if isinstance(axes, int) else axes or (len(x.shape) - 1, max(1, len(y.shape) - 2))
    left, right = (axis % len(one.shape) for axis, one in zip(axes, (x, y)))
    letters = "abcdefghijklmnop"
    of_x = "z" + letters[: len(x.shape) - 1]
    of_y = "z" + letters[len(x.shape) - 1 : len(x.shape) + len(y.shape) - 2]
    of_y = of_y[:right] + of_x[left] + of_y[right + 1 :]
    kept = [one for one in of_x[1:] + of_y[1:] if one != of_x[left]]
    found = ops.einsum("%s,%s->z%s" % (of_x, of_y, "".join(kept)), x, y)
    return found if kept else ops.expand_dims(found, -1)


def _flat(x):
    return ops.reshape(x, (-1,) if len(x.shape) < 2 else (ops.shape(x)[0], -1))


def _constant(value, dtype=None, shape=None, name=None):
    found = ops.convert_to_tensor(value, dtype or keras.backend.floatx())
    return ops.broadcast_to(found, shape) if shape else found


OTHERS = {
    "batch_dot": _batch_dot,
    "batch_flatten": _flat,
    "concatenate": lambda tensors, axis=-1: ops.concatenate(tensors, axis),
    "constant": _constant,
    "conv1d": ops.conv,
    "conv2d": ops.conv,
    "eval": ops.convert_to_numpy,
    "expand_dims": lambda x, axis=-1: ops.expand_dims(x, axis),
    "flatten": lambda x: ops.reshape(x, (-1,)),
    "gather": lambda reference, indices: ops.take(reference, indices, axis=0),
    "get_value": ops.convert_to_numpy,
    "int_shape": lambda x: tuple(x.shape),
    "l2_normalize": lambda x, axis=None: x / ops.sqrt(ops.maximum(ops.sum(ops.square(x), axis, True), 1e-12)),
    "ndim": lambda x: len(x.shape),
    "permute_dimensions": ops.transpose,
    "pow": ops.power,
    "random_normal": keras.random.normal,
    "random_uniform": keras.random.uniform,
    "repeat_elements": ops.repeat,
    "set_value": lambda x, value: x.assign(value),
    "switch": ops.where,
    "variable": lambda value, dtype=None, name=None, constraint=None: keras.Variable(value, dtype=dtype),
}
