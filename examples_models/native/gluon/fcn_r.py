"""fcn_r in Gluon, MXNet's own interface, hybridized."""

import mxnet as mx
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

SIZES = (784, 2048, 4096, 1024, 10)
LAYERS = [("Dense", (inputs, outputs), (outputs,)) for inputs, outputs in zip(SIZES, SIZES[1:])]
CONTEXT = mx.gpu() if mx.context.num_gpus() else mx.cpu()
LOSS = gluon.loss.SoftmaxCrossEntropyLoss()


def build(weights, dropout, seed):
    net = nn.HybridSequential()
    for inputs, outputs in zip(SIZES, SIZES[1:-1]):
        net.add(nn.Dense(outputs, activation="sigmoid", in_units=inputs))
    net.add(nn.Dense(10, in_units=1024))
    net.initialize(ctx=CONTEXT)
    for param, value in zip(net.collect_params().values(), weights):
        param.set_data(nd.array(value.T))  # Gluon keeps a kernel as (outputs, inputs)
    net.hybridize(static_alloc=True)
    return net


def optimizer(net, learning_rate, momentum, nesterov):
    settings = {"learning_rate": learning_rate, "momentum": momentum}
    return gluon.Trainer(net.collect_params(), "nag" if nesterov else "sgd", settings)


def step(net, trainer, x, y):
    x, y = nd.array(x, CONTEXT), nd.array(y, CONTEXT)
    with autograd.record():
        logits = net(x)
        loss = LOSS(logits, y)
    loss.backward()
    trainer.step(len(x))
    return loss.mean().asscalar(), (logits.argmax(axis=1) == y).mean().asscalar()


def predict(net, x):
    return nd.softmax(net(nd.array(x, CONTEXT))).asnumpy()


def weights(net):
    return [param.data().asnumpy().T for param in net.collect_params().values()]
