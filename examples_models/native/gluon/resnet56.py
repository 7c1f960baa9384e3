"""resnet56 in Gluon, MXNet's own interface, hybridized; its pictures have their channels first."""

import mxnet as mx
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

WEIGHT_DECAY = 1e-4  # of the kernels, and part of the loss, as in Keras
COUNTS = (3, 16, *(16,) * 18, *(32,) * 18, *(64,) * 18)  # channels of the pictures, and of each convolution
LAYERS = []
for inputs, filters in zip(COUNTS, COUNTS[1:]):
    LAYERS += [("Conv2D", (3, 3, inputs, filters)), ("BatchNormalization", *4 * ((filters,),))]
LAYERS.append(("Dense", (64, 10), (10,)))
INITIALIZERS = {"Conv2D": ("HeNormal",)}
CONTEXTS = [mx.gpu() if mx.context.num_gpus() else mx.cpu()]  # several share each batch
LOSS = gluon.loss.SoftmaxCrossEntropyLoss()


class Block(nn.HybridBlock):
    def __init__(self, inputs, filters):
        super().__init__()
        self.halves = inputs != filters
        self.first = nn.Conv2D(filters, 3, 1 + self.halves, 1, use_bias=False, in_channels=inputs)
        self.norm1 = nn.BatchNorm(momentum=0.9, epsilon=1e-5, in_channels=filters)
        self.second = nn.Conv2D(filters, 3, 1, 1, use_bias=False, in_channels=filters)
        self.norm2 = nn.BatchNorm(momentum=0.9, epsilon=1e-5, in_channels=filters)

    def hybrid_forward(self, F, x):
        y = self.norm2(self.second(F.relu(self.norm1(self.first(x)))))
        if self.halves:
            x = F.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="avg")
            x = F.concat(x, F.zeros_like(x), dim=1)
        return x + y


def build(weights, dropout, seed):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(16, 3, 1, 1, use_bias=False, in_channels=3))
    net.add(nn.BatchNorm(momentum=0.9, epsilon=1e-5, in_channels=16), nn.Activation("relu"))
    for inputs, filters in zip(COUNTS[1::2], COUNTS[3::2]):
        net.add(Block(inputs, filters))
    net.add(nn.GlobalAvgPool2D(), nn.Dense(10, in_units=64))
    net.initialize(ctx=CONTEXTS)
    for param, value in zip(net.collect_params().values(), weights):
        param.set_data(nd.array(value.transpose(3, 2, 0, 1) if value.ndim == 4 else value.T))
    net.hybridize(static_alloc=True)
    return net


def optimizer(net, learning_rate, momentum, nesterov):
    settings = {"learning_rate": learning_rate, "momentum": momentum}
    return gluon.Trainer(net.collect_params(), "nag" if nesterov else "sgd", settings)


def step(net, trainer, x, y):
    xs, ys = (gluon.utils.split_and_load(array, CONTEXTS) for array in (x, y))
    kernels = [param for name, param in net.collect_params().items() if name.endswith("weight")]
    with autograd.record():
        logits = [net(part) for part in xs]
        squares = [nd.add_n(*(nd.sum(nd.square(one.data(context))) for one in kernels)) for context in CONTEXTS]
        losses = [LOSS(*pair) for pair in zip(logits, ys)]
        losses = [loss + WEIGHT_DECAY / 2 * one for loss, one in zip(losses, squares)]  # of each: their mean counts
    autograd.backward(losses)
    trainer.step(len(x))
    right = [outputs.argmax(axis=1) == part for outputs, part in zip(logits, ys)]
    return mean(losses), mean(right)


def mean(parts):
    return sum(part.mean().asscalar() for part in parts) / len(parts)


def predict(net, x):
    return nd.softmax(net(nd.array(x, CONTEXTS[0]))).asnumpy()


def weights(net):
    held = [param.data(CONTEXTS[0]).asnumpy() for param in net.collect_params().values()]
    return [value.transpose(2, 3, 1, 0) if value.ndim == 4 else value.T for value in held]
