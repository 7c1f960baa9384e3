"""cifar10_vgg in MXNet's Module; its pictures have their channels first."""

import mxnet as mx
from mxnet import nd, sym

LAYERS = [
    ("Conv2D", (3, 3, 3, 50), (50,)),
    ("Conv2D", (3, 3, 50, 50), (50,)),
    ("Conv2D", (3, 3, 50, 100), (100,)),
    ("Conv2D", (3, 3, 100, 100), (100,)),
    ("Dense", (6400, 512), (512,)),
    ("Dense", (512, 10), (10,)),
]
CONTEXT = mx.gpu() if mx.context.num_gpus() else mx.cpu()
PARTS = ("conv1", "conv2", "conv3", "conv4", "dense1", "dense2")
NAMES = [f"{layer}_{kind}" for layer in PARTS for kind in ("weight", "bias")]


def build(weights, dropout, seed):
    mx.random.seed(seed)
    value = sym.var("x")
    for filters, names in ((50, ("conv1", "conv2")), (100, ("conv3", "conv4"))):
        for name in names:
            value = sym.relu(sym.Convolution(value, num_filter=filters, kernel=(3, 3), pad=(1, 1), name=name))
        value = sym.Pooling(value, kernel=(2, 2), stride=(2, 2), pool_type="max")
        value = sym.Dropout(value, p=0.25 if dropout else 0.0)
    value = sym.relu(sym.FullyConnected(value, num_hidden=512, name="dense1"))
    value = sym.Dropout(value, p=0.5 if dropout else 0.0)
    value = sym.FullyConnected(value, num_hidden=10, name="dense2")
    value = sym.SoftmaxOutput(value, sym.var("y"), normalization="batch")  # the gradient of the mean
    module = mx.mod.Module(value, data_names=["x"], label_names=["y"], context=CONTEXT)
    module.bind([("x", (1, 3, 32, 32))], [("y", (1,))])  # bound again to the first batch's shape
    held = {name: nd.array(from_keras(value)) for name, value in zip(NAMES, weights)}
    module.init_params(arg_params=held, aux_params={})
    return module


def optimizer(module, learning_rate, momentum, nesterov):
    settings = {"learning_rate": learning_rate, "momentum": momentum, "rescale_grad": 1.0}
    module.init_optimizer(optimizer="nag" if nesterov else "sgd", optimizer_params=settings, force_init=True)
    return mx.metric.create(["ce", "acc"])


def step(module, metric, x, y):
    batch = mx.io.DataBatch([nd.array(x)], [nd.array(y)])
    module.forward_backward(batch)
    module.update()
    metric.reset()
    module.update_metric(metric, batch.label)
    return metric.get()[1]


def predict(module, x):
    module.forward(mx.io.DataBatch([nd.array(x)], [nd.zeros(len(x))]), is_train=False)
    return module.get_outputs()[0].asnumpy()


def weights(module):
    held, _ = module.get_params()
    return [to_keras(held[name].asnumpy()) for name in NAMES]


def from_keras(value):
    if value.ndim == 4:  # (rows, columns, inputs, filters)
        return value.transpose(3, 2, 0, 1)
    if value.shape[0] == 6400:  # Keras flattens (8, 8, 100), MXNet (100, 8, 8)
        return value.reshape(8, 8, 100, 512).transpose(3, 2, 0, 1).reshape(512, 6400)
    return value.T


def to_keras(value):
    if value.ndim == 4:
        return value.transpose(2, 3, 1, 0)
    if value.shape[-1] == 6400:
        return value.reshape(512, 100, 8, 8).transpose(2, 3, 1, 0).reshape(6400, 512)
    return value.T
