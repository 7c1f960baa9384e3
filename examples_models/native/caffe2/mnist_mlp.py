"""mnist_mlp in Caffe2: one net trains and one predicts, and both have their weights in the workspace."""

from caffe2.proto import caffe2_pb2
from caffe2.python import brew, core, workspace
from caffe2.python import optimizer as optimizers
from caffe2.python.model_helper import ModelHelper

LAYERS = [("Dense", (784, 512), (512,)), ("Dense", (512, 512), (512,)), ("Dense", (512, 10), (10,))]
NAMES = ["dense1_w", "dense1_b", "dense2_w", "dense2_b", "dense3_w", "dense3_b"]
core.GlobalInit(["caffe2"])
DEVICE = core.DeviceOption(caffe2_pb2.CUDA if workspace.has_cuda_support else caffe2_pb2.CPU)


class Nets:
    def __init__(self, rate):
        self.train = ModelHelper("train")
        self.train.net.SoftmaxWithLoss([logits(self.train, rate, is_test=0), "y"], ["found", "loss"])
        brew.accuracy(self.train, ["found", "y"], "accuracy")
        self.train.AddGradientOperators(["loss"])
        self.test = ModelHelper("test", init_params=False)
        self.test.net.Softmax(logits(self.test, rate, is_test=1), "predicted")


def logits(model, rate, is_test):
    value = "x"
    for name, inputs in (("dense1", 784), ("dense2", 512)):
        brew.fc(model, value, name, dim_in=inputs, dim_out=512)
        value = brew.relu(model, name, name)
        if rate:
            value = brew.dropout(model, value, name + "_kept", ratio=rate, is_test=is_test)
    return brew.fc(model, value, "dense3", dim_in=512, dim_out=10)


def build(weights, dropout, seed):
    workspace.ResetWorkspace()
    with core.DeviceScope(core.DeviceOption(DEVICE.device_type, random_seed=seed)):
        nets = Nets(0.2 if dropout else 0.0)
    feed(weights)
    workspace.CreateBlob("x")
    workspace.CreateBlob("y")
    workspace.CreateNet(nets.test.net)
    return nets


def feed(weights):
    for name, value in zip(NAMES, weights):
        workspace.FeedBlob(name, value.T.copy(), DEVICE)  # Caffe2 keeps a kernel as (outputs, inputs)


def optimizer(nets, learning_rate, rho, epsilon):
    held = weights(nets)
    # Caffe2 has epsilon under the root: there its square is what epsilon is beside it.
    optimizers.build_rms_prop(nets.train, learning_rate, decay=rho, epsilon=epsilon**2)
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
    return [workspace.FetchBlob(name).T for name in NAMES]
