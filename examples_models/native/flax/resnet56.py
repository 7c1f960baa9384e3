"""resnet56 in Flax (nnx) with an optimizer of optax."""

import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

WEIGHT_DECAY = 1e-4  # of the kernels, and part of the loss, as in Keras
COUNTS = (3, 16, *(16,) * 18, *(32,) * 18, *(64,) * 18)  # channels of the pictures, and of each convolution
LAYERS = []
for inputs, filters in zip(COUNTS, COUNTS[1:]):
    LAYERS += [("Conv2D", (3, 3, inputs, filters)), ("BatchNormalization", *4 * ((filters,),))]
LAYERS.append(("Dense", (64, 10), (10,)))
INITIALIZERS = {"Conv2D": ("HeNormal",)}


class Convolution(nnx.Module):
    def __init__(self, inputs, filters, stride, rngs):
        self.convolution = nnx.Conv(inputs, filters, (3, 3), stride, padding=1, use_bias=False, rngs=rngs)
        self.norm = nnx.BatchNorm(filters, momentum=0.9, epsilon=1e-5, use_fast_variance=False, rngs=rngs)

    def __call__(self, x, train):
        return self.norm(self.convolution(x), use_running_average=not train)


class Block(nnx.Module):
    def __init__(self, inputs, filters, rngs):
        self.halves = inputs != filters
        self.first = Convolution(inputs, filters, 2 if self.halves else 1, rngs)
        self.second = Convolution(filters, filters, 1, rngs)

    def __call__(self, x, train):
        y = self.second(nnx.relu(self.first(x, train)), train)
        if self.halves:
            x = jnp.pad(nnx.avg_pool(x, (2, 2), strides=(2, 2)), ((0, 0), (0, 0), (0, 0), (0, x.shape[3])))
        return x + y


class ResNet56(nnx.Module):
    def __init__(self, rngs):
        self.first, self.last = Convolution(3, 16, 1, rngs), nnx.Linear(64, 10, rngs=rngs)
        self.blocks = nnx.List([Block(*inside, rngs) for inside in zip(COUNTS[1::2], COUNTS[3::2])])

    def __call__(self, x, train):
        x = nnx.relu(self.first(x, train))
        for block in self.blocks:
            x = block(x, train)
        return self.last(x.mean((1, 2)))


def build(weights, dropout, seed):
    model = ResNet56(nnx.Rngs(seed))
    for variable, value in zip(variables(model), weights):
        variable[...] = jnp.asarray(value)
    return model


def optimizer(model, learning_rate, momentum, nesterov):
    return nnx.Optimizer(model, optax.sgd(learning_rate, momentum, nesterov), wrt=nnx.Param)


def step(model, optimizer, x, y):
    return update(model, optimizer, x, y)


def predict(model, x):
    return probabilities(model, x)


def weights(model):
    return [np.asarray(variable[...]) for variable in variables(model)]


def parts(model):
    return [model.first, *(part for block in model.blocks for part in (block.first, block.second))]


def variables(model):
    pairs = [(part.convolution.kernel, part.norm) for part in parts(model)]
    inside = [(kernel, norm.scale, norm.bias, norm.mean, norm.var) for kernel, norm in pairs]
    return [*(variable for one in inside for variable in one), model.last.kernel, model.last.bias]


def loss_of(model, x, y):
    logits = model(x, train=True)
    layers = [*(part.convolution for part in parts(model)), model.last]
    penalty = WEIGHT_DECAY / 2 * sum(jnp.sum(jnp.square(layer.kernel[...])) for layer in layers)
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean() + penalty, logits


@nnx.jit
def update(model, optimizer, x, y):
    (loss, logits), gradients = nnx.value_and_grad(loss_of, has_aux=True)(model, x, y)
    optimizer.update(model, gradients)
    return loss, jnp.mean(jnp.argmax(logits, axis=1) == y)


@nnx.jit
def probabilities(model, x):
    return nnx.softmax(model(x, train=False))
