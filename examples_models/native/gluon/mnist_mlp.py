"""mnist_mlp in Gluon, MXNet's own interface, hybridized."""

import mxnet as mx
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

LAYERS = [("Dense", (784, 512), (512,)), ("Dense", (512, 512), (512,)), ("Dense", (512, 10), (10,))]
CONTEXT = mx.gpu() if mx.context.num_gpus() else mx.cpu()
LOSS = gluon.loss.SoftmaxCrossEntropyLoss()


def build(weights, dropout, seed):
    mx.random.seed(seed)
    rate = 0.2 if dropout else 0.0
    net = nn.HybridSequential()
    net.add(nn.Dense(512, activation="relu", in_units=784), nn.Dropout(rate))
    net.add(nn.Dense(512, activation="relu", in_units=512), nn.Dropout(rate))
    net.add(nn.Dense(10, in_units=512))
    net.initialize(ctx=CONTEXT)
    for param, value in zip(net.collect_params().values(), weights):
        param.set_data(nd.array(value.T))  # Gluon keeps a kernel as (outputs, inputs)
    net.hybridize(static_alloc=True)
    return net


def optimizer(net, learning_rate, rho, epsilon):
    # MXNet has epsilon under the root: there its square is what epsilon is beside it.
    settings = {"learning_rate": learning_rate, "gamma1": rho, "epsilon": epsilon**2}
    return gluon.Trainer(net.collect_params(), "rmsprop", settings)


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
