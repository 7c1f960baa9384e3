"""mnist_mlp in Caffe: a net that predicts, and a solver whose own net trains the same weights."""

import tempfile

import caffe
from caffe import layers
from caffe.proto import caffe_pb2

LAYERS = [("Dense", (784, 512), (512,)), ("Dense", (512, 512), (512,)), ("Dense", (512, 10), (10,))]


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
    net.x, net.y = layers.Input(shape={"dim": [1, 784]}), layers.Input(shape={"dim": [1]})
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
    return [blob.data.T for blob in model.blobs]
