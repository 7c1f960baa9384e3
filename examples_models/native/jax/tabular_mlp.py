"""tabular_mlp in JAX: functions of a list of arrays, compiled with jit."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

CATEGORIES = {"customer": 2000, "product": 500, "region": 50, "weekday": 7}
MOMENTUM, EPSILON = 0.99, 0.001  # of batch normalisation
LAYERS = [
    *(("Embedding", (count, 16)) for count in CATEGORIES.values()),
    ("Dense", (74, 128), (128,)), ("BatchNormalization", *4 * ((128,),)),
    ("Dense", (128, 64), (64,)), ("BatchNormalization", *4 * ((64,),)),
    ("Dense", (64, 1), (1,)),
]  # fmt: skip
AVERAGES = (8, 9, 14, 15)  # among the weights: moving means and variances


def build(weights, dropout, seed):
    held = [jnp.asarray(value) for value in weights]
    params = [value for number, value in enumerate(held) if number not in AVERAGES]
    averages = [held[number] for number in AVERAGES]
    return {"params": params, "averages": averages, "key": jax.random.key(seed) if dropout else None}


def optimizer(model, learning_rate, beta_1, beta_2, epsilon):
    zeros = [jnp.zeros_like(value) for value in model["params"]]
    return {"means": zeros, "squares": zeros, "steps": 0, "settings": (learning_rate, beta_1, beta_2, epsilon)}


def step(model, optimizer, x, y):
    learning_rate, beta_1, beta_2, epsilon = optimizer["settings"]
    optimizer["steps"] += 1
    rate = learning_rate * (1.0 - beta_2 ** optimizer["steps"]) ** 0.5 / (1.0 - beta_1 ** optimizer["steps"])
    state = (model["params"], optimizer["means"], optimizer["squares"], model["averages"], model["key"])
    state, loss, accuracy = update(state, x, y, rate, beta_1, beta_2, epsilon)
    model["params"], optimizer["means"], optimizer["squares"], model["averages"], model["key"] = state
    return loss, accuracy


def predict(model, x):
    return probabilities(model["params"], model["averages"], x)


def weights(model):
    params, averages = iter(model["params"]), iter(model["averages"])
    count = len(model["params"]) + len(AVERAGES)
    return [np.asarray(next(averages if number in AVERAGES else params)) for number in range(count)]


def forward(params, averages, x, key=None, train=False):
    """The logits, and what the averages are then."""
    *tables, k1, b1, gamma1, beta1, k2, b2, gamma2, beta2, kernel, bias = params
    keys = (None, None) if key is None else jax.random.split(key)
    x = jnp.concatenate([*(table[x[name][:, 0]] for table, name in zip(tables, CATEGORIES)), x["numbers"]], axis=1)
    x, first = normalised(x @ k1 + b1, gamma1, beta1, averages[:2], train)
    x, second = normalised(drop(jax.nn.relu(x), keys[0]) @ k2 + b2, gamma2, beta2, averages[2:], train)
    return drop(jax.nn.relu(x), keys[1]) @ kernel + bias, [*first, *second]


def normalised(x, gamma, beta, averages, train):
    mean, variance = averages
    if train:
        own = mean, variance = jnp.mean(x, 0), jnp.var(x, 0)
        averages = [MOMENTUM * old + (1 - MOMENTUM) * new for old, new in zip(averages, own)]
    return (x - mean) * jax.lax.rsqrt(variance + EPSILON) * gamma + beta, averages


def drop(x, key):
    return x if key is None else jnp.where(jax.random.bernoulli(key, 0.9, x.shape), x / 0.9, 0.0)


def loss_of(params, averages, x, y, key):
    logits, averages = forward(params, averages, x, key, train=True)
    loss = jnp.mean(jax.nn.softplus(logits) - y * logits)
    return loss, (averages, jnp.mean((logits > 0) == (y > 0)))


@partial(jax.jit, static_argnums=(4, 5, 6))
def update(state, x, y, rate, beta_1, beta_2, epsilon):
    """Adam, with Keras's formula."""
    params, means, squares, averages, key = state
    key, drawn = (None, None) if key is None else jax.random.split(key)
    of_loss = jax.value_and_grad(loss_of, has_aux=True)
    (loss, (averages, accuracy)), gradients = of_loss(params, averages, x, y, drawn)
    means = [beta_1 * m + (1.0 - beta_1) * g for m, g in zip(means, gradients)]
    squares = [beta_2 * s + (1.0 - beta_2) * g * g for s, g in zip(squares, gradients)]
    params = [p - rate * m / (jnp.sqrt(s) + epsilon) for p, m, s in zip(params, means, squares)]
    return (params, means, squares, averages, key), loss, accuracy


@jax.jit
def probabilities(params, averages, x):
    return jax.nn.sigmoid(forward(params, averages, x)[0])
