"""mnist_mlp in JAX: functions of a list of arrays, compiled with jit."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

LAYERS = [("Dense", (784, 512), (512,)), ("Dense", (512, 512), (512,)), ("Dense", (512, 10), (10,))]


def build(weights, dropout, seed):
    return {
        "params": [jnp.asarray(value) for value in weights],
        "rate": 0.2 if dropout else 0.0,
        "key": jax.random.PRNGKey(seed),
    }


def optimizer(model, learning_rate, rho, epsilon):
    squares = [jnp.zeros_like(value) for value in model["params"]]
    return {"squares": squares, "settings": (learning_rate, rho, epsilon)}


def step(model, optimizer, x, y):
    model["params"], optimizer["squares"], model["key"], loss, accuracy = update(
        model["params"], optimizer["squares"], model["key"], x, y, model["rate"], optimizer["settings"]
    )
    return loss, accuracy


def predict(model, x):
    return probabilities(model["params"], x)


def weights(model):
    return [np.asarray(value) for value in model["params"]]


def forward(params, x, key=None, rate=0.0):
    w1, b1, w2, b2, w3, b3 = params
    keys = (None, None) if key is None else jax.random.split(key)
    x = drop(jax.nn.relu(x @ w1 + b1), keys[0], rate)
    x = drop(jax.nn.relu(x @ w2 + b2), keys[1], rate)
    return x @ w3 + b3


def drop(x, key, rate):
    if key is None or rate == 0.0:
        return x
    return jnp.where(jax.random.bernoulli(key, 1.0 - rate, x.shape), x / (1.0 - rate), 0.0)


def loss_of(params, x, y, key, rate):
    logits = forward(params, x, key, rate)
    loss = -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], axis=1))
    return loss, jnp.mean(jnp.argmax(logits, axis=1) == y)


@partial(jax.jit, static_argnums=(5, 6))
def update(params, squares, key, x, y, rate, settings):
    """RMSprop, which JAX itself does not bring."""
    learning_rate, rho, epsilon = settings
    key, own = jax.random.split(key)
    (loss, accuracy), gradients = jax.value_and_grad(loss_of, has_aux=True)(params, x, y, own, rate)
    squares = [rho * s + (1.0 - rho) * g * g for s, g in zip(squares, gradients)]
    params = [p - learning_rate * g / (jnp.sqrt(s) + epsilon) for p, s, g in zip(params, squares, gradients)]
    return params, squares, key, loss, accuracy


@jax.jit
def probabilities(params, x):
    return jax.nn.softmax(forward(params, x))
