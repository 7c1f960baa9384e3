"""imdb_transformer in Flax (nnx), with its own attention."""

import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

ATTENTION = ("MultiHeadAttention", *[(64, 4, 16), (4, 16)] * 3, (4, 16, 64), (64,))
NORMALIZATION = ("LayerNormalization", (64,), (64,))
BLOCK = [ATTENTION, NORMALIZATION, ("Dense", (64, 128), (128,)), ("Dense", (128, 64), (64,)), NORMALIZATION]
LAYERS = [("TokenAndPositionEmbedding", (30000, 64), (150, 64)), *BLOCK, *BLOCK, ("Dense", (64, 2), (2,))]


def normalization(rngs):
    return nnx.LayerNorm(64, epsilon=1e-6, use_fast_variance=False, rngs=rngs)


class Block(nnx.Module):
    def __init__(self, rate, rngs):
        self.attended, self.fed = (normalization(rngs) for _ in range(2))
        self.attention = nnx.MultiHeadAttention(4, 64, decode=False, rngs=rngs)
        self.wide, self.narrow = nnx.Linear(64, 128, rngs=rngs), nnx.Linear(128, 64, rngs=rngs)
        self.dropout = nnx.Dropout(rate, rngs=rngs)

    def __call__(self, x):
        x = self.attended(x + self.dropout(self.attention(x)))
        return self.fed(x + self.dropout(self.narrow(nnx.relu(self.wide(x)))))

    def parts(self):
        a = self.attention
        return [a.query, a.key, a.value, a.out, self.attended, self.wide, self.narrow, self.fed]


class Net(nnx.Module):
    def __init__(self, rate, rngs):
        self.tokens, self.places = nnx.Embed(30000, 64, rngs=rngs), nnx.Embed(150, 64, rngs=rngs)
        self.one, self.two = Block(rate, rngs), Block(rate, rngs)
        self.dropout, self.dense = nnx.Dropout(rate, rngs=rngs), nnx.Linear(64, 2, rngs=rngs)

    def __call__(self, x):
        x = self.two(self.one(self.tokens(x) + self.places.embedding[...]))
        return self.dense(self.dropout(jnp.mean(x, axis=1)))

    def parts(self):
        return [*self.one.parts(), *self.two.parts(), self.dense]


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
