"""cifar10_vgg in JAX: functions of a list of arrays, compiled with jit."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

LAYERS = [
    ("Conv2D", (3, 3, 3, 50), (50,)),
    ("Conv2D", (3, 3, 50, 50), (50,)),
    ("Conv2D", (3, 3, 50, 100), (100,)),
    ("Conv2D", (3, 3, 100, 100), (100,)),
    ("Dense", (6400, 512), (512,)),
    ("Dense", (512, 10), (10,)),
]


def build(weights, dropout, seed):
    return {
        "params": [jnp.asarray(value) for value in weights],
        "rates": (0.25, 0.5) if dropout else (0.0, 0.0),
        "key": jax.random.PRNGKey(seed),
    }


def optimizer(model, learning_rate, momentum, nesterov):
    assert not nesterov
    return {"velocities": [jnp.zeros_like(value) for value in model["params"]], "settings": (learning_rate, momentum)}


def step(model, optimizer, x, y):
    model["params"], optimizer["velocities"], model["key"], loss, accuracy = update(
        model["params"], optimizer["velocities"], model["key"], x, y, model["rates"], *optimizer["settings"]
    )
    return loss, accuracy


def predict(model, x):
    return probabilities(model["params"], x)


def weights(model):
    return [np.asarray(value) for value in model["params"]]


def forward(params, x, key=None, rates=(0.0, 0.0)):
    k1, b1, k2, b2, k3, b3, k4, b4, w5, b5, w6, b6 = params
    keys = (None, None, None) if key is None else jax.random.split(key, 3)
    x = jax.nn.relu(convolve(x, k1) + b1)
    x = jax.nn.relu(convolve(x, k2) + b2)
    x = drop(pool(x), keys[0], rates[0])
    x = jax.nn.relu(convolve(x, k3) + b3)
    x = jax.nn.relu(convolve(x, k4) + b4)
    x = drop(pool(x), keys[1], rates[0]).reshape(len(x), -1)
    x = drop(jax.nn.relu(x @ w5 + b5), keys[2], rates[1])
    return x @ w6 + b6


def convolve(x, kernel):
    return lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


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


@partial(jax.jit, static_argnums=(5, 6, 7))
def update(params, velocities, key, x, y, rates, learning_rate, momentum):
    key, own = jax.random.split(key)
    (loss, accuracy), gradients = jax.value_and_grad(loss_of, has_aux=True)(params, x, y, own, rates)
    velocities = [momentum * v - learning_rate * g for v, g in zip(velocities, gradients)]
    return [p + v for p, v in zip(params, velocities)], velocities, key, loss, accuracy


@jax.jit
def probabilities(params, x):
    return jax.nn.softmax(forward(params, x))
