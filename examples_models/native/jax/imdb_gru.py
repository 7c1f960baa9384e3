"""imdb_gru in JAX: a GRU that resets before the product, as a scan, compiled with jit."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

LAYERS = [("Embedding", (30000, 125)), ("GRU", (125, 300), (100, 300), (300,)), ("Dense", (100, 2), (2,))]


def build(weights, dropout, seed):
    return {"params": [jnp.asarray(value) for value in weights]}


def optimizer(model, learning_rate, beta_1, beta_2, epsilon):
    zeros = [jnp.zeros_like(value) for value in model["params"]]
    return {"means": zeros, "squares": zeros, "steps": 0, "settings": (learning_rate, beta_1, beta_2, epsilon)}


def step(model, optimizer, x, y):
    learning_rate, beta_1, beta_2, epsilon = optimizer["settings"]
    optimizer["steps"] += 1
    rate = learning_rate * (1.0 - beta_2 ** optimizer["steps"]) ** 0.5 / (1.0 - beta_1 ** optimizer["steps"])
    slots = (optimizer["means"], optimizer["squares"])
    model["params"], (optimizer["means"], optimizer["squares"]), loss, accuracy = update(
        model["params"], slots, x, y, rate, beta_1, beta_2, epsilon
    )
    return loss, accuracy


def predict(model, x):
    return probabilities(model["params"], x)


def weights(model):
    return [np.asarray(value) for value in model["params"]]


def forward(params, x):
    vectors, kernel, recurrent, bias, dense, dense_bias = params

    def cell(state, given):
        update, reset = jnp.split(jax.nn.sigmoid(given[:, :200] + state @ recurrent[:, :200]), 2, axis=1)
        new = jnp.tanh(given[:, 200:] + (reset * state) @ recurrent[:, 200:])
        return update * state + (1.0 - update) * new, None

    inputs = vectors[x] @ kernel + bias
    state, _ = lax.scan(cell, jnp.zeros((len(x), 100)), inputs.swapaxes(0, 1))
    return state @ dense + dense_bias


def loss_of(params, x, y):
    logits = forward(params, x)
    loss = -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], axis=1))
    return loss, jnp.mean(jnp.argmax(logits, axis=1) == y)


@partial(jax.jit, static_argnums=(5, 6, 7))
def update(params, slots, x, y, rate, beta_1, beta_2, epsilon):
    """Adam, with Keras's formula."""
    (loss, accuracy), gradients = jax.value_and_grad(loss_of, has_aux=True)(params, x, y)
    means = [beta_1 * m + (1.0 - beta_1) * g for m, g in zip(slots[0], gradients)]
    squares = [beta_2 * s + (1.0 - beta_2) * g * g for s, g in zip(slots[1], gradients)]
    params = [p - rate * m / (jnp.sqrt(s) + epsilon) for p, m, s in zip(params, means, squares)]
    return params, (means, squares), loss, accuracy


@jax.jit
def probabilities(params, x):
    return jax.nn.softmax(forward(params, x))
