"""The functions of Keras 2.2.4's `keras.backend`, with its names, places and defaults, in the operations of Keras 3.

A test compares each with Keras 2's own on TensorFlow. What Keras 3 cannot do in the same way is not here.
"""

import functools

import keras
import numpy as np
from keras import ops

# The same in Keras 3, with the same arguments in the same places.
SAME = (
    "abs", "all", "any", "binary_crossentropy", "cast", "categorical_crossentropy", "cos", "elu", "equal",
    "exp", "greater", "greater_equal", "less", "less_equal", "log", "logsumexp", "max", "maximum", "min", "minimum",
    "not_equal", "one_hot", "ones", "ones_like", "prod", "reshape", "round", "shape", "sigmoid", "sign", "sin",
    "softmax", "softplus", "softsign", "sparse_categorical_crossentropy", "sqrt", "square", "squeeze", "stack",
    "stop_gradient", "sum", "tanh", "tile", "transpose", "zeros", "zeros_like",
)  # fmt: skip
REFUSED = (
    "ctc_batch_cost", "ctc_decode", "ctc_label_dense_to_sparse", "function", "get_session", "gradients",
    "local_conv1d", "local_conv2d", "moving_average_update", "normalize_batch_in_training", "placeholder",
    "print_tensor", "rnn", "separable_conv1d", "separable_conv2d", "set_learning_phase", "set_session",
    "conv2d_transpose", "conv3d_transpose",
)  # fmt: skip


def find(name):
    """The function of that name; None if there is no such function, AttributeError if Keras 3 cannot serve it."""
    if name in REFUSED:
        raise AttributeError(f"--shims does not serve keras.backend.{name}: Keras 3 has nothing that does the same")
    found = getattr(ops, name) if name in SAME else OTHERS.get(name)
    if found is None:
        return None

    @functools.wraps(found)
    def named(*args, **kwargs):
        kwargs.pop("name", None)  # of the tensor: Keras 3 has none
        return found(*args, **kwargs)

    return named


def _is_int(x):
    return keras.backend.is_int_dtype(keras.backend.standardize_dtype(x.dtype))


def _mean(x, axis=None, keepdims=False):
    """Of whole numbers a whole number, as TensorFlow 1 has it."""
    x = ops.convert_to_tensor(x)
    found = ops.mean(x, axis, keepdims)
    return ops.cast(ops.trunc(found), x.dtype) if _is_int(x) else found


def _var(x, axis=None, keepdims=False):
    return _mean(ops.square(x - _mean(x, axis, True)), axis, keepdims)


def _relu(x, alpha=0.0, max_value=None, threshold=0.0):
    return keras.activations.relu(x, alpha, max_value, threshold)


def _clip(x, min_value, max_value):
    most = np.inf if max_value is None else max(min_value, max_value)
    return ops.clip(x, min_value, most)


def _arange(start, stop=None, step=1, dtype="int32"):
    start = 0 if stop is None and start < 0 else start
    found = ops.arange(start, stop, step)
    return ops.cast(found, dtype) if dtype != "int32" or isinstance(start, int) else found


def _dot(x, y):
    return ops.tensordot(x, y, axes=[[-1], [max(0, len(y.shape) - 2)]])  # ops.dot is another one on PyTorch


def _batch_dot(x, y, axes=None):
    """A dot product for each sample; x and y have at least two axes, the first of them samples."""
    axes = (axes, axes) if isinstance(axes, int) else axes or (len(x.shape) - 1, max(1, len(y.shape) - 2))
    left, right = (axis % len(one.shape) for axis, one in zip(axes, (x, y)))
    letters = "abcdefghijklmnop"
    of_x = "z" + letters[: len(x.shape) - 1]
    of_y = "z" + letters[len(x.shape) - 1 : len(x.shape) + len(y.shape) - 2]
    of_y = of_y[:right] + of_x[left] + of_y[right + 1 :]
    kept = [one for one in of_x[1:] + of_y[1:] if one != of_x[left]]
    found = ops.einsum(f"{of_x},{of_y}->z{''.join(kept)}", x, y)
    return found if kept else ops.expand_dims(found, -1)


def _flat(x):
    return ops.reshape(x, (-1,) if len(x.shape) < 2 else (ops.shape(x)[0], -1))


