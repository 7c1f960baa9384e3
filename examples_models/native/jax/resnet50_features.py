"""resnet50_features in JAX: a function of a list of arrays, compiled with jit."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # filters, blocks, stride of the first
INITIALIZERS = {"Conv2D": ("HeNormal", "Zeros")}


def convolution(size, inputs, filters):
    return "Conv2D", (size, size, inputs, filters), (filters,)


def normalisation(filters):
    return ("BatchNormalization",) + 4 * ((filters,),)


def layers():
    """As Keras has them: the convolution of a shortcut beside the last one of its block."""
    found, inputs = [convolution(7, 3, 64), normalisation(64)], 64
    for filters, count, _ in STAGES:
        for number in range(count):
            found += [convolution(1, inputs, filters), normalisation(filters)]
            found += [convolution(3, filters, filters), normalisation(filters)]
            found += [convolution(1, filters, 4 * filters)]
            found += [] if number else [convolution(1, inputs, 4 * filters)]
            found += [normalisation(4 * filters)] * (1 if number else 2)
            inputs = 4 * filters
    return found


LAYERS = layers()


def build(weights, dropout, seed):
    return {"params": [jnp.asarray(value) for value in weights]}


def predict(model, x):
    return features(model["params"], x)


def weights(model):
    return [np.asarray(value) for value in model["params"]]


def convolve(x, kernel, bias, stride=1, padding="VALID"):
    strides, layouts = (stride, stride), ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(x, kernel, strides, padding, dimension_numbers=layouts) + bias


def normalise(x, gamma, beta, mean, variance):
    return (x - mean) * (gamma * lax.rsqrt(variance + 0.001)) + beta


@jax.jit
def features(params, x):
    left = iter(params)

    def take(number):
        return [next(left) for _ in range(number)]

    x = convolve(x, *take(2), stride=2, padding=((3, 3), (3, 3)))
    x = jax.nn.relu(normalise(x, *take(4)))
    x = jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "VALID")
    for _, count, first in STAGES:
        for number in range(count):
            stride = 1 if number else first
            y = jax.nn.relu(normalise(convolve(x, *take(2), stride=stride), *take(4)))
            y = jax.nn.relu(normalise(convolve(y, *take(2), padding="SAME"), *take(4)))
            y = convolve(y, *take(2))
            if number == 0:
                x = convolve(x, *take(2), stride=stride)
            y = normalise(y, *take(4))
            if number == 0:
                x = normalise(x, *take(4))
            x = jax.nn.relu(y + x)
    return x.mean(axis=(1, 2))
