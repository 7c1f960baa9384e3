"""resnet50_features in Gluon, MXNet's own interface, hybridized; its pictures have their channels first."""

import mxnet as mx
from mxnet import nd
from mxnet.gluon import nn

STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # filters, blocks, stride of the first
CONTEXT = mx.gpu() if mx.context.num_gpus() else mx.cpu()
INITIALIZERS = {"Conv2D": ("HeNormal", "Zeros")}


def convolution(inputs, filters, size, stride=1, padding=0):
    return nn.Conv2D(filters, size, stride, padding, in_channels=inputs)


def normalisation(filters):
    return nn.BatchNorm(epsilon=0.001, in_channels=filters)


class Block(nn.HybridBlock):
    """A bottleneck of 1x1, 3x3 and 1x1 convolutions; its shortcut is a convolution where a stride is given."""

    def __init__(self, inputs, filters, stride):
        super().__init__()
        self.first, self.norm1 = convolution(inputs, filters, 1, stride or 1), normalisation(filters)
        self.second, self.norm2 = convolution(filters, filters, 3, padding=1), normalisation(filters)
        self.third, self.norm3 = convolution(filters, 4 * filters, 1), normalisation(4 * filters)
        self.shortcut = convolution(inputs, 4 * filters, 1, stride) if stride else None
        self.norm = normalisation(4 * filters) if stride else None

    def hybrid_forward(self, F, x):
        y = F.relu(self.norm1(self.first(x)))
        y = F.relu(self.norm2(self.second(y)))
        y = self.norm3(self.third(y))
        return F.relu(y + (self.norm(self.shortcut(x)) if self.shortcut else x))

    def layers(self):
        """As Keras has them: the convolution of the shortcut beside the last one."""
        last = (self.third, self.shortcut, self.norm3, self.norm) if self.shortcut else (self.third, self.norm3)
        return [self.first, self.norm1, self.second, self.norm2, *last]


class ResNet50(nn.HybridBlock):
    def __init__(self):
        super().__init__()
        self.first, self.norm = convolution(3, 64, 7, 2, padding=3), normalisation(64)
        self.pool, self.mean = nn.MaxPool2D(3, 2, padding=1), nn.GlobalAvgPool2D()
        self.blocks, inputs = nn.HybridSequential(), 64
        for filters, count, stride in STAGES:
            for number in range(count):
                self.blocks.add(Block(inputs, filters, None if number else stride))
                inputs = 4 * filters

    def hybrid_forward(self, F, x):
        x = self.pool(F.relu(self.norm(self.first(x))))
        return F.flatten(self.mean(self.blocks(x)))

    def layers(self):
        return [self.first, self.norm, *(layer for block in self.blocks for layer in block.layers())]


def shapes(layer):
    if isinstance(layer, nn.Conv2D):
        filters, inputs, rows, columns = layer.weight.shape
        return "Conv2D", (rows, columns, inputs, filters), (filters,)
    return ("BatchNormalization",) + 4 * (layer.gamma.shape,)


def params(layer):
    if isinstance(layer, nn.Conv2D):
        return layer.weight, layer.bias
    return layer.gamma, layer.beta, layer.running_mean, layer.running_var


LAYERS = [shapes(layer) for layer in ResNet50().layers()]


def build(weights, dropout, seed):
    net = ResNet50()
    net.initialize(ctx=CONTEXT)
    held = [param for layer in net.layers() for param in params(layer)]
    for param, value in zip(held, weights):
        param.set_data(nd.array(value.transpose(3, 2, 0, 1) if value.ndim == 4 else value))
    net.hybridize(static_alloc=True, static_shape=True)
    return net


def predict(net, x):
    return net(nd.array(x, CONTEXT)).asnumpy()


def weights(net):
    held = [param.data().asnumpy() for layer in net.layers() for param in params(layer)]
    return [value.transpose(2, 3, 1, 0) if value.ndim == 4 else value for value in held]
