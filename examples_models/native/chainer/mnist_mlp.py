"""mnist_mlp in Chainer."""

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

LAYERS = [("Dense", (784, 512), (512,)), ("Dense", (512, 512), (512,)), ("Dense", (512, 10), (10,))]


class MLP(chainer.Chain):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate
        with self.init_scope():
            self.first = L.Linear(784, 512)
            self.second = L.Linear(512, 512)
            self.last = L.Linear(512, 10)

    def forward(self, x):
        x = F.dropout(F.relu(self.first(x)), self.rate)
        x = F.dropout(F.relu(self.second(x)), self.rate)
        return self.last(x)


def build(weights, dropout, seed):
    np.random.seed(seed)  # which Chainer's dropout draws from
    model = MLP(0.2 if dropout else 0.0)
    for param, value in zip(params(model), weights):
        param.array[...] = value.T  # Chainer keeps a kernel as (outputs, inputs)
    return model


def optimizer(model, learning_rate, rho, epsilon):
    return chainer.optimizers.RMSprop(lr=learning_rate, alpha=rho, eps=epsilon).setup(model)


def step(model, optimizer, x, y):
    logits = model(x)
    loss = F.softmax_cross_entropy(logits, y)
    model.cleargrads()
    loss.backward()
    optimizer.update()
    return loss.array, (logits.array.argmax(axis=1) == y).mean()


def predict(model, x):
    with chainer.using_config("train", False), chainer.no_backprop_mode():
        return F.softmax(model(x)).array


def weights(model):
    return [param.array.T for param in params(model)]


def params(model):
    return [param for layer in (model.first, model.second, model.last) for param in (layer.W, layer.b)]
