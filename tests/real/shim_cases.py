"""Calls the functions that --shims serves, and writes what they give: `shim_cases.py OUT.npz`, in a backend's Python.

Where Keras lacks them they are the served ones, else its own: those of Keras 2's `keras.backend` ("old"), and those
of Keras 3's `keras.ops` ("new"). Arrays are drawn with one seed.
"""

import importlib
import sys
from typing import Any

import keras
import numpy as np

from kbench_guest import frameworks
from kbench_shims import shims

RANDOM = np.random.RandomState(11)


def draw(*shape):
    return RANDOM.uniform(-2, 2, shape).astype("float32")


A, B, C, D = draw(3, 4), draw(3, 4), draw(2, 3, 4), draw(2, 4, 5)
IMAGE, KERNEL, VOLUME = draw(2, 6, 7, 3), draw(3, 2, 3, 4), draw(1, 4, 4, 4, 2)
POSITIVE = np.abs(A) + 0.1
SHARES = POSITIVE / POSITIVE.sum(axis=1, keepdims=True)
ONE_HOT = np.eye(4, dtype="float32")[[1, 3, 0]]
WHOLE = np.array([[0, 1, 2], [-3, 1, -1]], "int32")
TIES = np.array([[1.0, 0.0, 1.0, 2.0], [3.0, 1.0, 0.0, 3.0]], "float32")
HALVES = np.array([-1.5, -0.5, 0.5, 1.5, 2.5], "float32")
TRUTH = np.array([[True, False], [False, False]])
NAMES = np.array([2, 0], "int32")
AXES = [{}, {"axis": 0}, {"axis": -1}, {"axis": 1, "keepdims": True}]


