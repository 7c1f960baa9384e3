"""alexnet_r in Chainer, whose pictures have their channels first."""

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.backends import cuda

LAYERS = [
    ("Conv2D", (5, 5, 3, 32), (32,)),
    ("Conv2D", (5, 5, 32, 32), (32,)),
    ("Conv2D", (5, 5, 32, 64), (64,)),
    ("Dense", (576, 10), (10,)),
]
NORMAL = ("RandomNormal", {"stddev": 0.01})
INITIALIZERS = {"Conv2D": (NORMAL, "Zeros"), "Dense": (NORMAL, "Zeros")}
DEVICE = chainer.get_device("@cupy:0" if cuda.available and cuda.cupy.is_available() else "@numpy")


class CNN(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(3, 32, 5, pad=2)
            self.conv2 = L.Convolution2D(32, 32, 5, pad=2)
            self.conv3 = L.Convolution2D(32, 64, 5, pad=2)
            self.last = L.Linear(576, 10)

    def forward(self, x):
        x = F.relu(F.max_pooling_2d(self.conv1(x), 3, 2, cover_all=False))
        x = F.max_pooling_2d(F.relu(self.conv2(x)), 3, 2, cover_all=False)
        return self.last(F.average_pooling_2d(F.relu(self.conv3(x)), 3, 2))


def build(weights, dropout, seed):
    model = CNN()
    for param, value in zip(params(model), weights):
        param.array[...] = from_keras(value)
    model.to_device(DEVICE)
    return model


def optimizer(model, learning_rate, momentum, nesterov):
    kind = chainer.optimizers.NesterovAG if nesterov else chainer.optimizers.MomentumSGD
    return kind(lr=learning_rate, momentum=momentum).setup(model)


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
    layers = (model.conv1, model.conv2, model.conv3, model.last)
    return [param for layer in layers for param in (layer.W, layer.b)]


def from_keras(value):
    if value.ndim == 4:  # (rows, columns, inputs, filters)
        return value.transpose(3, 2, 0, 1)
    if value.shape[0] == 576:  # Keras flattens (3, 3, 64), Chainer (64, 3, 3)
        return value.reshape(3, 3, 64, 10).transpose(3, 2, 0, 1).reshape(10, 576)
    return value.T


def to_keras(value):
    if value.ndim == 4:
        return value.transpose(2, 3, 1, 0)
    if value.shape[-1] == 576:
        return value.reshape(10, 64, 3, 3).transpose(2, 3, 1, 0).reshape(576, 10)
    return value.T
