"""cifar10_efficientnet in JAX: functions of a list of arrays, compiled with jit."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

WIDTHS = (32, 16, 24, 24, 40, 40, 80, 80, 80, 112, 112, 112, 192, 192, 192, 192, 320)  # before and behind the blocks
SIZES, STRIDES = (3, 3, 3, 5, 5, 3, 3, 3, 5, 5, 5, 5, 5, 5, 5, 3), (1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1)
HE = ("VarianceScaling", {"scale": 2.0, "mode": "fan_out", "distribution": "normal"})
INITIALIZERS = {"Conv2D": (HE,), "DepthwiseConv2D": (HE,), "Dense": (HE, "Zeros"), -1: ("GlorotUniform", "Zeros")}


def normed(*shape):
    kind, filters = ("DepthwiseConv2D", shape[2]) if shape[3] == 1 else ("Conv2D", shape[3])
    return [(kind, shape), ("BatchNormalization", *4 * ((filters,),))]


LAYERS = normed(3, 3, 3, 32)
for before, filters, size in zip(WIDTHS, WIDTHS[1:], SIZES):
    inside, few = before if before == 32 else 6 * before, before // 4  # the first block is not wider inside
    LAYERS += [*(normed(1, 1, before, inside) if inside > before else ()), *normed(size, size, inside, 1)]
    LAYERS += [("Dense", (inside, few), (few,)), ("Dense", (few, inside), (inside,)), *normed(1, 1, inside, filters)]
LAYERS += [*normed(1, 1, 320, 1280), ("Dense", (1280, 10), (10,))]


def build(weights, dropout, seed):
    values = iter(weights)
    layers = [[jnp.asarray(next(values)) for _ in layer[1:]] for layer in LAYERS]
    held = {"params": [one[:2] for one in layers], "averages": [one[2:] for one in layers]}
    return {**held, "key": jax.random.key(seed) if dropout else None}


def optimizer(model, learning_rate, beta_1, beta_2, epsilon):
    zeros = jax.tree.map(jnp.zeros_like, model["params"])
    return {"held": (zeros, zeros), "steps": 0, "settings": (learning_rate, beta_1, beta_2, epsilon)}


def step(model, optimizer, x, y):
    learning_rate, beta_1, beta_2, epsilon = optimizer["settings"]
    optimizer["steps"] += 1
    rate = learning_rate * (1.0 - beta_2 ** optimizer["steps"]) ** 0.5 / (1.0 - beta_1 ** optimizer["steps"])
    changed, optimizer["held"], *told = update(model, optimizer["held"], x, y, rate, beta_1, beta_2, epsilon)
    model.update(changed)
    return told


@jax.jit
def predict(model, x):
    return jax.nn.softmax(forward(model["params"], model["averages"], x)[0])


def weights(model):
    return [np.asarray(value) for pair in zip(model["params"], model["averages"]) for part in pair for value in part]


def forward(params, averages, x, key=None, train=False):
    """The logits, and what the averages are then."""
    layers, found = zip(params, averages), []

    def convolve(x, stride=1, each=False):
        ((kernel,), _), ((gamma, beta), average) = next(layers), next(layers)
        pad, kernel = len(kernel) // 2, kernel.swapaxes(2, 3) if each else kernel
        how = {"dimension_numbers": ("NHWC", "HWIO", "NHWC"), "feature_group_count": len(gamma) if each else 1}
        x = jax.lax.conv_general_dilated(x, kernel, (stride, stride), ((pad, pad), (pad, pad)), **how)
        mean, variance = (jnp.mean(x, (0, 1, 2)), jnp.var(x, (0, 1, 2))) if train else average
        found.extend([[], [0.99 * old + 0.01 * new for old, new in zip(average, (mean, variance))]])
        return (x - mean) * jax.lax.rsqrt(variance + 0.001) * gamma + beta

    def dense(x):
        (kernel, bias), _ = next(layers)
        found.append([])
        return x @ kernel + bias

    x = jax.nn.silu(convolve(x))
    for before, stride in zip(WIDTHS, STRIDES):
        y = x if before == 32 else jax.nn.silu(convolve(x))
        y = jax.nn.silu(convolve(y, stride, each=True))
        y = convolve(y * jax.nn.sigmoid(dense(jax.nn.silu(dense(y.mean((1, 2))))))[:, None, None])
        x = x + y if x.shape == y.shape else y
    x = jax.nn.silu(convolve(x)).mean((1, 2))
    return dense(x if key is None else jnp.where(jax.random.bernoulli(key, 0.8, x.shape), x / 0.8, 0.0)), found


@partial(jax.jit, static_argnums=(5, 6, 7))
def update(model, held, x, y, rate, beta_1, beta_2, epsilon):
    """A step of Adam, with Keras's formula."""
    key, drawn = (None, None) if model["key"] is None else jax.random.split(model["key"])

    def loss_of(params):
        logits, averages = forward(params, model["averages"], x, drawn, train=True)
        loss = -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], axis=1))
        return loss, (averages, jnp.mean(jnp.argmax(logits, axis=1) == y))

    (loss, (averages, accuracy)), gradients = jax.value_and_grad(loss_of, has_aux=True)(model["params"])
    means = jax.tree.map(lambda m, g: beta_1 * m + (1.0 - beta_1) * g, held[0], gradients)
    squares = jax.tree.map(lambda s, g: beta_2 * s + (1.0 - beta_2) * g * g, held[1], gradients)
    params = jax.tree.map(lambda p, m, s: p - rate * m / (jnp.sqrt(s) + epsilon), model["params"], means, squares)
    return {"params": params, "averages": averages, "key": key}, (means, squares), loss, accuracy
