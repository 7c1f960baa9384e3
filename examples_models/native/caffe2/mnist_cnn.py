"""mnist_cnn in Caffe2, whose pictures have their channels first."""

from caffe2.proto import caffe2_pb2
from caffe2.python import brew, core, workspace
from caffe2.python import optimizer as optimizers
from caffe2.python.model_helper import ModelHelper

LAYERS = [
    ("Conv2D", (3, 3, 1, 32), (32,)),
    ("Conv2D", (3, 3, 32, 64), (64,)),
    ("Dense", (9216, 128), (128,)),
    ("Dense", (128, 10), (10,)),
]
NAMES = ["conv1_w", "conv1_b", "conv2_w", "conv2_b", "dense1_w", "dense1_b", "dense2_w", "dense2_b"]
core.GlobalInit(["caffe2"])
DEVICE = core.DeviceOption(caffe2_pb2.CUDA if workspace.has_cuda_support else caffe2_pb2.CPU)


class Nets:
    def __init__(self, dropout):
        self.train = ModelHelper("train")
        self.train.net.SoftmaxWithLoss([logits(self.train, dropout, is_test=0), "y"], ["found", "loss"])
        brew.accuracy(self.train, ["found", "y"], "accuracy")
        self.train.AddGradientOperators(["loss"])
        self.test = ModelHelper("test", init_params=False)
        self.test.net.Softmax(logits(self.test, dropout, is_test=1), "predicted")


def logits(model, dropout, is_test):
    value = brew.relu(model, brew.conv(model, "x", "conv1", 1, 32, 3), "conv1")
    value = brew.relu(model, brew.conv(model, value, "conv2", 32, 64, 3), "conv2")
    value = brew.max_pool(model, value, "pooled", kernel=2, stride=2)
    if dropout:
        value = brew.dropout(model, value, "pooled_kept", ratio=0.25, is_test=is_test)
    value = brew.relu(model, brew.fc(model, value, "dense1", 9216, 128), "dense1")
    if dropout:
        value = brew.dropout(model, value, "dense1_kept", ratio=0.5, is_test=is_test)
    return brew.fc(model, value, "dense2", 128, 10)


def build(weights, dropout, seed):
    workspace.ResetWorkspace()
    with core.DeviceScope(core.DeviceOption(DEVICE.device_type, random_seed=seed)):
        nets = Nets(dropout)
    feed(weights)
    workspace.CreateBlob("x")
    workspace.CreateBlob("y")
    workspace.CreateNet(nets.test.net)
    return nets


def feed(weights):
    for name, value in zip(NAMES, weights):
        workspace.FeedBlob(name, from_keras(value).copy(), DEVICE)


def optimizer(nets, learning_rate, rho, epsilon):
    held = weights(nets)
    optimizers.build_adadelta(nets.train, learning_rate, decay=rho, epsilon=epsilon)
    workspace.RunNetOnce(nets.train.param_init_net)  # which draws the weights, too
    feed(held)
    workspace.CreateNet(nets.train.net)


def step(nets, optimizer, x, y):
    workspace.FeedBlob("x", x, DEVICE)
    workspace.FeedBlob("y", y, DEVICE)
    workspace.RunNet(nets.train.net)
    return workspace.FetchBlob("loss"), workspace.FetchBlob("accuracy")


def predict(nets, x):
    workspace.FeedBlob("x", x, DEVICE)
    workspace.RunNet(nets.test.net)
    return workspace.FetchBlob("predicted")


def weights(nets):
    return [to_keras(workspace.FetchBlob(name)) for name in NAMES]


def from_keras(value):
    if value.ndim == 4:  # (rows, columns, inputs, filters)
        return value.transpose(3, 2, 0, 1)
    if value.shape[0] == 9216:  # Keras flattens (12, 12, 64), Caffe2 (64, 12, 12)
        return value.reshape(12, 12, 64, 128).transpose(3, 2, 0, 1).reshape(128, 9216)
    return value.T


def to_keras(value):
    if value.ndim == 4:
        return value.transpose(2, 3, 1, 0)
    if value.shape[-1] == 9216:
        return value.reshape(128, 64, 12, 12).transpose(2, 3, 1, 0).reshape(9216, 128)
    return value.T
