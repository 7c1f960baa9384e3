"""mnist_mlp in Flax (nnx) with an optimizer of optax."""

import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

LAYERS = [("Dense", (784, 512), (512,)), ("Dense", (512, 512), (512,)), ("Dense", (512, 10), (10,))]


class MLP(nnx.Module):
    def __init__(self, rate, rngs):
        self.first = nnx.Linear(784, 512, rngs=rngs)
        self.second = nnx.Linear(512, 512, rngs=rngs)
        self.last = nnx.Linear(512, 10, rngs=rngs)
        self.dropout = nnx.Dropout(rate, rngs=rngs)

    def __call__(self, x, train):
        x = self.dropout(nnx.relu(self.first(x)), deterministic=not train)
        x = self.dropout(nnx.relu(self.second(x)), deterministic=not train)
        return self.last(x)


def build(weights, dropout, seed):
    model = MLP(0.2 if dropout else 0.0, nnx.Rngs(seed))
    for param, value in zip(params(model), weights):
        param[...] = jnp.asarray(value)
    return model


def optimizer(model, learning_rate, rho, epsilon):
    made = optax.rmsprop(learning_rate, decay=rho, eps=epsilon, eps_in_sqrt=False)
    return nnx.Optimizer(model, made, wrt=nnx.Param)


def step(model, optimizer, x, y):
    return update(model, optimizer, x, y)


def predict(model, x):
    return probabilities(model, x)


def weights(model):
    return [np.asarray(param[...]) for param in params(model)]


def params(model):
    layers = (model.first, model.second, model.last)
    return [param for layer in layers for param in (layer.kernel, layer.bias)]


def loss_of(model, x, y):
    logits = model(x, train=True)
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), logits


@nnx.jit
def update(model, optimizer, x, y):
    (loss, logits), gradients = nnx.value_and_grad(loss_of, has_aux=True)(model, x, y)
    optimizer.update(model, gradients)
    return loss, jnp.mean(jnp.argmax(logits, axis=1) == y)


@nnx.jit
def probabilities(model, x):
    return nnx.softmax(model(x, train=False))
