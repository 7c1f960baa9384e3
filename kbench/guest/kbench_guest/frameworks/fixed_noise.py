"""Fixed numbers in place of Keras's random ones, so that a training step is the same on every backend.

At level 0 dropout drops nothing and noise is its mean. At level 1 both are factors and amounts that depend on their
settings alone: another rate, or a dropout in another place, then gives another step.
"""

import contextlib

import keras

# A number drawn from 0 to 1: what most dropouts of a user's own keep, and then what most of them drop.
DRAWN = (0.99, 0.29)


def keras2(level, asked):
    """{a random function of the backend: its replacement} for Keras 2.

    level(rank): the level, as what can be multiplied with a tensor that has so many axes. asked: a list that grows
    with each call.
    """

    def rank(shape):
        return len(shape) if isinstance(shape, (tuple, list)) else 1

    def dropout(x, rate, noise_shape=None, seed=None):
        asked.append("dropout")
        return x * (1.0 - level(keras.backend.ndim(x)) * rate)

    def normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
        asked.append("normal")
        return level(rank(shape)) * float(stddev) + float(mean)  # Theano takes numpy's numbers for float64

    def uniform(shape, minval=0.0, maxval=1.0, dtype=None, seed=None):
        asked.append("uniform")
        return (level(rank(shape)) * (DRAWN[1] - DRAWN[0]) + DRAWN[0]) * (maxval - minval) + minval

    def binomial(shape, p=0.0, dtype=None, seed=None):
        asked.append("binomial")
        return 1.0 - level(rank(shape)) * (1.0 - p)

    return {
        "dropout": dropout,
        "random_normal": normal,
        "truncated_normal": normal,
        "random_uniform": uniform,
        "random_binomial": binomial,
    }


def keras3(level, asked):
    """The same for Keras 3. level(): the number when the step runs."""
    ops = keras.ops

    def dropout(inputs, rate, noise_shape=None, seed=None):
        asked.append("dropout")
        return inputs * ops.cast(1.0 - level() * rate, inputs.dtype)

    def normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
        asked.append("normal")
        return ops.full(shape, level() * stddev + mean, dtype=dtype)

    def uniform(shape, minval=0.0, maxval=1.0, dtype=None, seed=None):
        asked.append("uniform")
        share = level() * (DRAWN[1] - DRAWN[0]) + DRAWN[0]
        return ops.full(shape, share * (maxval - minval) + minval, dtype=dtype)

    def randint(shape, minval, maxval, dtype="int32", seed=None):
        asked.append("randint")
        return ops.full(shape, minval, dtype=dtype)

    return {
        "dropout": dropout,
        "normal": normal,
        "truncated_normal": normal,
        "uniform": uniform,
        "randint": randint,
    }


def random_generator(level, asked):
    """The same for the methods of the RandomGenerator of Keras 2 on TensorFlow 2. level(): the number, at once."""

    def dropout(generator, inputs, rate, noise_shape=None):
        asked.append("dropout")
        return inputs * (1.0 - level() * rate)

    def normal(generator, shape, mean=0.0, stddev=1.0, dtype=None, nonce=None):
        asked.append("normal")
        return full(shape, level() * stddev + mean, dtype)

    def uniform(generator, shape, minval=0.0, maxval=None, dtype=None, nonce=None):
        asked.append("uniform")
        share = level() * (DRAWN[1] - DRAWN[0]) + DRAWN[0]
        return full(shape, share * ((1.0 if maxval is None else maxval) - minval) + minval, dtype)

    def full(shape, value, dtype):
        return keras.backend.zeros_like(keras.backend.ones(shape), dtype) + value

    return {
        "dropout": dropout,
        "random_normal": normal,
        "truncated_normal": normal,
        "random_uniform": uniform,
    }


@contextlib.contextmanager
def replaced(module, functions):
    """A context in which the module or class has these functions, as far as it has such ones."""
    own = {name: getattr(module, name) for name in functions if hasattr(module, name)}
    for name in own:
        setattr(module, name, functions[name])
    try:
        yield
    finally:
        for name, function in own.items():
            setattr(module, name, function)
