"""cifar10_vgg in Flax (nnx) with an optimizer of optax."""

import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

LAYERS = [
    ("Conv2D", (3, 3, 3, 50), (50,)),
    ("Conv2D", (3, 3, 50, 50), (50,)),
    ("Conv2D", (3, 3, 50, 100), (100,)),
    ("Conv2D", (3, 3, 100, 100), (100,)),
    ("Dense", (6400, 512), (512,)),
    ("Dense", (512, 10), (10,)),
]


class CNN(nnx.Module):
    def __init__(self, rates, rngs):
        self.conv1 = nnx.Conv(3, 50, (3, 3), padding="SAME", rngs=rngs)
        self.conv2 = nnx.Conv(50, 50, (3, 3), padding="SAME", rngs=rngs)
        self.conv3 = nnx.Conv(50, 100, (3, 3), padding="SAME", rngs=rngs)
        self.conv4 = nnx.Conv(100, 100, (3, 3), padding="SAME", rngs=rngs)
        self.dense = nnx.Linear(6400, 512, rngs=rngs)
        self.last = nnx.Linear(512, 10, rngs=rngs)
        self.after_pool = nnx.Dropout(rates[0], rngs=rngs)
        self.after_dense = nnx.Dropout(rates[1], rngs=rngs)

    def __call__(self, x, train):
        x = nnx.relu(self.conv2(nnx.relu(self.conv1(x))))
        x = self.after_pool(nnx.max_pool(x, (2, 2), strides=(2, 2)), deterministic=not train)
        x = nnx.relu(self.conv4(nnx.relu(self.conv3(x))))
        x = self.after_pool(nnx.max_pool(x, (2, 2), strides=(2, 2)), deterministic=not train)
        x = nnx.relu(self.dense(x.reshape(len(x), -1)))
        return self.last(self.after_dense(x, deterministic=not train))


def build(weights, dropout, seed):
    model = CNN((0.25, 0.5) if dropout else (0.0, 0.0), nnx.Rngs(seed))
    for param, value in zip(params(model), weights):
        param[...] = jnp.asarray(value)
    return model


def optimizer(model, learning_rate, momentum, nesterov):
    made = optax.sgd(learning_rate, momentum, nesterov)
    return nnx.Optimizer(model, made, wrt=nnx.Param)


def step(model, optimizer, x, y):
    return update(model, optimizer, x, y)


def predict(model, x):
    return probabilities(model, x)


def weights(model):
    return [np.asarray(param[...]) for param in params(model)]


def params(model):
    layers = (model.conv1, model.conv2, model.conv3, model.conv4, model.dense, model.last)
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
