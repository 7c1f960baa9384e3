"""mnist_cnn in Flax (nnx) with an optimizer of optax."""

import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

LAYERS = [
    ("Conv2D", (3, 3, 1, 32), (32,)),
    ("Conv2D", (3, 3, 32, 64), (64,)),
    ("Dense", (9216, 128), (128,)),
    ("Dense", (128, 10), (10,)),
]


class CNN(nnx.Module):
    def __init__(self, rates, rngs):
        self.first = nnx.Conv(1, 32, (3, 3), padding="VALID", rngs=rngs)
        self.second = nnx.Conv(32, 64, (3, 3), padding="VALID", rngs=rngs)
        self.third = nnx.Linear(9216, 128, rngs=rngs)
        self.last = nnx.Linear(128, 10, rngs=rngs)
        self.after_pool = nnx.Dropout(rates[0], rngs=rngs)
        self.after_dense = nnx.Dropout(rates[1], rngs=rngs)

    def __call__(self, x, train):
        x = nnx.relu(self.second(nnx.relu(self.first(x))))
        x = self.after_pool(nnx.max_pool(x, (2, 2), strides=(2, 2)), deterministic=not train)
        x = nnx.relu(self.third(x.reshape(len(x), -1)))
        return self.last(self.after_dense(x, deterministic=not train))


def build(weights, dropout, seed):
    model = CNN((0.25, 0.5) if dropout else (0.0, 0.0), nnx.Rngs(seed))
    for param, value in zip(params(model), weights):
        param[...] = jnp.asarray(value)
    return model


def optimizer(model, learning_rate, rho, epsilon):
    return nnx.Optimizer(model, optax.adadelta(learning_rate, rho=rho, eps=epsilon), wrt=nnx.Param)


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