def old():
    """(name, arguments, others) of calls of keras.backend, or (name, function of it); arrays become tensors."""
    unary = (
        "abs cos exp sigmoid hard_sigmoid sign sin softmax softplus softsign square tanh elu relu round "
        "ones_like zeros_like transpose flatten batch_flatten identity int_shape ndim count_params argmax argmin "
        "cumsum cumprod l2_normalize expand_dims get_variable_shape dtype stop_gradient shape"
    )
    for name in unary.split():
        yield name, (A,), {}
        yield name, (C,), {}
    for name in ("sqrt", "log"):
        yield name, (POSITIVE,), {}
    for name in ("max", "min", "sum", "prod", "mean", "var", "std", "logsumexp"):
        for options in AXES:
            yield name, (A,), options
            yield name, (C,), options
    yield "mean", (C,), {"axis": [0, 2]}
    for options in AXES:
        for name in ("mean", "sum", "max", "min", "prod", "var"):
            yield name, (WHOLE,), options
        for name in ("all", "any", "mean"):
            yield name, (TRUTH,), options
    for name in ("argmax", "argmin", "cumsum", "cumprod"):
        for axis in (0, 1, -1):
            yield name, (TIES,), {"axis": axis}
    for name in ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal", "maximum", "minimum"):
        yield name, (WHOLE, WHOLE[::-1].copy()), {}
        yield name, (A, 0.5), {}
    yield "round", (HALVES,), {}
    yield "hard_sigmoid", (3 * A,), {}
    yield "pow", (A, 2), {}
    yield "clip", (A, -0.5, 0.5), {}
    yield "clip", (A, 0.5, -0.5), {}
    yield "clip", (A, 0.5, None), {}
    yield "relu", (A, 0.1), {}
    yield "relu", (A, 0.1, 1.0, 0.3), {}
    yield "relu", (A,), {"max_value": 0.5}
    yield "elu", (A, 0.3), {}
    yield "softmax", (C, 1), {}
    yield "cast", (A, "int32"), {}
    yield "arange", (5,), {}
    yield "arange", (-2,), {}
    yield "arange", (1, 7, 2), {}
    yield "arange", (1, 4), {"dtype": "float32"}
    yield "arange", (0.0, 1.0, 0.25), {}
    yield "eye", (3,), {}
    yield "zeros", ((2, 3),), {}
    yield "ones", ((2, 3),), {"name": "a_name"}
    yield "constant", ([1, 2, 3, 4],), {"shape": (2, 2)}
    yield "constant", (2,), {"shape": (2, 3)}
    yield "constant", ([1, 2],), {"dtype": "int32"}
    yield "variable", (WHOLE.tolist(),), {}
    yield "variable", (A,), {"name": "a_name"}
    yield "dot", (A, B.T.copy()), {}
    yield "dot", (C, D), {}
    yield "dot", (A, D), {}
    yield "batch_dot", (C, D), {}
    yield "batch_dot", (A, B), {"axes": 1}
    yield "batch_dot", (A, B), {"axes": [1, 1]}
    yield "batch_dot", (C, C), {"axes": 2}
    yield "batch_dot", (C, D), {"axes": (2, 1)}
    yield "batch_dot", (C, C[:, 0].copy()), {"axes": (2, 1)}
    yield "batch_dot", (C[:, 0].copy(), C), {"axes": (1, 2)}
    yield "concatenate", ([A, B],), {}
    yield "concatenate", ([A, B], 0), {}
    yield "stack", ([A, B],), {}
    yield "stack", ([A, B], 1), {}
    yield "expand_dims", (A, 1), {}
    yield "squeeze", (A[:, :1].copy(), 1), {}
    yield "reshape", (A, (2, 6)), {}
    yield "permute_dimensions", (C, (0, 2, 1)), {}
    yield "tile", (A, (2, 1)), {}
    yield "tile", (A[0].copy(), 3), {}
    yield "repeat", (A, 3), {}
    yield "repeat_elements", (C, 2, 1), {}
    yield "reverse", (C, 1), {}
    yield "reverse", (C, (0, 2)), {}
    yield "gather", (A, NAMES), {}
    yield "one_hot", (NAMES, 4), {}
    yield "l2_normalize", (A, 1), {}
    yield "slice", (C, (0, 1, 0), (2, 2, -1)), {}
    yield "in_top_k", (A, np.array([1, 2, 0], "int32"), 2), {}
    yield "temporal_padding", (C,), {}
    yield "temporal_padding", (C, (2, 0)), {}
    yield "spatial_2d_padding", (IMAGE,), {}
    yield "spatial_2d_padding", (IMAGE, ((0, 1), (2, 0)), "channels_first"), {}
    yield "resize_images", (IMAGE, 2, 3, "channels_last"), {}
    yield "resize_images", (IMAGE, 2, 1, "channels_first"), {}
    yield "resize_volumes", (VOLUME, 2, 1, 3, "channels_last"), {}
    yield "bias_add", (IMAGE, draw(3)), {}
    yield "bias_add", (IMAGE, draw(6), "channels_first"), {}
    yield "bias_add", (IMAGE, draw(6, 7, 3)), {}
    yield "bias_add", (IMAGE, draw(7, 3, 6), "channels_first"), {}
    yield "bias_add", (A, draw(4)), {}
    yield "conv1d", (C, draw(2, 4, 3)), {}
    yield "conv1d", (C, draw(2, 4, 3), 1, "causal"), {}
    yield "conv1d", (C, draw(2, 4, 3), 2, "same"), {}
    yield "conv2d", (IMAGE, KERNEL), {}
    yield "conv2d", (IMAGE, KERNEL, (2, 2), "same"), {}
    yield "conv3d", (VOLUME, draw(2, 2, 2, 2, 3)), {}
    yield "depthwise_conv2d", (IMAGE, draw(3, 3, 3, 2)), {}
    yield "pool2d", (IMAGE, (2, 2)), {}
    yield "pool2d", (IMAGE, (2, 2), (2, 2), "same", None, "avg"), {}
    yield "batch_normalization", (A, draw(4), POSITIVE[0].copy(), draw(4), draw(4)), {}
    yield "batch_normalization", (A, draw(4), POSITIVE[0].copy(), None, None), {"epsilon": 0.1}
    for chosen in ({}, {"from_logits": True}):
        given = A if chosen else SHARES
        yield "categorical_crossentropy", (ONE_HOT, given), chosen
        yield "sparse_categorical_crossentropy", (np.array([1, 3, 0], "int32"), given), chosen
        yield "binary_crossentropy", (ONE_HOT, given), chosen
    yield "categorical_crossentropy", (ONE_HOT, POSITIVE), {}
    yield "binary_crossentropy", (ONE_HOT, ONE_HOT), {}
    condition = np.array([True, False, True])
    square = draw(3, 3), draw(3, 3)
    yield "switch", (condition, *square), {}
    yield "switch", (np.array([1, 0, 1], "int32"), A, B), {}
    yield "switch", (square[0] > 0, *square), {}
    yield "switch", (np.array(True), lambda: square[0], lambda: square[1]), {}
    yield "in_train_phase", (A, B), {"training": 1}
    yield "in_train_phase", (lambda: A, lambda: B), {"training": 0}
    yield "in_test_phase", (A, B), {"training": True}
    yield "map_fn", (lambda x: x * x, A), {}
    yield "foldl", (lambda a, b: a - b, A), {}
    yield "foldr", (lambda a, b: a - b, A), {}
    yield "foldl", (lambda a, b: a * b, A), {"initializer": draw(4)}
    # What holds of any draw, rather than its numbers.
    for name in ("random_normal", "truncated_normal"):
        yield name + " about", ((400, 500), 1.0, 2.0), {}
    for name in ("random_normal_variable", "random_uniform_variable"):
        yield name + " about", ((400, 500), 1.0, 2.0), {}
    yield "random_uniform about", ((400, 500), 1.0, 3.0), {}
    yield "random_binomial about", ((400, 500), 0.3), {}
    yield "dropout about", (np.ones((400, 500), "float32"), 0.3), {}
    yield "eval", lambda K: K.eval(K.constant([1.0, 2.0]))
    yield "get_value", lambda K: K.get_value(K.variable([1.0, 2.0]))
    yield "batch_get_value", lambda K: K.batch_get_value([K.variable([1.0]), K.variable([2.0])])
    yield "set_value", lambda K: changed(K, lambda v: K.set_value(v, [5.0, 6.0]))
    yield "batch_set_value", lambda K: changed(K, lambda v: K.batch_set_value([(v, [5.0, 6.0])]))
    yield "update", lambda K: changed(K, lambda v: K.eval(K.update(v, K.constant([5.0, 6.0]))))
    yield "update_add", lambda K: changed(K, lambda v: K.eval(K.update_add(v, K.constant([5.0, 6.0]))))
    yield "update_sub", lambda K: changed(K, lambda v: K.eval(K.update_sub(v, K.constant([5.0, 6.0]))))
    yield "learning_phase", lambda K: 0 if OLD else K.learning_phase()  # a placeholder there


