"""resnet56 in JAX: functions of a list of arrays, compiled with jit."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

WEIGHT_DECAY = 1e-4  # of the kernels, and part of the loss, as in Keras
MOMENTUM, EPSILON = 0.9, 1e-5  # of batch normalisation
COUNTS = (3, 16, *(16,) * 18, *(32,) * 18, *(64,) * 18)  # channels of the pictures, and of each convolution
LAYERS = []
for inputs, filters in zip(COUNTS, COUNTS[1:]):
    LAYERS += [("Conv2D", (3, 3, inputs, filters)), ("BatchNormalization", *4 * ((filters,),))]
LAYERS.append(("Dense", (64, 10), (10,)))
INITIALIZERS = {"Conv2D": ("HeNormal",)}


def build(weights, dropout, seed):
    """Of each convolution its kernel, gamma and beta are trained, and mean and variance are averages."""
    *inside, kernel, bias = [jnp.asarray(value) for value in weights]
    parts = [inside[at : at + 5] for at in range(0, len(inside), 5)]
    return {"params": [*(part[:3] for part in parts), [kernel, bias]], "averages": [part[3:] for part in parts]}


def optimizer(model, learning_rate, momentum, nesterov):
    assert not nesterov
    return {"velocities": jax.tree.map(jnp.zeros_like, model["params"]), "settings": (learning_rate, momentum)}


def step(model, optimizer, x, y):
    model["params"], model["averages"], optimizer["velocities"], loss, accuracy = update(
        model["params"], model["averages"], optimizer["velocities"], x, y, *optimizer["settings"]
    )
    return loss, accuracy


def predict(model, x):
    return probabilities(model["params"], model["averages"], x)


def weights(model):
    parts = zip(model["params"], [*model["averages"], []])
    return [np.asarray(value) for trained, averages in parts for value in (*trained, *averages)]


def forward(params, averages, x, train=False):
    """The logits, and what the averages are then."""
    *layers, (kernel, bias) = params
    found = []

    def convolve(x, halves=False):
        (weight, gamma, beta), (mean, variance) = layers[len(found)], averages[len(found)]
        strides, names = (2, 2) if halves else (1, 1), ("NHWC", "HWIO", "NHWC")
        x = lax.conv_general_dilated(x, weight, strides, ((1, 1), (1, 1)), dimension_numbers=names)
        if train:
            own = jnp.mean(x, (0, 1, 2)), jnp.var(x, (0, 1, 2))
            found.append([MOMENTUM * old + (1 - MOMENTUM) * new for old, new in zip((mean, variance), own)])
            mean, variance = own
        else:
            found.append([mean, variance])
        return (x - mean) * lax.rsqrt(variance + EPSILON) * gamma + beta

    x = jax.nn.relu(convolve(x))
    for inputs, filters in zip(COUNTS[1::2], COUNTS[3::2]):
        y = convolve(jax.nn.relu(convolve(x, inputs != filters)))
        if inputs != filters:
            x = lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4.0
            x = jnp.concatenate([x, jnp.zeros_like(x)], axis=3)
        x = x + y
    return x.mean((1, 2)) @ kernel + bias, found


def loss_of(params, averages, x, y):
    logits, averages = forward(params, averages, x, train=True)
    loss = -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], axis=1))
    penalty = WEIGHT_DECAY / 2 * sum(jnp.sum(jnp.square(kernel)) for kernel, *_ in params)
    return loss + penalty, (averages, jnp.mean(jnp.argmax(logits, axis=1) == y))


@partial(jax.jit, static_argnums=(5, 6))
def update(params, averages, velocities, x, y, learning_rate, momentum):
    (loss, (averages, accuracy)), gradients = jax.value_and_grad(loss_of, has_aux=True)(params, averages, x, y)
    velocities = jax.tree.map(lambda v, g: momentum * v - learning_rate * g, velocities, gradients)
    return jax.tree.map(jnp.add, params, velocities), averages, velocities, loss, accuracy


@jax.jit
def probabilities(params, averages, x):
    return jax.nn.softmax(forward(params, averages, x)[0])
