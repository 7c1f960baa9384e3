"""mnist_mlp in Caffe: a net that predicts, and a solver whose own net trains the same weights."""

import tempfile

import caffe
from caffe import layers
from caffe.proto import caffe_pb2

LAYERS = [("Dense", (784, 512), (512,)), ("Dense", (512, 512), (512,)), ("Dense", (512, 10), (10,))]


class Model:
    def __init__(self, dropout, seed):
        self.file = tempfile.NamedTemporaryFile("w", suffix=".prototxt")
        self.file.write(str(network(dropout)))
        self.file.flush()
        self.seed = seed
        self.net = caffe.Net(self.file.name, caffe.TEST)
        self.blobs = [blob for layer in self.net.params.values() for blob in layer]


def network(dropout):
    net = caffe.NetSpec()
    net.x = layers.Input(shape={"dim": [1, 784]})
    net.y = layers.Input(shape={"dim": [1]})
    value = net.x
    for _ in range(2):
        value = layers.ReLU(layers.InnerProduct(value, num_output=512), in_place=True)
        if dropout:
            value = layers.Dropout(value, dropout_ratio=0.2)
    logits = layers.InnerProduct(value, num_output=10)
    net.found = layers.Softmax(logits, include={"phase": caffe.TEST})
    net.loss = layers.SoftmaxWithLoss(logits, net.y)
    net.accuracy = layers.Accuracy(logits, net.y)
    return net.to_proto()


def build(weights, dropout, seed):
    model = Model(dropout, seed)
    for blob, value in zip(model.blobs, weights):
        blob.data[...] = value.T  # Caffe keeps a kernel as (outputs, inputs)
    return model


def optimizer(model, learning_rate, rho, epsilon):
    settings = {"type": "RMSProp", "base_lr": learning_rate, "rms_decay": rho, "delta": epsilon}
    settings.update(net=model.file.name, lr_policy="fixed", random_seed=model.seed, solver_mode="CPU")
    with tempfile.NamedTemporaryFile("w", suffix=".prototxt") as file:
        file.write(str(caffe_pb2.SolverParameter(**settings)))
        file.flush()
        solver = caffe.get_solver(file.name)
    solver.net.share_with(model.net)
    return solver


def step(model, solver, x, y):
    feed(solver.net, x, y)
    solver.step(1)
    return solver.net.blobs["loss"].data, solver.net.blobs["accuracy"].data


def predict(model, x):
    feed(model.net, x, 0)
    model.net.forward()
    return model.net.blobs["found"].data


def feed(net, x, y):
    net.blobs["x"].reshape(*x.shape)
    net.blobs["y"].reshape(len(x))
    net.blobs["x"].data[...] = x
    net.blobs["y"].data[...] = y


def weights(model):
    return [blob.data.T for blob in model.blobs]
