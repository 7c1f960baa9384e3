"""fcn_r in Gluon, MXNet's own interface, hybridized."""

import mxnet as mx
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

SIZES = (784, 2048, 4096, 1024, 10)
LAYERS = [("Dense", (inputs, outputs), (outputs,)) for inputs, outputs in zip(SIZES, SIZES[1:])]
CONTEXTS = [mx.gpu() if mx.context.num_gpus() else mx.cpu()]  # several share each batch
LOSS = gluon.loss.SoftmaxCrossEntropyLoss()


def build(weights, dropout, seed):
    net = nn.HybridSequential()
    for inputs, outputs in zip(SIZES, SIZES[1:-1]):
        net.add(nn.Dense(outputs, activation="sigmoid", in_units=inputs))
    net.add(nn.Dense(10, in_units=1024))
    net.initialize(ctx=CONTEXTS)
    for param, value in zip(net.collect_params().values(), weights):
        param.set_data(nd.array(value.T))  # Gluon keeps a kernel as (outputs, inputs)
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
    return [param.data(CONTEXTS[0]).asnumpy().T for param in net.collect_params().values()]
