"""segmentation_unet in JAX: functions of a list of arrays, compiled with jit."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def two(inputs, filters):
    return [("Conv2D", (3, 3, inputs, filters), (filters,)), ("Conv2D", (3, 3, filters, filters), (filters,))]


def up(filters):
    return [("Conv2DTranspose", (2, 2, filters, 2 * filters), (filters,)), *two(2 * filters, filters)]


LAYERS = [*two(1, 16), *two(16, 32), *two(32, 64), *two(64, 128), *up(64), *up(32), *up(16)]
LAYERS.append(("Conv2D", (1, 1, 16, 1), (1,)))
INITIALIZERS = {"Conv2D": ("HeNormal", "Zeros"), -1: ("GlorotUniform", "Zeros")}
NAMES = ("NHWC", "HWIO", "NHWC")


def build(weights, dropout, seed):
    return {"params": [jnp.asarray(value) for value in weights]}


def optimizer(model, learning_rate, beta_1, beta_2, epsilon):
    zeros = [jnp.zeros_like(value) for value in model["params"]]
    return {"means": zeros, "squares": zeros, "steps": 0, "settings": (learning_rate, beta_1, beta_2, epsilon)}


def step(model, optimizer, x, y):
    learning_rate, beta_1, beta_2, epsilon = optimizer["settings"]
    optimizer["steps"] += 1
    rate = learning_rate * (1.0 - beta_2 ** optimizer["steps"]) ** 0.5 / (1.0 - beta_1 ** optimizer["steps"])
    state = (model["params"], optimizer["means"], optimizer["squares"])
    state, loss, accuracy = update(state, x, y, rate, beta_1, beta_2, epsilon)
    model["params"], optimizer["means"], optimizer["squares"] = state
    return loss, accuracy


def predict(model, x):
    return probabilities(model["params"], x)


def weights(model):
    return [np.asarray(value) for value in model["params"]]


def forward(params, x):
    layers = zip(params[::2], params[1::2])

    def convolve(x):
        kernel, bias = next(layers)
        return lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=NAMES) + bias

    def convolve_twice(x):
        return jax.nn.relu(convolve(jax.nn.relu(convolve(x))))

    before = []
    for _ in range(3):
        before.append(convolve_twice(x))
        x = lax.reduce_window(before[-1], -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    x = convolve_twice(x)
    while before:
        kernel, bias = next(layers)
        x = lax.conv_transpose(x, kernel, (2, 2), "VALID", dimension_numbers=NAMES, transpose_kernel=True) + bias
        x = convolve_twice(jnp.concatenate([before.pop(), x], axis=3))
    return convolve(x).reshape(len(x), -1, 1)


def loss_of(params, x, y):
    logits = forward(params, x)
    return jnp.mean(jax.nn.softplus(logits) - y * logits), jnp.mean((logits > 0) == (y > 0))


@partial(jax.jit, static_argnums=(4, 5, 6))
def update(state, x, y, rate, beta_1, beta_2, epsilon):
    """Adam, with Keras's formula."""
    params, means, squares = state
    (loss, accuracy), gradients = jax.value_and_grad(loss_of, has_aux=True)(params, x, y)
    means = [beta_1 * m + (1.0 - beta_1) * g for m, g in zip(means, gradients)]
    squares = [beta_2 * s + (1.0 - beta_2) * g * g for s, g in zip(squares, gradients)]
    params = [p - rate * m / (jnp.sqrt(s) + epsilon) for p, m, s in zip(params, means, squares)]
    return (params, means, squares), loss, accuracy


@jax.jit
def probabilities(params, x):
    return jax.nn.sigmoid(forward(params, x))
