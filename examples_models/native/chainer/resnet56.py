"""resnet56 in Chainer, whose pictures have their channels first."""

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.backends import cuda

WEIGHT_DECAY = 1e-4  # of the kernels, and part of the loss, as in Keras
COUNTS = (3, 16, *(16,) * 18, *(32,) * 18, *(64,) * 18)  # channels of the pictures, and of each convolution
LAYERS = []
for inputs, filters in zip(COUNTS, COUNTS[1:]):
    LAYERS += [("Conv2D", (3, 3, inputs, filters)), ("BatchNormalization", *4 * ((filters,),))]
LAYERS.append(("Dense", (64, 10), (10,)))
INITIALIZERS = {"Conv2D": ("HeNormal",)}
DEVICE = chainer.get_device("@cupy:0" if cuda.available and cuda.cupy.is_available() else "@numpy")


class Convolution(chainer.Chain):
    def __init__(self, inputs, filters, stride=1):
        super().__init__()
        with self.init_scope():
            self.convolution = L.Convolution2D(inputs, filters, 3, stride, 1, nobias=True)
            self.norm = L.BatchNormalization(filters, decay=0.9, eps=1e-5)

    def forward(self, x):
        return self.norm(self.convolution(x))

    def tensors(self):
        norm = self.norm
        return [self.convolution.W.array, norm.gamma.array, norm.beta.array, norm.avg_mean, norm.avg_var]


class ResNet56(chainer.Chain):
    def __init__(self):
        super().__init__()
        strides = [1 + (filters not in (inputs, 16)) for inputs, filters in zip(COUNTS, COUNTS[1:])]
        with self.init_scope():
            self.parts = chainer.ChainList(*map(Convolution, COUNTS, COUNTS[1:], strides))
            self.last = L.Linear(64, 10)

    def forward(self, x):
        first, *parts = self.parts
        x = F.relu(first(x))
        for one, two in zip(parts[::2], parts[1::2]):
            y = two(F.relu(one(x)))
            if y.shape != x.shape:
                x = F.average_pooling_2d(x, 2)
                x = F.concat((x, DEVICE.xp.zeros_like(x.array)))
            x += y
        return self.last(F.mean(x, axis=(2, 3)))

    def tensors(self):
        inside = [tensor for part in self.parts for tensor in part.tensors()]
        return [*inside, self.last.W.array, self.last.b.array]


def build(weights, dropout, seed):
    model = ResNet56()
    for tensor, value in zip(model.tensors(), weights):
        tensor[...] = value.transpose(3, 2, 0, 1) if value.ndim == 4 else value.T
    model.to_device(DEVICE)
    return model


def optimizer(model, learning_rate, momentum, nesterov):
    kind = chainer.optimizers.NesterovAG if nesterov else chainer.optimizers.MomentumSGD
    return kind(lr=learning_rate, momentum=momentum).setup(model)


def step(model, optimizer, x, y):
    x, y = DEVICE.send((x, y))
    logits = model(x)
    kernels = [layer.W for layer in (*(part.convolution for part in model.parts), model.last)]
    penalty = WEIGHT_DECAY / 2 * sum(F.sum(kernel * kernel) for kernel in kernels)
    loss = F.softmax_cross_entropy(logits, y) + penalty
    model.cleargrads()
    loss.backward()
    optimizer.update()
    return loss.array, (logits.array.argmax(axis=1) == y).mean()


def predict(model, x):
    with chainer.using_config("train", False), chainer.no_backprop_mode():
        return cuda.to_cpu(F.softmax(model(DEVICE.send(x))).array)


def weights(model):
    held = [cuda.to_cpu(tensor) for tensor in model.tensors()]
    return [value.transpose(2, 3, 1, 0) if value.ndim == 4 else value.T for value in held]
