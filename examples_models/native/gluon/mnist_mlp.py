"""mnist_mlp in Gluon, MXNet's own interface, hybridized."""

import mxnet as mx
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

LAYERS = [("Dense", (784, 512), (512,)), ("Dense", (512, 512), (512,)), ("Dense", (512, 10), (10,))]
CONTEXTS = [mx.gpu() if mx.context.num_gpus() else mx.cpu()]  # several share each batch
LOSS = gluon.loss.SoftmaxCrossEntropyLoss()


def build(weights, dropout, seed):
    mx.random.seed(seed)
    rate = 0.2 if dropout else 0.0
    net = nn.HybridSequential()
    net.add(nn.Dense(512, activation="relu", in_units=784), nn.Dropout(rate))
    net.add(nn.Dense(512, activation="relu", in_units=512), nn.Dropout(rate))
    net.add(nn.Dense(10, in_units=512))
    net.initialize(ctx=CONTEXTS)
    for param, value in zip(net.collect_params().values(), weights):
        param.set_data(nd.array(value.T))  # Gluon keeps a kernel as (outputs, inputs)
    net.hybridize(static_alloc=True)
    return net


def optimizer(net, learning_rate, rho, epsilon):
    # MXNet has epsilon under the root: there its square is what epsilon is beside it.
    settings = {"learning_rate": learning_rate, "gamma1": rho, "epsilon": epsilon**2}
    return gluon.Trainer(net.collect_params(), "rmsprop", settings)


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
