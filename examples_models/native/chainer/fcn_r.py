"""fcn_r in Chainer."""

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.backends import cuda

SIZES = (784, 2048, 4096, 1024, 10)
LAYERS = [("Dense", (inputs, outputs), (outputs,)) for inputs, outputs in zip(SIZES, SIZES[1:])]
DEVICE = chainer.get_device("@cupy:0" if cuda.available and cuda.cupy.is_available() else "@numpy")


class MLP(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.first = L.Linear(784, 2048)
            self.second = L.Linear(2048, 4096)
            self.third = L.Linear(4096, 1024)
            self.last = L.Linear(1024, 10)

    def forward(self, x):
        x = F.sigmoid(self.second(F.sigmoid(self.first(x))))
        return self.last(F.sigmoid(self.third(x)))


def build(weights, dropout, seed):
    model = MLP()
    for param, value in zip(params(model), weights):
        param.array[...] = value.T  # Chainer keeps a kernel as (outputs, inputs)
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
    return [cuda.to_cpu(param.array).T for param in params(model)]


def params(model):
    layers = (model.first, model.second, model.third, model.last)
    return [param for layer in layers for param in (layer.W, layer.b)]
