"""alexnet_r in Flax (nnx) with an optimizer of optax."""

import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

LAYERS = [
    ("Conv2D", (5, 5, 3, 32), (32,)),
    ("Conv2D", (5, 5, 32, 32), (32,)),
    ("Conv2D", (5, 5, 32, 64), (64,)),
    ("Dense", (576, 10), (10,)),
]
NORMAL = ("RandomNormal", {"stddev": 0.01})
INITIALIZERS = {"Conv2D": (NORMAL, "Zeros"), "Dense": (NORMAL, "Zeros")}


class CNN(nnx.Module):
    def __init__(self, rngs):
        self.conv1 = nnx.Conv(3, 32, (5, 5), padding="SAME", rngs=rngs)
        self.conv2 = nnx.Conv(32, 32, (5, 5), padding="SAME", rngs=rngs)
        self.conv3 = nnx.Conv(32, 64, (5, 5), padding="SAME", rngs=rngs)
        self.last = nnx.Linear(576, 10, rngs=rngs)

    def __call__(self, x):
        x = nnx.relu(nnx.max_pool(self.conv1(x), (3, 3), strides=(2, 2)))
        x = nnx.max_pool(nnx.relu(self.conv2(x)), (3, 3), strides=(2, 2))
        x = nnx.avg_pool(nnx.relu(self.conv3(x)), (3, 3), strides=(2, 2))
        return self.last(x.reshape(len(x), -1))


def build(weights, dropout, seed):
    model = CNN(nnx.Rngs(seed))
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
    layers = (model.conv1, model.conv2, model.conv3, model.last)
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
