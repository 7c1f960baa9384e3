"""char_gpt in Flax (nnx), with its own attention."""

import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

ATTENTION = ("MultiHeadAttention", *[(128, 4, 32), (4, 32)] * 3, (4, 32, 128), (128,))
NORMALIZATION = ("LayerNormalization", (128,), (128,))
BLOCK = [NORMALIZATION, ATTENTION, NORMALIZATION, ("Dense", (128, 512), (512,)), ("Dense", (512, 128), (128,))]
EMBEDDING = ("TokenAndPositionEmbedding", (68, 128), (64, 128))
LAYERS = [EMBEDDING, *BLOCK, *BLOCK, NORMALIZATION, ("Dense", (128, 68), (68,))]


def normalization(rngs):
    return nnx.LayerNorm(128, epsilon=1e-5, use_fast_variance=False, rngs=rngs)


class Block(nnx.Module):
    def __init__(self, rate, rngs):
        self.before, self.between = (normalization(rngs) for _ in range(2))
        self.attention = nnx.MultiHeadAttention(4, 128, decode=False, rngs=rngs)
        self.wide, self.narrow = nnx.Linear(128, 512, rngs=rngs), nnx.Linear(512, 128, rngs=rngs)
        self.dropout = nnx.Dropout(rate, rngs=rngs)

    def __call__(self, x):
        y = self.before(x)
        x = x + self.dropout(self.attention(y, mask=nnx.make_causal_mask(y[..., 0])))
        return x + self.dropout(self.narrow(nnx.gelu(self.wide(self.between(x)), approximate=False)))

    def parts(self):
        a = self.attention
        return [self.before, a.query, a.key, a.value, a.out, self.between, self.wide, self.narrow]


class Net(nnx.Module):
    def __init__(self, rate, rngs):
        self.tokens, self.places = nnx.Embed(68, 128, rngs=rngs), nnx.Embed(64, 128, rngs=rngs)
        self.one, self.two = Block(rate, rngs), Block(rate, rngs)
        self.last, self.dense = normalization(rngs), nnx.Linear(128, 68, rngs=rngs)

    def __call__(self, x):
        x = self.tokens(x) + self.places.embedding[...]
        return self.dense(self.last(self.two(self.one(x))))

    def parts(self):
        return [*self.one.parts(), *self.two.parts(), self.last, self.dense]


def adam(learning_rate, beta_1, beta_2, epsilon):
    """With Keras's formula: optax's own has epsilon beside the corrected root."""
    adam = optax.inject_hyperparams(optax.adam)  # which calls a function with the number of steps before
    return adam(learning_rate, beta_1, beta_2, lambda steps: epsilon / jnp.sqrt(1.0 - beta_2 ** (steps + 1)))


def build(weights, dropout, seed):
    model = Net(0.1 if dropout else 0.0, nnx.Rngs(seed))
    for param, value in zip(params(model), weights):
        param[...] = jnp.asarray(value)
    return model


def params(model):
    of_parts = [(getattr(part, "kernel", None) or part.scale, part.bias) for part in model.parts()]
    return [model.tokens.embedding, model.places.embedding, *(param for pair in of_parts for param in pair)]


def optimizer(model, learning_rate, beta_1, beta_2, epsilon):
    return nnx.Optimizer(model, adam(learning_rate, beta_1, beta_2, epsilon), wrt=nnx.Param)


def step(model, optimizer, x, y):
    model.train()
    return update(model, optimizer, x, y)


def predict(model, x):
    model.eval()
    return probabilities(model, x)


def weights(model):
    return [np.asarray(param[...]) for param in params(model)]


def loss_of(model, x, y):
    logits = model(x)
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), logits


@nnx.jit
def update(model, optimizer, x, y):
    (loss, logits), gradients = nnx.value_and_grad(loss_of, has_aux=True)(model, x, y)
    optimizer.update(model, gradients)
    return loss, jnp.mean(jnp.argmax(logits, axis=-1) == y)


@nnx.jit
def probabilities(model, x):
    return nnx.softmax(model(x))
