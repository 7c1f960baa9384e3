"""cifar10_vgg in Gluon, MXNet's own interface, hybridized; its pictures have their channels first."""

import mxnet as mx
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

LAYERS = [
    ("Conv2D", (3, 3, 3, 50), (50,)),
    ("Conv2D", (3, 3, 50, 50), (50,)),
    ("Conv2D", (3, 3, 50, 100), (100,)),
    ("Conv2D", (3, 3, 100, 100), (100,)),
    ("Dense", (6400, 512), (512,)),
    ("Dense", (512, 10), (10,)),
]
CONTEXTS = [mx.gpu() if mx.context.num_gpus() else mx.cpu()]  # several share each batch
LOSS = gluon.loss.SoftmaxCrossEntropyLoss()


def build(weights, dropout, seed):
    mx.random.seed(seed)
    net = nn.HybridSequential()
    for inputs, filters in ((3, 50), (50, 100)):
        net.add(nn.Conv2D(filters, 3, padding=1, activation="relu", in_channels=inputs))
        net.add(nn.Conv2D(filters, 3, padding=1, activation="relu", in_channels=filters))
        net.add(nn.MaxPool2D(2), nn.Dropout(0.25 if dropout else 0.0))
    net.add(nn.Dense(512, activation="relu", in_units=6400), nn.Dropout(0.5 if dropout else 0.0))
    net.add(nn.Dense(10, in_units=512))
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
    if value.shape[0] == 6400:  # Keras flattens (8, 8, 100), Gluon (100, 8, 8)
        return value.reshape(8, 8, 100, 512).transpose(3, 2, 0, 1).reshape(512, 6400)
    return value.T


def to_keras(value):
    if value.ndim == 4:
        return value.transpose(2, 3, 1, 0)
    if value.shape[-1] == 6400:
        return value.reshape(512, 100, 8, 8).transpose(2, 3, 1, 0).reshape(6400, 512)
    return value.T
