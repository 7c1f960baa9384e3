"""mnist_cnn in Gluon, MXNet's own interface, hybridized; its pictures have their channels first."""

import mxnet as mx
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

LAYERS = [
    ("Conv2D", (3, 3, 1, 32), (32,)),
    ("Conv2D", (3, 3, 32, 64), (64,)),
    ("Dense", (9216, 128), (128,)),
    ("Dense", (128, 10), (10,)),
]
CONTEXTS = [mx.gpu() if mx.context.num_gpus() else mx.cpu()]  # several share each batch
LOSS = gluon.loss.SoftmaxCrossEntropyLoss()


def build(weights, dropout, seed):
    mx.random.seed(seed)
    net = nn.HybridSequential()
    net.add(nn.Conv2D(32, 3, activation="relu", in_channels=1), nn.Conv2D(64, 3, activation="relu", in_channels=32))
    net.add(nn.MaxPool2D(2), nn.Dropout(0.25 if dropout else 0.0))
    net.add(nn.Dense(128, activation="relu", in_units=9216), nn.Dropout(0.5 if dropout else 0.0))
    net.add(nn.Dense(10, in_units=128))
    net.initialize(ctx=CONTEXTS)
    for param, value in zip(net.collect_params().values(), weights):
        param.set_data(nd.array(from_keras(value)))
    net.hybridize(static_alloc=True)
    return net


def optimizer(net, learning_rate, rho, epsilon):
    if learning_rate != 1.0:
        raise ValueError("MXNet's AdaDelta has no learning rate")
    return gluon.Trainer(net.collect_params(), "adadelta", {"rho": rho, "epsilon": epsilon})


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
    if value.shape[0] == 9216:  # Keras flattens (12, 12, 64), Gluon (64, 12, 12)
        return value.reshape(12, 12, 64, 128).transpose(3, 2, 0, 1).reshape(128, 9216)
    return value.T


def to_keras(value):
    if value.ndim == 4:
        return value.transpose(2, 3, 1, 0)
    if value.shape[-1] == 9216:
        return value.reshape(128, 64, 12, 12).transpose(2, 3, 1, 0).reshape(9216, 128)
    return value.T
