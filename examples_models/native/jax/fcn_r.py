"""fcn_r in JAX: functions of a list of arrays, compiled with jit."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

SIZES = (784, 2048, 4096, 1024, 10)
LAYERS = [("Dense", (inputs, outputs), (outputs,)) for inputs, outputs in zip(SIZES, SIZES[1:])]


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
    w1, b1, w2, b2, w3, b3, w4, b4 = params
    for kernel, bias in ((w1, b1), (w2, b2), (w3, b3)):
        x = jax.nn.sigmoid(x @ kernel + bias)
    return x @ w4 + b4


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
