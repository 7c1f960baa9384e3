"""fcn_r in Flax (nnx) with an optimizer of optax."""

import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

SIZES = (784, 2048, 4096, 1024, 10)
LAYERS = [("Dense", (inputs, outputs), (outputs,)) for inputs, outputs in zip(SIZES, SIZES[1:])]


class MLP(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(784, 2048, rngs=rngs)
        self.second = nnx.Linear(2048, 4096, rngs=rngs)
        self.third = nnx.Linear(4096, 1024, rngs=rngs)
        self.last = nnx.Linear(1024, 10, rngs=rngs)

    def __call__(self, x):
        x = nnx.sigmoid(self.second(nnx.sigmoid(self.first(x))))
        return self.last(nnx.sigmoid(self.third(x)))


def build(weights, dropout, seed):
    model = MLP(nnx.Rngs(seed))
    for param, value in zip(params(model), weights):
        param[...] = jnp.asarray(value)
    return model


def optimizer(model, learning_rate, momentum, nesterov):
    return nnx.Optimizer(model, optax.sgd(learning_rate, momentum, nesterov), wrt=nnx.Param)


def step(model, optimizer, x, y):
    return update(model, optimizer, x, y)


def predict(model, x):
    return probabilities(model, x)


def weights(model):
    return [np.asarray(param[...]) for param in params(model)]


def params(model):
    layers = (model.first, model.second, model.third, model.last)
    return [param for layer in layers for param in (layer.kernel, layer.bias)]


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
