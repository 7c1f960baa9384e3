"""imdb_transformer in JAX, with its own attention, compiled with jit."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

ATTENTION = ("MultiHeadAttention", *[(64, 4, 16), (4, 16)] * 3, (4, 16, 64), (64,))
NORMALIZATION = ("LayerNormalization", (64,), (64,))
BLOCK = [ATTENTION, NORMALIZATION, ("Dense", (64, 128), (128,)), ("Dense", (128, 64), (64,)), NORMALIZATION]
LAYERS = [("TokenAndPositionEmbedding", (30000, 64), (150, 64)), *BLOCK, *BLOCK, ("Dense", (64, 2), (2,))]


def build(weights, dropout, seed):
    return {"params": [jnp.asarray(value) for value in weights], "key": jax.random.key(seed) if dropout else None}


def optimizer(model, learning_rate, beta_1, beta_2, epsilon):
    zeros = [jnp.zeros_like(value) for value in model["params"]]
    return {"means": zeros, "squares": zeros, "steps": 0, "settings": (learning_rate, beta_1, beta_2, epsilon)}


def step(model, optimizer, x, y):
    learning_rate, beta_1, beta_2, epsilon = optimizer["settings"]
    optimizer["steps"] += 1
    rate = learning_rate * (1.0 - beta_2 ** optimizer["steps"]) ** 0.5 / (1.0 - beta_1 ** optimizer["steps"])
    state = (model["params"], optimizer["means"], optimizer["squares"], model["key"])
    state, loss, accuracy = update(state, x, y, rate, beta_1, beta_2, epsilon)
    model["params"], optimizer["means"], optimizer["squares"], model["key"] = state
    return loss, accuracy


def predict(model, x):
    return probabilities(model["params"], x)


def weights(model):
    return [np.asarray(value) for value in model["params"]]


def attention(x, weights):
    query, key, value, out = zip(weights[::2], weights[1::2])
    q, k, v = (jnp.einsum("btw,whd->bthd", x, kernel) + bias for kernel, bias in (query, key, value))
    attended = jax.nn.dot_product_attention(q, k, v)
    return jnp.einsum("bthd,hdw->btw", attended, out[0]) + out[1]


def normalised(x, gamma, beta):
    return jax.nn.standardize(x, epsilon=1e-6) * gamma + beta


def block(x, weights, dropout):
    attend, attended, (wide, wide_bias, narrow, narrow_bias), fed = (
        weights[:8], weights[8:10], weights[10:14], weights[14:],
    )  # fmt: skip
    x = normalised(x + dropout(attention(x, attend)), *attended)
    y = jax.nn.relu(x @ wide + wide_bias) @ narrow + narrow_bias
    return normalised(x + dropout(y), *fed)


def forward(params, x, dropout):
    x = params[0][x] + params[1]
    x = block(block(x, params[2:18], dropout), params[18:34], dropout)
    return dropout(jnp.mean(x, axis=1)) @ params[34] + params[35]


def dropping(key):
    """A function that drops a tenth, each time another; none without a key."""
    keys = iter(()) if key is None else iter(jax.random.split(key, 5))

    def dropout(x):
        return x if key is None else jnp.where(jax.random.bernoulli(next(keys), 0.9, x.shape), x / 0.9, 0.0)

    return dropout


def loss_of(params, x, y, key):
    logits = forward(params, x, dropping(key))
    loss = -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[..., None], axis=-1))
    return loss, jnp.mean(jnp.argmax(logits, axis=-1) == y)


@partial(jax.jit, static_argnums=(4, 5, 6))
def update(state, x, y, rate, beta_1, beta_2, epsilon):
    """Adam, with Keras's formula."""
    params, means, squares, key = state
    key, drawn = (None, None) if key is None else jax.random.split(key)
    (loss, accuracy), gradients = jax.value_and_grad(loss_of, has_aux=True)(params, x, y, drawn)
    means = [beta_1 * m + (1.0 - beta_1) * g for m, g in zip(means, gradients)]
    squares = [beta_2 * s + (1.0 - beta_2) * g * g for s, g in zip(squares, gradients)]
    params = [p - rate * m / (jnp.sqrt(s) + epsilon) for p, m, s in zip(params, means, squares)]
    return (params, means, squares, key), loss, accuracy


@jax.jit
def probabilities(params, x):
    return jax.nn.softmax(forward(params, x, dropping(None)))