def changed(K, change):
    variable = K.variable([1.0, 2.0])
    change(variable)
    return K.get_value(variable)


def new():
    """The same of keras.ops."""
    unary = (
        "abs cos exp sigmoid sign sin softmax softplus softsign square tanh elu relu round ones_like zeros_like "
        "stop_gradient argmax argmin cumsum cumprod hard_sigmoid transpose flip shape"
    )
    for name in unary.split():
        yield name, (A,), {}
        yield name, (C,), {}
    for name in ("sqrt", "log"):
        yield name, (POSITIVE,), {}
    for name in ("max", "min", "sum", "prod", "mean", "var", "std", "logsumexp"):
        for options in AXES:
            yield name, (C,), options
    for options in AXES:
        yield "mean", (WHOLE,), options
        yield "all", (TRUTH,), options
        yield "any", (TRUTH,), options
    for name in ("argmax", "argmin", "cumsum", "cumprod"):
        for axis in (0, 1):
            yield name, (TIES,), {"axis": axis}
    for name in ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal", "maximum", "minimum"):
        yield name, (A, B), {}
    for name in ("add", "subtract", "multiply", "divide"):
        yield name, (A, POSITIVE), {}
    yield "power", (POSITIVE, 2), {}
    yield "clip", (A, -0.5, 0.5), {}
    yield "cast", (A, "int32"), {}
    yield "zeros", ((2, 3),), {}
    yield "ones", ((2, 3),), {}
    yield "dot", (A, B.T.copy()), {}
    yield "matmul", (A, B.T.copy()), {}
    yield "matmul", (C, D), {}
    yield "matmul", (C, B.T.copy()), {}
    yield "concatenate", ([A, B],), {}
    yield "concatenate", ([A, B], 1), {}
    yield "stack", ([A, B], 1), {}
    yield "stack", ([A, B],), {}
    yield "expand_dims", (A, 1), {}
    yield "squeeze", (A[:, :1].copy(), 1), {}
    yield "reshape", (A, (2, 6)), {}
    yield "transpose", (C, (0, 2, 1)), {}
    yield "tile", (A, (2, 1)), {}
    yield "repeat", (A, 2), {}
    yield "repeat", (A, 2, 1), {}
    yield "flip", (C, 1), {}
    yield "take", (A, NAMES), {"axis": 0}
    yield "take", (A, NAMES), {}
    yield "one_hot", (NAMES, 4), {}
    yield "hard_sigmoid", (3 * A,), {}
    yield "convert_to_tensor", (A,), {}
    yield "categorical_crossentropy", (ONE_HOT, SHARES), {}
    yield "sparse_categorical_crossentropy", (np.array([1, 3, 0], "int32"), SHARES), {}
    yield "binary_crossentropy", (ONE_HOT, SHARES), {}
    yield "convert_to_numpy", lambda ops: ops.convert_to_numpy(ops.convert_to_tensor([1.0, 2.0]))


