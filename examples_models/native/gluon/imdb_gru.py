"""imdb_gru in Gluon, with a GRU of its own: Gluon's resets after the product, this one before it."""

import mxnet as mx
from mxnet import autograd, gluon, init, nd
from mxnet.gluon import nn

LAYERS = [("Embedding", (30000, 125)), ("GRU", (125, 300), (100, 300), (300,)), ("Dense", (100, 2), (2,))]
CONTEXTS = [mx.gpu() if mx.context.num_gpus() else mx.cpu()]  # several share each batch
LOSS = gluon.loss.SoftmaxCrossEntropyLoss()
STEPS = 150


class Net(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.embedding = nn.Embedding(30000, 125)
            self.kernel = self.params.get("kernel", shape=(125, 300))  # of update gate, reset gate and new state
            self.recurrent = self.params.get("recurrent", shape=(100, 300))
            self.bias = self.params.get("bias", shape=(300,), init=init.Zero())
            self.dense = nn.Dense(2, in_units=100)

    def hybrid_forward(self, F, x, kernel, recurrent, bias):
        inputs = F.broadcast_add(F.dot(self.embedding(x), kernel), bias.reshape((1, 1, 300)))
        of_gates = F.slice_axis(recurrent, axis=1, begin=0, end=200)
        of_new = F.slice_axis(recurrent, axis=1, begin=200, end=300)
        each = F.split(inputs, num_outputs=STEPS, axis=1, squeeze_axis=True)
        state = F.zeros_like(F.slice_axis(each[0], axis=1, begin=0, end=100))
        for given in each:
            gates = F.sigmoid(F.slice_axis(given, axis=1, begin=0, end=200) + F.dot(state, of_gates))
            update, reset = F.split(gates, num_outputs=2, axis=1)
            new = F.tanh(F.slice_axis(given, axis=1, begin=200, end=300) + F.dot(reset * state, of_new))
            state = update * state + (1.0 - update) * new
        return self.dense(state)


def build(weights, dropout, seed):
    net = Net()
    net.initialize(ctx=CONTEXTS)
    for param, value in zip(params(net), weights):
        param.set_data(nd.array(value.T if param is net.dense.weight else value))
    net.hybridize(static_alloc=True)
    return net


def optimizer(net, learning_rate, beta_1, beta_2, epsilon):
    settings = {"learning_rate": learning_rate, "beta1": beta_1, "beta2": beta_2, "epsilon": epsilon}
    return gluon.Trainer(net.collect_params(), "adam", settings)


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
    held = [(param, param.data(CONTEXTS[0]).asnumpy()) for param in params(net)]
    return [value.T if param is net.dense.weight else value for param, value in held]


def params(net):
    return [net.embedding.weight, net.kernel, net.recurrent, net.bias, net.dense.weight, net.dense.bias]
