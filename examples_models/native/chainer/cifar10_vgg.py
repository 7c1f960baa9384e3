"""cifar10_vgg in Chainer, whose pictures have their channels first."""

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.backends import cuda

LAYERS = [
    ("Conv2D", (3, 3, 3, 50), (50,)),
    ("Conv2D", (3, 3, 50, 50), (50,)),
    ("Conv2D", (3, 3, 50, 100), (100,)),
    ("Conv2D", (3, 3, 100, 100), (100,)),
    ("Dense", (6400, 512), (512,)),
    ("Dense", (512, 10), (10,)),
]
DEVICE = chainer.get_device("@cupy:0" if cuda.available and cuda.cupy.is_available() else "@numpy")


class CNN(chainer.Chain):
    def __init__(self, rates):
        super().__init__()
        self.rates = rates
        with self.init_scope():
            self.conv1 = L.Convolution2D(3, 50, 3, pad=1)
            self.conv2 = L.Convolution2D(50, 50, 3, pad=1)
            self.conv3 = L.Convolution2D(50, 100, 3, pad=1)
            self.conv4 = L.Convolution2D(100, 100, 3, pad=1)
            self.dense = L.Linear(6400, 512)
            self.last = L.Linear(512, 10)

    def forward(self, x):
        x = F.relu(self.conv2(F.relu(self.conv1(x))))
        x = F.dropout(F.max_pooling_2d(x, 2, cover_all=False), self.rates[0])
        x = F.relu(self.conv4(F.relu(self.conv3(x))))
        x = F.dropout(F.max_pooling_2d(x, 2, cover_all=False), self.rates[0])
        return self.last(F.dropout(F.relu(self.dense(x)), self.rates[1]))


def build(weights, dropout, seed):
    DEVICE.xp.random.seed(seed)  # which Chainer's dropout draws from
    model = CNN((0.25, 0.5) if dropout else (0.0, 0.0))
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
    layers = (model.conv1, model.conv2, model.conv3, model.conv4, model.dense, model.last)
    return [param for layer in layers for param in (layer.W, layer.b)]


def from_keras(value):
    if value.ndim == 4:  # (rows, columns, inputs, filters)
        return value.transpose(3, 2, 0, 1)
    if value.shape[0] == 6400:  # Keras flattens (8, 8, 100), Chainer (100, 8, 8)
        return value.reshape(8, 8, 100, 512).transpose(3, 2, 0, 1).reshape(512, 6400)
    return value.T


def to_keras(value):
    if value.ndim == 4:
        return value.transpose(2, 3, 1, 0)
    if value.shape[-1] == 6400:
        return value.reshape(512, 100, 8, 8).transpose(2, 3, 1, 0).reshape(6400, 512)
    return value.T