def losses():
    for name in sorted(shims.LOSSES):
        yield name, (SHARES, POSITIVE), {}


def optimizers():
    """The weights that each leads to: by its old name with its defaults, and with arguments in Keras 2's places."""
    for name in shims.OPTIMIZERS[:-1]:  # Nadam is refused
        made = getattr(keras.optimizers, name.lower())
        yield name.lower(), lambda _, made=made: keras.backend.eval(made().lr)
        yield name.lower(), lambda _, made=made: trained(made(decay=0.5))
    for name, places in (
        ("SGD", (0.05, 0.9, 0.5, True)),
        ("RMSprop", (0.01, 0.8, None, 0.5)),
        ("Adagrad", (0.05, None, 0.5)),
        ("Adadelta", (0.5, 0.9, None, 0.5)),
        ("Adam", (0.01, 0.8, 0.99, None, 0.5)),
        ("Adamax", (0.01, 0.8, 0.99, None, 0.5)),
    ):
        yield name, lambda _, name=name, places=places: trained(getattr(keras.optimizers, name)(*places))
    yield "SGD", lambda _: trained(keras.optimizers.SGD(0.05, momentum=0.9, decay=1e-1))


def trained(optimizer):
    if OLD:  # as it ships, an update may read the step's number before or after it is counted
        frameworks.load().order_updates(optimizer)
    model = keras.models.Sequential([keras.layers.Dense(2, kernel_initializer="zeros", input_shape=(4,))])
    model.compile(optimizer, "mse")
    model.fit(A, B[:, :2], batch_size=1, epochs=3, shuffle=False, verbose=0)
    weights = model.get_weights()[0]
    if OLD:
        keras.backend.clear_session()
    return weights


def about(found):
    """What two draws share: mean, spread, the share of zeros."""
    return np.round([found.mean(), found.std(), (found == 0).mean()], 1)


def tensors(value):
    """The same with tensors in the place of arrays."""
    if isinstance(value, np.ndarray):
        dtype = str(value.dtype)
        return keras.backend.constant(value, dtype=dtype) if OLD else keras.ops.convert_to_tensor(value, dtype)
    if isinstance(value, list):
        return [tensors(one) for one in value]
    return value


def number(found):
    if isinstance(found, (tuple, list)):
        found = [number(one) for one in found]
    elif hasattr(found, "shape") and not isinstance(found, (np.ndarray, np.generic)):
        if OLD:
            return found  # all are computed at once, which takes a tenth of the time
        found = keras.ops.convert_to_numpy(found)
    return np.asarray(found)


def result(module, name, *call):
    """What a call gives, as an array; a text if it raises."""
    name = name.partition(" ")[0]
    try:
        if len(call) == 1:
            return number(call[0](module))
        given = call[0] if name in RAW else [tensors(one) for one in call[0]]
        found = number(getattr(module, name)(*given, **call[1]))
    except Exception as error:
        return np.array(f"{type(error).__name__}: {error}")
    return found


def computed(found):
    """Arrays in the place of tensors of Keras 2."""
    names = [name for name in found if not isinstance(found[name], np.ndarray)]
    values = keras.backend.get_session().run([found[name] for name in names]) if names else ()
    found.update({name: np.asarray(values[place]) for place, name in enumerate(names)})
    return {name: about(value) if name.endswith(" about") else value for name, value in found.items()}


OLD = keras.__version__.startswith("2.")
RAW = ("variable", "constant", "convert_to_tensor")

if __name__ == "__main__":
    shims.Shims(keras).install()
    from keras import ops

    served: Any = importlib.import_module(f"kbench_shims.{'new' if OLD else 'old'}_functions")
    written: Any = {"served": np.array(sorted(set(served.SAME) | set(served.OTHERS)))}
    kinds = (
        ("old", keras.backend, old()),
        ("new", ops, new()),
        ("losses", keras.losses, losses()),
        ("optimizers", keras.optimizers, optimizers()),
    )
    for kind, module, calls in kinds:
        found = {f"{kind} {place:03d} {call[0]}": result(module, *call) for place, call in enumerate(calls)}
        written.update(computed(found))
    np.savez(sys.argv[1], **written)
