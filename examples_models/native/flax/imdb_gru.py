"""imdb_gru in Flax (nnx), with a GRU of its own: Flax's resets after the product, this one before it."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jax import lax

LAYERS = [("Embedding", (30000, 125)), ("GRU", (125, 300), (100, 300), (300,)), ("Dense", (100, 2), (2,))]


class Net(nnx.Module):
    def __init__(self, rngs):
        self.embedding = nnx.Embed(30000, 125, rngs=rngs)
        self.kernel = nnx.Param(jnp.zeros((125, 300)))  # of update gate, reset gate and new state
        self.recurrent = nnx.Param(jnp.zeros((100, 300)))
        self.bias = nnx.Param(jnp.zeros((300,)))
        self.dense = nnx.Linear(100, 2, rngs=rngs)

    def __call__(self, x):
        recurrent = self.recurrent[...]

        def cell(state, given):
            gates = nnx.sigmoid(given[:, :200] + state @ recurrent[:, :200])
            update, reset = jnp.split(gates, 2, axis=1)
            new = jnp.tanh(given[:, 200:] + (reset * state) @ recurrent[:, 200:])
            return update * state + (1.0 - update) * new, None

        inputs = self.embedding(x) @ self.kernel[...] + self.bias[...]
        state, _ = lax.scan(cell, jnp.zeros((len(x), 100)), inputs.swapaxes(0, 1))
        return self.dense(state)


def adam(learning_rate, beta_1, beta_2, epsilon):
    """With Keras's formula: optax's own has epsilon beside the corrected root."""

    def start(params):
        zeros = jax.tree.map(jnp.zeros_like, params)
        return {"steps": jnp.zeros((), "int32"), "means": zeros, "squares": zeros}

    def update(gradients, held, params=None):
        steps = held["steps"] + 1
        means = jax.tree.map(lambda m, g: beta_1 * m + (1.0 - beta_1) * g, held["means"], gradients)
        squares = jax.tree.map(lambda s, g: beta_2 * s + (1.0 - beta_2) * g * g, held["squares"], gradients)
        rate = learning_rate * jnp.sqrt(1.0 - beta_2**steps) / (1.0 - beta_1**steps)
        updates = jax.tree.map(lambda m, s: -rate * m / (jnp.sqrt(s) + epsilon), means, squares)
        return updates, {"steps": steps, "means": means, "squares": squares}

    return optax.GradientTransformation(start, update)


def build(weights, dropout, seed):
    model = Net(nnx.Rngs(seed))
    for param, value in zip(params(model), weights):
        param[...] = jnp.asarray(value)
    return model


def optimizer(model, learning_rate, beta_1, beta_2, epsilon):
    return nnx.Optimizer(model, adam(learning_rate, beta_1, beta_2, epsilon), wrt=nnx.Param)


def step(model, optimizer, x, y):
    return update(model, optimizer, x, y)


def predict(model, x):
    return probabilities(model, x)


def weights(model):
    return [np.asarray(param[...]) for param in params(model)]


def params(model):
    dense = model.dense
    return [model.embedding.embedding, model.kernel, model.recurrent, model.bias, dense.kernel, dense.bias]


def loss_of(model, x, y):
    logits = model(x)
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), logits


@nnx.jit
def update(model, optimizer, x, y):
    (loss, logits), gradients = nnx.value_and_grad(loss_of, has_aux=True)(model, x, y)
    optimizer.update(model, gradients)
    return loss, jnp.mean(jnp.argmax(logits, axis=1) == y)


@nnx.jit
def probabilities(model, x):
    return nnx.softmax(model(x))
