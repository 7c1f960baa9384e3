"""segmentation_unet in Flax (nnx) with an optimizer of optax."""

import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx


def convolutions(inputs, filters, rngs):
    counts = (inputs, filters, filters)
    first, second = (nnx.Conv(*inside, (3, 3), padding="SAME", rngs=rngs) for inside in zip(counts, counts[1:]))
    return nnx.Sequential(first, nnx.relu, second, nnx.relu)


def transposed(inputs, filters, rngs):
    more = {"padding": "VALID", "transpose_kernel": True}  # a kernel of (rows, columns, filters, inputs)
    return nnx.ConvTranspose(inputs, filters, (2, 2), strides=(2, 2), rngs=rngs, **more)


class UNet(nnx.Module):
    def __init__(self, rngs):
        counts = (1, 16, 32, 64, 128)
        self.down = nnx.List([convolutions(*inside, rngs) for inside in zip(counts, counts[1:])])
        self.larger = nnx.List([transposed(2 * filters, filters, rngs) for filters in (64, 32, 16)])
        self.up = nnx.List([convolutions(2 * filters, filters, rngs) for filters in (64, 32, 16)])
        self.last = nnx.Conv(16, 1, (1, 1), rngs=rngs)

    def __call__(self, x):
        before = []
        for down in self.down[:-1]:
            before.append(down(x))
            x = nnx.max_pool(before[-1], (2, 2), strides=(2, 2))
        x = self.down[-1](x)
        for larger, up in zip(self.larger, self.up):
            x = up(jnp.concatenate([before.pop(), larger(x)], axis=3))
        return self.last(x).reshape(len(x), -1, 1)


def layers(model):
    """Those with weights, as Keras has them."""
    found = [layer for down in model.down for layer in down.layers[::2]]
    for larger, up in zip(model.larger, model.up):
        found += [larger, *up.layers[::2]]
    return [*found, model.last]


def params(model):
    return [param for layer in layers(model) for param in (layer.kernel, layer.bias)]


KINDS = {nnx.Conv: "Conv2D", nnx.ConvTranspose: "Conv2DTranspose"}
INITIALIZERS = {"Conv2D": ("HeNormal", "Zeros"), -1: ("GlorotUniform", "Zeros")}
ALL = layers(UNet(nnx.Rngs(0)))
LAYERS = [(KINDS[type(layer)], layer.kernel[...].shape, layer.bias[...].shape) for layer in ALL]


def build(weights, dropout, seed):
    model = UNet(nnx.Rngs(seed))
    for param, value in zip(params(model), weights):
        param[...] = jnp.asarray(value)
    return model


def optimizer(model, learning_rate, beta_1, beta_2, epsilon):
    adam = optax.inject_hyperparams(optax.adam)  # whose epsilon is beside the corrected root, unlike Keras's
    made = adam(learning_rate, beta_1, beta_2, lambda steps: epsilon / jnp.sqrt(1.0 - beta_2 ** (steps + 1)))
    return nnx.Optimizer(model, made, wrt=nnx.Param)


@nnx.jit
def step(model, optimizer, x, y):
    def loss_of(model):
        logits = model(x)
        return optax.sigmoid_binary_cross_entropy(logits, y).mean(), logits

    (loss, logits), gradients = nnx.value_and_grad(loss_of, has_aux=True)(model)
    optimizer.update(model, gradients)
    return loss, jnp.mean((logits > 0) == (y > 0))


@nnx.jit
def predict(model, x):
    return nnx.sigmoid(model(x))


def weights(model):
    return [np.asarray(param[...]) for param in params(model)]