def _constant(value, dtype=None, shape=None):
    """Values fill the shape in order, and the last one fills the rest."""
    if shape is not None:
        flat = np.ravel(value)
        flat = np.concatenate([flat, np.repeat(flat[-1:], int(np.prod(shape)) - flat.size)])
        value = flat.reshape(shape)
    return ops.convert_to_tensor(value, dtype or keras.backend.floatx())


def _variable(value, dtype=None, constraint=None):
    return keras.Variable(value, dtype=dtype or keras.backend.floatx())


def _switch(condition, then_expression, else_expression):
    """A condition of fewer axes chooses whole rows."""
    then, other = (one() if callable(one) else one for one in (then_expression, else_expression))
    condition = ops.cast(condition, "bool")
    while 0 < len(condition.shape) < len(then.shape):
        condition = ops.expand_dims(condition, -1)
    return ops.where(condition, then, other)


def _learning_phase():
    """1 while the model that is called trains, else 0."""
    context = keras.src.backend.common.global_state.get_global_attribute("current_call_ctx")
    return int(bool(context is not None and context.training))


def _in_train_phase(x, alt, training=None):
    chosen = x if (_learning_phase() if training is None else training) else alt
    return chosen() if callable(chosen) else chosen


def _data_format(data_format):
    found = data_format or keras.backend.image_data_format()
    if found not in ("channels_first", "channels_last"):
        raise ValueError(f"Unknown data_format: {data_format}")
    return found


def _bias_add(x, bias, data_format=None):
    first, shape = _data_format(data_format) == "channels_first", tuple(bias.shape)
    if len(shape) not in (1, len(x.shape) - 1):
        raise ValueError(f"Unexpected bias dimensions {len(shape)}, expect to be 1 or {len(x.shape)} dimensions")
    if len(shape) == 1:
        return x + ops.reshape(
            bias, (1,) + shape + (1,) * (len(x.shape) - 2) if first else (1,) * (len(x.shape) - 1) + shape
        )
    return x + ops.reshape(bias, (1, shape[-1]) + shape[:-1] if first else (1,) + shape)


def _resize_images(x, height_factor, width_factor, data_format, interpolation="nearest"):
    if interpolation != "nearest":
        raise NotImplementedError("--shims serves resize_images with interpolation='nearest' only")
    rows = 2 if _data_format(data_format) == "channels_first" else 1
    return ops.repeat(ops.repeat(x, height_factor, rows), width_factor, rows + 1)


def _resize_volumes(x, depth_factor, height_factor, width_factor, data_format):
    first = 2 if _data_format(data_format) == "channels_first" else 1
    for axis, factor in enumerate((depth_factor, height_factor, width_factor), first):
        x = ops.repeat(x, factor, axis)
    return x


