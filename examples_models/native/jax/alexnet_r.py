"""alexnet_r in JAX: functions of a list of arrays, compiled with jit."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

LAYERS = [
    ("Conv2D", (5, 5, 3, 32), (32,)),
    ("Conv2D", (5, 5, 32, 32), (32,)),
    ("Conv2D", (5, 5, 32, 64), (64,)),
    ("Dense", (576, 10), (10,)),
]
NORMAL = ("RandomNormal", {"stddev": 0.01})
INITIALIZERS = {"Conv2D": (NORMAL, "Zeros"), "Dense": (NORMAL, "Zeros")}


def build(weights, dropout, seed):
    return {"params": [jnp.asarray(value) for value in weights]}


def optimizer(model, learning_rate, momentum, nesterov):
    assert not nesterov
    return {"velocities": [jnp.zeros_like(value) for value in model["params"]], "settings": (learning_rate, momentum)}


def step(model, optimizer, x, y):
    model["params"], optimizer["velocities"], loss, accuracy = update(
        model["params"], optimizer["velocities"], x, y, *optimizer["settings"]
    )
    return loss, accuracy


def predict(model, x):
    return probabilities(model["params"], x)


def weights(model):
    return [np.asarray(value) for value in model["params"]]


def forward(params, x):
    k1, b1, k2, b2, k3, b3, w4, b4 = params
    x = jax.nn.relu(max_pool(convolve(x, k1) + b1))
    x = max_pool(jax.nn.relu(convolve(x, k2) + b2))
    x = average_pool(jax.nn.relu(convolve(x, k3) + b3))
    return x.reshape(len(x), -1) @ w4 + b4


def convolve(x, kernel):
    return lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def max_pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "VALID")


def average_pool(x):
    return lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 2, 2, 1), "VALID") / 9.0


def loss_of(params, x, y):
    logits = forward(params, x)
    loss = -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], axis=1))
    return loss, jnp.mean(jnp.argmax(logits, axis=1) == y)


@partial(jax.jit, static_argnums=(4, 5))
def update(params, velocities, x, y, learning_rate, momentum):
    (loss, accuracy), gradients = jax.value_and_grad(loss_of, has_aux=True)(params, x, y)
    velocities = [momentum * v - learning_rate * g for v, g in zip(velocities, gradients)]
    return [p + v for p, v in zip(params, velocities)], velocities, loss, accuracy


@jax.jit
def probabilities(params, x):
    return jax.nn.softmax(forward(params, x))
