"""mnist_cnn in JAX: functions of a list of arrays, compiled with jit."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

LAYERS = [
    ("Conv2D", (3, 3, 1, 32), (32,)),
    ("Conv2D", (3, 3, 32, 64), (64,)),
    ("Dense", (9216, 128), (128,)),
    ("Dense", (128, 10), (10,)),
]


def build(weights, dropout, seed):
    return {
        "params": [jnp.asarray(value) for value in weights],
        "rates": (0.25, 0.5) if dropout else (0.0, 0.0),
        "key": jax.random.PRNGKey(seed),
    }


def optimizer(model, learning_rate, rho, epsilon):
    zeros = [jnp.zeros_like(value) for value in model["params"]]
    return {"squares": zeros, "updates": zeros, "settings": (learning_rate, rho, epsilon)}


def step(model, optimizer, x, y):
    slots = (optimizer["squares"], optimizer["updates"])
    model["params"], (optimizer["squares"], optimizer["updates"]), model["key"], loss, accuracy = update(
        model["params"], slots, model["key"], x, y, model["rates"], optimizer["settings"]
    )
    return loss, accuracy


def predict(model, x):
    return probabilities(model["params"], x)


def weights(model):
    return [np.asarray(value) for value in model["params"]]


def forward(params, x, key=None, rates=(0.0, 0.0)):
    k1, b1, k2, b2, w3, b3, w4, b4 = params
    keys = (None, None) if key is None else jax.random.split(key)
    x = jax.nn.relu(convolve(x, k1) + b1)
    x = jax.nn.relu(convolve(x, k2) + b2)
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    x = drop(x, keys[0], rates[0]).reshape(len(x), -1)
    x = drop(jax.nn.relu(x @ w3 + b3), keys[1], rates[1])
    return x @ w4 + b4


def convolve(x, kernel):
    return lax.conv_general_dilated(x, kernel, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def drop(x, key, rate):
    if key is None or rate == 0.0:
        return x
    return jnp.where(jax.random.bernoulli(key, 1.0 - rate, x.shape), x / (1.0 - rate), 0.0)


def loss_of(params, x, y, key, rates):
    logits = forward(params, x, key, rates)
    loss = -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], axis=1))
    return loss, jnp.mean(jnp.argmax(logits, axis=1) == y)


@partial(jax.jit, static_argnums=(5, 6))
def update(params, slots, key, x, y, rates, settings):
    """Adadelta, which JAX itself does not bring."""
    learning_rate, rho, epsilon = settings
    key, own = jax.random.split(key)
    (loss, accuracy), gradients = jax.value_and_grad(loss_of, has_aux=True)(params, x, y, own, rates)
    squares = [rho * s + (1.0 - rho) * g * g for s, g in zip(slots[0], gradients)]
    deltas = [g * jnp.sqrt(u + epsilon) / jnp.sqrt(s + epsilon) for g, s, u in zip(gradients, squares, slots[1])]
    updates = [rho * u + (1.0 - rho) * d * d for u, d in zip(slots[1], deltas)]
    params = [p - learning_rate * d for p, d in zip(params, deltas)]
    return params, (squares, updates), key, loss, accuracy


@jax.jit
def probabilities(params, x):
    return jax.nn.softmax(forward(params, x))
