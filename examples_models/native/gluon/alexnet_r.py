"""alexnet_r in Gluon, MXNet's own interface, hybridized; its pictures have their channels first."""

import mxnet as mx
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

LAYERS = [
    ("Conv2D", (5, 5, 3, 32), (32,)),
    ("Conv2D", (5, 5, 32, 32), (32,)),
    ("Conv2D", (5, 5, 32, 64), (64,)),
    ("Dense", (576, 10), (10,)),
]
NORMAL = ("RandomNormal", {"stddev": 0.01})
INITIALIZERS = {"Conv2D": (NORMAL, "Zeros"), "Dense": (NORMAL, "Zeros")}
CONTEXTS = [mx.gpu() if mx.context.num_gpus() else mx.cpu()]  # several share each batch
LOSS = gluon.loss.SoftmaxCrossEntropyLoss()


def build(weights, dropout, seed):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(32, 5, padding=2, in_channels=3), nn.MaxPool2D(3, 2), nn.Activation("relu"))
    net.add(nn.Conv2D(32, 5, padding=2, activation="relu", in_channels=32), nn.MaxPool2D(3, 2))
    net.add(nn.Conv2D(64, 5, padding=2, activation="relu", in_channels=32), nn.AvgPool2D(3, 2))
    net.add(nn.Dense(10, in_units=576))
    net.initialize(ctx=CONTEXTS)
    for param, value in zip(net.collect_params().values(), weights):
        param.set_data(nd.array(from_keras(value)))
    net.hybridize(static_alloc=True)
    return net


def optimizer(net, learning_rate, momentum, nesterov):
    settings = {"learning_rate": learning_rate, "momentum": momentum}
    return gluon.Trainer(net.collect_params(), "nag" if nesterov else "sgd", settings)


def step(net, trainer, x, y):
    xs, ys = (gluon.utils.split_and_load(array, CONTEXTS) for array in (x, y))
    with autograd.record():
        logits = [net(part) for part in xs]
        losses = [LOSS(*pair) for pair in zip(logits, ys)]
    autograd.backward(losses)
    trainer.step(len(x))
    right = [outputs.argmax(axis=1) == part for outputs, part in zip(logits, ys)]
    return mean(losses), mean(right)


def mean(parts):
    return sum(part.mean().asscalar() for part in parts) / len(parts)


def predict(net, x):
    return nd.softmax(net(nd.array(x, CONTEXTS[0]))).asnumpy()


def weights(net):
    return [to_keras(param.data(CONTEXTS[0]).asnumpy()) for param in net.collect_params().values()]


def from_keras(value):
    if value.ndim == 4:  # (rows, columns, inputs, filters)
        return value.transpose(3, 2, 0, 1)
    if value.shape[0] == 576:  # Keras flattens (3, 3, 64), Gluon (64, 3, 3)
        return value.reshape(3, 3, 64, 10).transpose(3, 2, 0, 1).reshape(10, 576)
    return value.T


def to_keras(value):
    if value.ndim == 4:
        return value.transpose(2, 3, 1, 0)
    if value.shape[-1] == 576:
        return value.reshape(10, 64, 3, 3).transpose(2, 3, 1, 0).reshape(576, 10)
    return value.T
