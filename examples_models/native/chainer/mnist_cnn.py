"""mnist_cnn in Chainer, whose pictures have their channels first."""

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.backends import cuda

LAYERS = [
    ("Conv2D", (3, 3, 1, 32), (32,)),
    ("Conv2D", (3, 3, 32, 64), (64,)),
    ("Dense", (9216, 128), (128,)),
    ("Dense", (128, 10), (10,)),
]
DEVICE = chainer.get_device("@cupy:0" if cuda.available and cuda.cupy.is_available() else "@numpy")


class CNN(chainer.Chain):
    def __init__(self, rates):
        super().__init__()
        self.rates = rates
        with self.init_scope():
            self.first = L.Convolution2D(1, 32, 3)
            self.second = L.Convolution2D(32, 64, 3)
            self.third = L.Linear(9216, 128)
            self.last = L.Linear(128, 10)

    def forward(self, x):
        x = F.relu(self.second(F.relu(self.first(x))))
        x = F.dropout(F.max_pooling_2d(x, 2), self.rates[0])
        return self.last(F.dropout(F.relu(self.third(x)), self.rates[1]))


def build(weights, dropout, seed):
    DEVICE.xp.random.seed(seed)  # which Chainer's dropout draws from
    model = CNN((0.25, 0.5) if dropout else (0.0, 0.0))
    for param, value in zip(params(model), weights):
        param.array[...] = from_keras(value)
    model.to_device(DEVICE)
    return model


def optimizer(model, learning_rate, rho, epsilon):
    if learning_rate != 1.0:
        raise ValueError("Chainer's AdaDelta has no learning rate")
    return chainer.optimizers.AdaDelta(rho=rho, eps=epsilon).setup(model)


def step(model, optimizer, x, y):
    x, y = DEVICE.send((x, y))
    logits = model(x)
    loss = F.softmax_cross_entropy(logits, y)
    model.cleargrads()
    loss.backward()
    optimizer.update()
    return loss.array, (logits.array.argmax(axis=1) == y).mean()


def predict(model, x):
    with chainer.using_config("train", False), chainer.no_backprop_mode():
        return cuda.to_cpu(F.softmax(model(DEVICE.send(x))).array)


def weights(model):
    return [to_keras(cuda.to_cpu(param.array)) for param in params(model)]


def params(model):
    layers = (model.first, model.second, model.third, model.last)
    return [param for layer in layers for param in (layer.W, layer.b)]


def from_keras(value):
    if value.ndim == 4:  # (rows, columns, inputs, filters)
        return value.transpose(3, 2, 0, 1)
    if value.shape[0] == 9216:  # Keras flattens (12, 12, 64), Chainer (64, 12, 12)
        return value.reshape(12, 12, 64, 128).transpose(3, 2, 0, 1).reshape(128, 9216)
    return value.T


def to_keras(value):
    if value.ndim == 4:
        return value.transpose(2, 3, 1, 0)
    if value.shape[-1] == 9216:
        return value.reshape(128, 64, 12, 12).transpose(2, 3, 1, 0).reshape(9216, 128)
    return value.T
