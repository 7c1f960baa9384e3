"""imdb_gru in Chainer, with a GRU of its own: the links have their gates the other way round."""

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.backends import cuda

LAYERS = [("Embedding", (30000, 125)), ("GRU", (125, 300), (100, 300), (300,)), ("Dense", (100, 2), (2,))]
DEVICE = chainer.get_device("@cupy:0" if cuda.available and cuda.cupy.is_available() else "@numpy")


class Net(chainer.Chain):
    def __init__(self, vectors, kernel, recurrent, bias, dense, dense_bias):
        super().__init__()
        with self.init_scope():
            self.embedding = L.EmbedID(30000, 125, initialW=vectors)
            self.kernel = chainer.Parameter(kernel)  # of update gate, reset gate and new state
            self.recurrent = chainer.Parameter(recurrent)
            self.bias = chainer.Parameter(bias)
            self.dense = L.Linear(100, 2, initialW=dense.T, initial_bias=dense_bias)

    def forward(self, x):
        words = F.reshape(self.embedding(x), (-1, 125))
        inputs = F.reshape(F.bias(F.matmul(words, self.kernel), self.bias), (len(x), -1, 300))
        of_gates, of_new = F.split_axis(self.recurrent, [200], axis=1)
        state = self.xp.zeros((len(x), 100), dtype="float32")
        for given in F.separate(inputs, axis=1):
            of_input, new_input = F.split_axis(given, [200], axis=1)
            update, reset = F.split_axis(F.sigmoid(of_input + F.matmul(state, of_gates)), 2, axis=1)
            new = F.tanh(new_input + F.matmul(reset * state, of_new))
            state = update * state + (1.0 - update) * new
        return self.dense(state)


def build(weights, dropout, seed):
    model = Net(*weights)
    model.to_device(DEVICE)
    return model


def optimizer(model, learning_rate, beta_1, beta_2, epsilon):
    return chainer.optimizers.Adam(alpha=learning_rate, beta1=beta_1, beta2=beta_2, eps=epsilon).setup(model)


def step(model, optimizer, x, y):
    x, y = DEVICE.send((x.astype("int32"), y))
    logits = model(x)
    loss = F.softmax_cross_entropy(logits, y)
    model.cleargrads()
    loss.backward()
    optimizer.update()
    return loss.array, (logits.array.argmax(axis=1) == y).mean()


def predict(model, x):
    with chainer.using_config("train", False), chainer.no_backprop_mode():
        return cuda.to_cpu(F.softmax(model(DEVICE.send(x.astype("int32")))).array)


def weights(model):
    held = (model.embedding.W, model.kernel, model.recurrent, model.bias, model.dense.W, model.dense.b)
    return [cuda.to_cpu(param.array.T if param is model.dense.W else param.array) for param in held]
