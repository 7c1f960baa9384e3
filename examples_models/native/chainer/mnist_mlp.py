"""mnist_mlp in Chainer."""

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.backends import cuda

LAYERS = [("Dense", (784, 512), (512,)), ("Dense", (512, 512), (512,)), ("Dense", (512, 10), (10,))]
DEVICE = chainer.get_device("@cupy:0" if cuda.available and cuda.cupy.is_available() else "@numpy")


class MLP(chainer.Chain):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate
        with self.init_scope():
            self.first = L.Linear(784, 512)
            self.second = L.Linear(512, 512)
            self.last = L.Linear(512, 10)

    def forward(self, x):
        x = F.dropout(F.relu(self.first(x)), self.rate)
        x = F.dropout(F.relu(self.second(x)), self.rate)
        return self.last(x)


def build(weights, dropout, seed):
    DEVICE.xp.random.seed(seed)  # which Chainer's dropout draws from
    model = MLP(0.2 if dropout else 0.0)
    for param, value in zip(params(model), weights):
        param.array[...] = value.T  # Chainer keeps a kernel as (outputs, inputs)
    model.to_device(DEVICE)
    return model


def optimizer(model, learning_rate, rho, epsilon):
    return chainer.optimizers.RMSprop(lr=learning_rate, alpha=rho, eps=epsilon).setup(model)


def step(model, optimizer, x, y):
    x, y = DEVICE.send((x, y))
    logits = model(x)
    loss = F.softmax_cross_entropy(logits, y)
    model.cleargrads()
    loss.backward()
    optimizer.update()
    return loss.array, (logits.array.argmax(axis=1) == y).mean()


def predict(model, x):
    with chainer.using_config("train", False), chainer.no_backprop_mode():
        return cuda.to_cpu(F.softmax(model(DEVICE.send(x))).array)


def weights(model):
    return [cuda.to_cpu(param.array).T for param in params(model)]


def params(model):
    return [param for layer in (model.first, model.second, model.last) for param in (layer.W, layer.b)]
