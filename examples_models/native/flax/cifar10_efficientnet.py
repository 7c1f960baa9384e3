"""cifar10_efficientnet in Flax (nnx) with an optimizer of optax."""

import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

WIDTHS = (32, 16, 24, 24, 40, 40, 80, 80, 80, 112, 112, 112, 192, 192, 192, 192, 320)  # before and behind the blocks
SIZES, STRIDES = (3, 3, 3, 5, 5, 3, 3, 3, 5, 5, 5, 5, 5, 5, 5, 3), (1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1)


class Convolution(nnx.Module):
    def __init__(self, inputs, filters, rngs, size=1, stride=1, groups=1):
        how = {"padding": size // 2, "feature_group_count": groups, "use_bias": False}
        self.conv = nnx.Conv(inputs, filters, (size, size), stride, rngs=rngs, **how)
        self.norm = nnx.BatchNorm(filters, momentum=0.99, epsilon=0.001, use_fast_variance=False, rngs=rngs)

    def __call__(self, x, train):
        return self.norm(self.conv(x), use_running_average=not train)


class Block(nnx.Module):
    def __init__(self, before, filters, size, stride, rngs):
        inside, few = before if before == 32 else 6 * before, before // 4  # the first block is not wider inside
        self.wide = Convolution(before, inside, rngs) if inside > before else None
        self.each = Convolution(inside, inside, rngs, size, stride, groups=inside)
        self.squeeze, self.excite = nnx.Linear(inside, few, rngs=rngs), nnx.Linear(few, inside, rngs=rngs)
        self.narrow = Convolution(inside, filters, rngs)

    def __call__(self, x, train):
        y = nnx.silu(self.each(nnx.silu(self.wide(x, train)) if self.wide else x, train))
        y = self.narrow(y * nnx.sigmoid(self.excite(nnx.silu(self.squeeze(y.mean((1, 2))))))[:, None, None], train)
        return x + y if x.shape == y.shape else y


class EfficientNet(nnx.Module):
    def __init__(self, rate, rngs):
        self.first, self.last = Convolution(3, 32, rngs, 3), Convolution(320, 1280, rngs)
        self.blocks = nnx.List([Block(*one, rngs) for one in zip(WIDTHS, WIDTHS[1:], SIZES, STRIDES)])
        self.dropout, self.dense = nnx.Dropout(rate, rngs=rngs), nnx.Linear(1280, 10, rngs=rngs)

    def __call__(self, x, train):
        x = nnx.silu(self.first(x, train))
        for block in self.blocks:
            x = block(x, train)
        return self.dense(self.dropout(nnx.silu(self.last(x, train)).mean((1, 2)), deterministic=not train))


def by_layer(model):
    """[(class in Keras, its weights)], with the averages of batch normalisation."""
    blocks = [(one.wide, one.each, one.squeeze, one.excite, one.narrow) for one in model.blocks]
    for part in (model.first, *(part for block in blocks for part in block), model.last, model.dense):
        if isinstance(part, nnx.Linear):
            yield "Dense", [part.kernel, part.bias]
        elif isinstance(part, Convolution):
            yield "Conv2D" if part.conv.feature_group_count == 1 else "DepthwiseConv2D", [part.conv.kernel]
            yield "BatchNormalization", [part.norm.scale, part.norm.bias, part.norm.mean, part.norm.var]


LAYERS = []
for kind, held in by_layer(nnx.eval_shape(lambda: EfficientNet(0.0, nnx.Rngs(0)))):
    axes = (0, 1, 3, 2) if kind == "DepthwiseConv2D" else (0, 1, 2, 3)  # its one filter comes last in Keras
    LAYERS.append((kind, *(tuple(one.shape[axis] for axis in axes[: one.ndim]) for one in held)))
HE = ("VarianceScaling", {"scale": 2.0, "mode": "fan_out", "distribution": "normal"})
INITIALIZERS = {"Conv2D": (HE,), "DepthwiseConv2D": (HE,), "Dense": (HE, "Zeros"), -1: ("GlorotUniform", "Zeros")}


def build(weights, dropout, seed):
    model = EfficientNet(0.2 if dropout else 0.0, nnx.Rngs(seed))
    for one, value in zip((one for _, held in by_layer(model) for one in held), weights):
        one[...] = jnp.asarray(value).reshape(one.shape)
    return model


def optimizer(model, learning_rate, beta_1, beta_2, epsilon):
    adam = optax.inject_hyperparams(optax.adam)  # whose epsilon is beside the corrected root, unlike Keras's
    made = adam(learning_rate, beta_1, beta_2, lambda steps: epsilon / jnp.sqrt(1.0 - beta_2 ** (steps + 1)))
    return nnx.Optimizer(model, made, wrt=nnx.Param)


@nnx.jit
def step(model, optimizer, x, y):
    def loss_of(model):
        logits = model(x, train=True)
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), logits

    (loss, logits), gradients = nnx.value_and_grad(loss_of, has_aux=True)(model)
    optimizer.update(model, gradients)
    return loss, jnp.mean(jnp.argmax(logits, axis=1) == y)


@nnx.jit
def predict(model, x):
    return nnx.softmax(model(x, train=False))


def weights(model):
    shapes = iter([shape for _, *inside in LAYERS for shape in inside])
    return [np.asarray(one[...]).reshape(next(shapes)) for _, held in by_layer(model) for one in held]
