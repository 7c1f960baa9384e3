"""cifar10_vgg in Caffe2, whose pictures have their channels first."""

from caffe2.proto import caffe2_pb2
from caffe2.python import brew, core, workspace
from caffe2.python import optimizer as optimizers
from caffe2.python.model_helper import ModelHelper

LAYERS = [
    ("Conv2D", (3, 3, 3, 50), (50,)),
    ("Conv2D", (3, 3, 50, 50), (50,)),
    ("Conv2D", (3, 3, 50, 100), (100,)),
    ("Conv2D", (3, 3, 100, 100), (100,)),
    ("Dense", (6400, 512), (512,)),
    ("Dense", (512, 10), (10,)),
]
NAMES = [f"{layer}_{kind}" for layer in ("conv1", "conv2", "conv3", "conv4", "dense1", "dense2") for kind in "wb"]
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
    value = "x"
    for inputs, filters, one, two in ((3, 50, "conv1", "conv2"), (50, 100, "conv3", "conv4")):
        value = brew.relu(model, brew.conv(model, value, one, inputs, filters, 3, pad=1), one)
        value = brew.relu(model, brew.conv(model, value, two, filters, filters, 3, pad=1), two)
        value = brew.max_pool(model, value, f"{two}_pooled", kernel=2, stride=2)
        if dropout:
            value = brew.dropout(model, value, f"{two}_kept", ratio=0.25, is_test=is_test)
    value = brew.relu(model, brew.fc(model, value, "dense1", 6400, 512), "dense1")
    if dropout:
        value = brew.dropout(model, value, "dense1_kept", ratio=0.5, is_test=is_test)
    return brew.fc(model, value, "dense2", 512, 10)


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


def optimizer(nets, learning_rate, momentum, nesterov):
    held = weights(nets)
    optimizers.build_sgd(nets.train, learning_rate, momentum=momentum, nesterov=int(nesterov))
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
    if value.shape[0] == 6400:  # Keras flattens (8, 8, 100), Caffe2 (100, 8, 8)
        return value.reshape(8, 8, 100, 512).transpose(3, 2, 0, 1).reshape(512, 6400)
    return value.T


def to_keras(value):
    if value.ndim == 4:
        return value.transpose(2, 3, 1, 0)
    if value.shape[-1] == 6400:
        return value.reshape(512, 100, 8, 8).transpose(2, 3, 1, 0).reshape(6400, 512)
    return value.T
