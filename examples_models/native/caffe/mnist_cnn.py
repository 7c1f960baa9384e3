"""mnist_cnn in Caffe; its pictures have their channels first."""

import tempfile

import caffe
from caffe import layers
from caffe.proto import caffe_pb2

LAYERS = [
    ("Conv2D", (3, 3, 1, 32), (32,)),
    ("Conv2D", (3, 3, 32, 64), (64,)),
    ("Dense", (9216, 128), (128,)),
    ("Dense", (128, 10), (10,)),
]


class Model:
    def __init__(self, dropout, seed):
        self.layout, self.seed = network(dropout), seed
        self.net = loaded(caffe.Net, self.layout, caffe.TEST)
        self.blobs = [blob for layer in self.net.params.values() for blob in layer]


def loaded(kind, message, *arguments):
    with tempfile.NamedTemporaryFile("w", suffix=".prototxt") as file:  # Caffe reads nets and solvers from files
        file.write(str(message))
        file.flush()
        return kind(file.name, *arguments)


def network(dropout):
    net = caffe.NetSpec()
    net.x, net.y = layers.Input(shape={"dim": [1, 1, 28, 28]}), layers.Input(shape={"dim": [1]})
    value = layers.ReLU(layers.Convolution(net.x, num_output=32, kernel_size=3), in_place=True)
    value = layers.ReLU(layers.Convolution(value, num_output=64, kernel_size=3), in_place=True)
    value = layers.Pooling(value, kernel_size=2, stride=2)
    if dropout:
        value = layers.Dropout(value, dropout_ratio=0.25)
    value = layers.ReLU(layers.InnerProduct(value, num_output=128), in_place=True)
    if dropout:
        value = layers.Dropout(value, dropout_ratio=0.5)
    logits = layers.InnerProduct(value, num_output=10)
    net.found = layers.Softmax(logits, include={"phase": caffe.TEST})
    net.loss = layers.SoftmaxWithLoss(logits, net.y)
    net.accuracy = layers.Accuracy(logits, net.y)
    return net.to_proto()


def build(weights, dropout, seed):
    model = Model(dropout, seed)
    for blob, value in zip(model.blobs, weights):
        blob.data[...] = from_keras(value)
    return model


def optimizer(model, learning_rate, rho, epsilon):
    settings = {"type": "AdaDelta", "base_lr": learning_rate, "momentum": rho, "delta": epsilon}
    settings.update(net_param=model.layout, lr_policy="fixed", random_seed=model.seed, solver_mode="CPU")
    solver = loaded(caffe.get_solver, caffe_pb2.SolverParameter(**settings))
    solver.net.share_with(model.net)
    return solver


def step(model, solver, x, y):
    feed(solver.net, x, y)
    solver.step(1)
    return float(solver.net.blobs["loss"].data), float(solver.net.blobs["accuracy"].data)


def predict(model, x):
    feed(model.net, x, 0)
    model.net.forward()
    return model.net.blobs["found"].data.copy()  # the next batch overwrites them


def feed(net, x, y):
    net.blobs["x"].reshape(*x.shape)
    net.blobs["y"].reshape(len(x))
    net.blobs["x"].data[...] = x
    net.blobs["y"].data[...] = y


def weights(model):
    return [to_keras(blob.data) for blob in model.blobs]


def from_keras(value):
    if value.ndim == 4:  # (rows, columns, inputs, filters)
        return value.transpose(3, 2, 0, 1)
    if value.shape[0] == 9216:  # Keras flattens (12, 12, 64), Caffe (64, 12, 12)
        return value.reshape(12, 12, 64, 128).transpose(3, 2, 0, 1).reshape(128, 9216)
    return value.T


def to_keras(value):
    if value.ndim == 4:
        return value.transpose(2, 3, 1, 0)
    if value.shape[-1] == 9216:
        return value.reshape(128, 64, 12, 12).transpose(2, 3, 1, 0).reshape(9216, 128)
    return value.T
