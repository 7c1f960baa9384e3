"""tabular_mlp in Flax (nnx) with an optimizer of optax."""

import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

CATEGORIES = {"customer": 2000, "product": 500, "region": 50, "weekday": 7}
LAYERS = [
    *(("Embedding", (count, 16)) for count in CATEGORIES.values()),
    ("Dense", (74, 128), (128,)), ("BatchNormalization", *4 * ((128,),)),
    ("Dense", (128, 64), (64,)), ("BatchNormalization", *4 * ((64,),)),
    ("Dense", (64, 1), (1,)),
]  # fmt: skip


def normalization(size, rngs):
    return nnx.BatchNorm(size, momentum=0.99, epsilon=0.001, use_fast_variance=False, rngs=rngs)


class MLP(nnx.Module):
    def __init__(self, rate, rngs):
        self.embeddings = nnx.List([nnx.Embed(count, 16, rngs=rngs) for count in CATEGORIES.values()])
        self.first, self.norm1 = nnx.Linear(74, 128, rngs=rngs), normalization(128, rngs)
        self.second, self.norm2 = nnx.Linear(128, 64, rngs=rngs), normalization(64, rngs)
        self.last, self.dropout = nnx.Linear(64, 1, rngs=rngs), nnx.Dropout(rate, rngs=rngs)

    def __call__(self, x):
        vectors = [embedding(x[name][:, 0]) for embedding, name in zip(self.embeddings, CATEGORIES)]
        x = jnp.concatenate([*vectors, x["numbers"]], axis=1)
        x = self.dropout(nnx.relu(self.norm1(self.first(x))))
        return self.last(self.dropout(nnx.relu(self.norm2(self.second(x)))))


def variables(model):
    found = [embedding.embedding for embedding in model.embeddings]
    for layer, norm in ((model.first, model.norm1), (model.second, model.norm2)):
        found += [layer.kernel, layer.bias, norm.scale, norm.bias, norm.mean, norm.var]
    return [*found, model.last.kernel, model.last.bias]


def build(weights, dropout, seed):
    model = MLP(0.1 if dropout else 0.0, nnx.Rngs(seed))
    for variable, value in zip(variables(model), weights):
        variable[...] = jnp.asarray(value)
    return model


def optimizer(model, learning_rate, beta_1, beta_2, epsilon):
    adam = optax.inject_hyperparams(optax.adam)  # whose epsilon is beside the corrected root, unlike Keras's
    made = adam(learning_rate, beta_1, beta_2, lambda steps: epsilon / jnp.sqrt(1.0 - beta_2 ** (steps + 1)))
    return nnx.Optimizer(model, made, wrt=nnx.Param)


def step(model, optimizer, x, y):
    model.train()
    return update(model, optimizer, x, y)


def predict(model, x):
    model.eval()
    return probabilities(model, x)


def weights(model):
    return [np.asarray(variable[...]) for variable in variables(model)]


def loss_of(model, x, y):
    logits = model(x)
    return optax.sigmoid_binary_cross_entropy(logits, y).mean(), logits


@nnx.jit
def update(model, optimizer, x, y):
    (loss, logits), gradients = nnx.value_and_grad(loss_of, has_aux=True)(model, x, y)
    optimizer.update(model, gradients)
    return loss, jnp.mean((logits > 0) == (y > 0))


@nnx.jit
def probabilities(model, x):
    return nnx.sigmoid(model(x))
