"""cifar10_cnn in JAX: functions of a list of arrays, compiled with jit."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

LAYERS = [
    ("Conv2D", (3, 3, 3, 32), (32,)),
    ("Conv2D", (3, 3, 32, 32), (32,)),
    ("Conv2D", (3, 3, 32, 64), (64,)),
    ("Conv2D", (3, 3, 64, 64), (64,)),
    ("Dense", (2304, 512), (512,)),
    ("Dense", (512, 10), (10,)),
]


def build(weights, dropout, seed):
    return {
        "params": [jnp.asarray(value) for value in weights],
        "rates": (0.25, 0.5) if dropout else (0.0, 0.0),
        "key": jax.random.PRNGKey(seed),
    }


def optimizer(model, learning_rate, rho, epsilon, decay):
    squares = [jnp.zeros_like(value) for value in model["params"]]
    return {"squares": squares, "steps": 0, "settings": (learning_rate, rho, epsilon, decay)}


def step(model, optimizer, x, y):
    learning_rate, rho, epsilon, decay = optimizer["settings"]
    rate = learning_rate / (1.0 + decay * optimizer["steps"])
    optimizer["steps"] += 1
    model["params"], optimizer["squares"], model["key"], loss, accuracy = update(
        model["params"], optimizer["squares"], model["key"], x, y, rate, model["rates"], rho, epsilon
    )
    return loss, accuracy


def predict(model, x):
    return probabilities(model["params"], x)


def weights(model):
    return [np.asarray(value) for value in model["params"]]


def forward(params, x, key=None, rates=(0.0, 0.0)):
    k1, b1, k2, b2, k3, b3, k4, b4, w5, b5, w6, b6 = params
    keys = (None, None, None) if key is None else jax.random.split(key, 3)
    x = jax.nn.relu(convolve(x, k1, "SAME") + b1)
    x = jax.nn.relu(convolve(x, k2, "VALID") + b2)
    x = drop(pool(x), keys[0], rates[0])
    x = jax.nn.relu(convolve(x, k3, "SAME") + b3)
    x = jax.nn.relu(convolve(x, k4, "VALID") + b4)
    x = drop(pool(x), keys[1], rates[0]).reshape(len(x), -1)
    x = drop(jax.nn.relu(x @ w5 + b5), keys[2], rates[1])
    return x @ w6 + b6


def convolve(x, kernel, padding):
    return lax.conv_general_dilated(x, kernel, (1, 1), padding, dimension_numbers=("NHWC", "HWIO", "NHWC"))


def pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def drop(x, key, rate):
    if key is None or rate == 0.0:
        return x
    return jnp.where(jax.random.bernoulli(key, 1.0 - rate, x.shape), x / (1.0 - rate), 0.0)


def loss_of(params, x, y, key, rates):
    logits = forward(params, x, key, rates)
    loss = -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], axis=1))
    return loss, jnp.mean(jnp.argmax(logits, axis=1) == y)


@partial(jax.jit, static_argnums=(6, 7, 8))
def update(params, squares, key, x, y, learning_rate, rates, rho, epsilon):
    """RMSprop, which JAX itself does not bring."""
    key, own = jax.random.split(key)
    (loss, accuracy), gradients = jax.value_and_grad(loss_of, has_aux=True)(params, x, y, own, rates)
    squares = [rho * s + (1.0 - rho) * g * g for s, g in zip(squares, gradients)]
    params = [p - learning_rate * g / (jnp.sqrt(s) + epsilon) for p, s, g in zip(params, squares, gradients)]
    return params, squares, key, loss, accuracy


@jax.jit
def probabilities(params, x):
    return jax.nn.softmax(forward(params, x))
