"""cifar10_vgg in Caffe; its pictures have their channels first."""

import tempfile

import caffe
from caffe import layers, proto

LAYERS = [
    ("Conv2D", (3, 3, 3, 50), (50,)),
    ("Conv2D", (3, 3, 50, 50), (50,)),
    ("Conv2D", (3, 3, 50, 100), (100,)),
    ("Conv2D", (3, 3, 100, 100), (100,)),
    ("Dense", (6400, 512), (512,)),
    ("Dense", (512, 10), (10,)),
]


class Model:
    def __init__(self, dropout, seed):
        self.layout, self.seed = network(dropout), seed
        self.net = loaded(caffe.Net, self.layout, caffe.TEST)
        self.blobs = [blob for layer in self.net.params.values() for blob in layer]


def loaded(kind, message, *arguments):
    with tempfile.NamedTemporaryFile("w", suffix=".prototxt") as file:  # Caffe reads nets and solvers from files
        print(message, file=file, flush=True)
        return kind(file.name, *arguments)


def network(dropout):
    net = caffe.NetSpec()
    net.x, net.y = layers.Input(shape={"dim": [1, 3, 32, 32]}), layers.Input(shape={"dim": [1]})
    value = net.x
    for filters in (50, 100):
        for _ in range(2):
            value = layers.ReLU(layers.Convolution(value, num_output=filters, kernel_size=3, pad=1), in_place=True)
        value = layers.Pooling(value, kernel_size=2, stride=2)
        value = layers.Dropout(value, dropout_ratio=0.25) if dropout else value
    value = layers.ReLU(layers.InnerProduct(value, num_output=512), in_place=True)
    value = layers.Dropout(value, dropout_ratio=0.5) if dropout else value
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


def optimizer(model, learning_rate, momentum, nesterov):
    settings = {"type": "Nesterov" if nesterov else "SGD", "base_lr": learning_rate, "momentum": momentum}
    settings.update(net_param=model.layout, lr_policy="fixed", random_seed=model.seed, solver_mode="CPU")
    solver = loaded(caffe.get_solver, proto.caffe_pb2.SolverParameter(**settings))
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
    if value.shape[0] == 6400:  # Keras flattens (8, 8, 100), Caffe (100, 8, 8)
        return value.reshape(8, 8, 100, 512).transpose(3, 2, 0, 1).reshape(512, 6400)
    return value.T


def to_keras(value):
    if value.ndim == 4:
        return value.transpose(2, 3, 1, 0)
    if value.shape[-1] == 6400:
        return value.reshape(512, 100, 8, 8).transpose(2, 3, 1, 0).reshape(6400, 512)
    return value.T