def _conv1d(x, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    if padding == "causal":
        if _data_format(data_format) == "channels_first":
            raise NotImplementedError("--shims serves causal padding with channels last only")
        x, padding = _temporal_padding(x, (dilation_rate * (kernel.shape[0] - 1), 0)), "valid"
    return ops.conv(x, kernel, strides, padding, data_format, dilation_rate)


def _pool2d(x, pool_size, strides=(1, 1), padding="valid", data_format=None, pool_mode="max"):
    pool = {"max": ops.max_pool, "avg": ops.average_pool}[pool_mode]
    return pool(x, pool_size, strides, padding, data_format)


def _temporal_padding(x, padding=(1, 1)):
    return ops.pad(x, ((0, 0), tuple(padding), (0, 0)))


def _spatial_2d_padding(x, padding=((1, 1), (1, 1)), data_format=None):
    both = tuple(tuple(one) for one in padding)
    first = _data_format(data_format) == "channels_first"
    return ops.pad(x, ((0, 0), (0, 0)) + both if first else ((0, 0),) + both + ((0, 0),))


def _batch_normalization(x, mean, var, beta, gamma, axis=-1, epsilon=1e-3):
    found = (x - mean) / ops.sqrt(var + epsilon)
    found = found if gamma is None else found * gamma
    return found if beta is None else found + beta


def _map_fn(fn, elems, dtype=None):
    return ops.stack([fn(elems[row]) for row in range(elems.shape[0])]) if elems.shape[0] else ops.map(fn, elems)


def _fold(fn, elems, initializer, order):
    rows = list(range(elems.shape[0]))[::order]
    found = elems[rows.pop(0)] if initializer is None else ops.convert_to_tensor(initializer)
    for row in rows:
        found = fn(found, elems[row])
    return found


def _random_binomial(shape, p=0.0, dtype=None, seed=None):
    dtype = dtype or keras.backend.floatx()
    return ops.cast(keras.random.uniform(shape, dtype=dtype, seed=seed) <= p, dtype)


def _random_variable(draw):
    return lambda shape, low, high, dtype=None, seed=None: keras.Variable(draw(shape, low, high, dtype, seed))


def _slice(x, start, size):
    whole = zip(start, size, x.shape)
    return ops.slice(x, start, [most - at if count == -1 else count for at, count, most in whole])


def _set_all(tuples):
    for variable, value in tuples:
        variable.assign(value)


OTHERS = {
    "arange": _arange,
    "argmax": lambda x, axis=-1: ops.argmax(x, axis),
    "argmin": lambda x, axis=-1: ops.argmin(x, axis),
    "batch_dot": _batch_dot,
    "batch_flatten": _flat,
    "batch_get_value": lambda ops_: [ops.convert_to_numpy(one) for one in ops_],
    "batch_normalization": _batch_normalization,
    "batch_set_value": _set_all,
    "bias_add": _bias_add,
    "clip": _clip,
    "concatenate": lambda tensors, axis=-1: ops.concatenate(tensors, axis),
    "constant": _constant,
    "conv1d": _conv1d,
    "conv2d": ops.conv,
    "conv3d": ops.conv,
    "count_params": lambda x: int(np.prod(x.shape)),
    "cumprod": lambda x, axis=0: ops.cumprod(x, axis),
    "cumsum": lambda x, axis=0: ops.cumsum(x, axis),
    "depthwise_conv2d": ops.depthwise_conv,
    "dot": _dot,
    "dropout": lambda x, level, noise_shape=None, seed=None: keras.random.dropout(x, level, noise_shape, seed),
    "dtype": lambda x: keras.backend.standardize_dtype(x.dtype),
    "eval": ops.convert_to_numpy,
    "expand_dims": lambda x, axis=-1: ops.expand_dims(x, axis),
    "eye": lambda size, dtype=None: ops.eye(size, dtype=dtype or keras.backend.floatx()),
    "flatten": lambda x: ops.reshape(x, (-1,)),
    "foldl": lambda fn, elems, initializer=None: _fold(fn, elems, initializer, 1),
    "foldr": lambda fn, elems, initializer=None: _fold(fn, elems, initializer, -1),
    "gather": lambda reference, indices: ops.take(reference, indices, axis=0),
    "get_value": ops.convert_to_numpy,
    "get_variable_shape": lambda x: tuple(x.shape),
    "hard_sigmoid": lambda x: ops.clip(0.2 * x + 0.5, 0.0, 1.0),
    "identity": ops.convert_to_tensor,
    "in_test_phase": lambda x, alt, training=None: _in_train_phase(alt, x, training),
    "in_top_k": lambda predictions, targets, k: ops.in_top_k(targets, predictions, k),
    "in_train_phase": _in_train_phase,
    "int_shape": lambda x: tuple(x.shape),
    "l2_normalize": lambda x, axis=None: x / ops.sqrt(ops.maximum(ops.sum(ops.square(x), axis, True), 1e-12)),
    "learning_phase": _learning_phase,
    "map_fn": _map_fn,
    "mean": _mean,
    "ndim": lambda x: len(x.shape),
    "permute_dimensions": ops.transpose,
    "pool2d": _pool2d,
    "pow": ops.power,
    "random_binomial": _random_binomial,
    "random_normal": keras.random.normal,
    "random_normal_variable": _random_variable(keras.random.normal),
    "random_uniform": keras.random.uniform,
    "random_uniform_variable": _random_variable(keras.random.uniform),
    "relu": _relu,
    "repeat": lambda x, n: ops.repeat(ops.expand_dims(x, 1), n, 1),
    "repeat_elements": ops.repeat,
    "resize_images": _resize_images,
    "resize_volumes": _resize_volumes,
    "reverse": ops.flip,
    "set_value": lambda x, value: x.assign(value),
    "slice": _slice,
    "spatial_2d_padding": _spatial_2d_padding,
    "std": lambda x, axis=None, keepdims=False: ops.sqrt(_var(x, axis, keepdims)),
    "switch": _switch,
    "temporal_padding": _temporal_padding,
    "truncated_normal": keras.random.truncated_normal,
    "update": lambda x, new_x: x.assign(new_x),
    "update_add": lambda x, increment: x.assign_add(increment),
    "update_sub": lambda x, decrement: x.assign_sub(decrement),
    "var": _var,
    "variable": _variable,
}
