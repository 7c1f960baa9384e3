"""mnist_cnn in MXNet's Module; its pictures have their channels first."""

import mxnet as mx
from mxnet import nd, sym

LAYERS = [
    ("Conv2D", (3, 3, 1, 32), (32,)),
    ("Conv2D", (3, 3, 32, 64), (64,)),
    ("Dense", (9216, 128), (128,)),
    ("Dense", (128, 10), (10,)),
]
CONTEXT = mx.gpu() if mx.context.num_gpus() else mx.cpu()
NAMES = [f"{layer}_{kind}" for layer in ("conv1", "conv2", "dense1", "dense2") for kind in ("weight", "bias")]


def build(weights, dropout, seed):
    mx.random.seed(seed)
    value = sym.relu(sym.Convolution(sym.var("x"), num_filter=32, kernel=(3, 3), name="conv1"))
    value = sym.relu(sym.Convolution(value, num_filter=64, kernel=(3, 3), name="conv2"))
    value = sym.Pooling(value, kernel=(2, 2), stride=(2, 2), pool_type="max")
    value = sym.Dropout(value, p=0.25 if dropout else 0.0)
    value = sym.relu(sym.FullyConnected(value, num_hidden=128, name="dense1"))
    value = sym.Dropout(value, p=0.5 if dropout else 0.0)
    value = sym.FullyConnected(value, num_hidden=10, name="dense2")
    value = sym.SoftmaxOutput(value, sym.var("y"), normalization="batch")  # the gradient of the mean
    module = mx.mod.Module(value, data_names=["x"], label_names=["y"], context=CONTEXT)
    module.bind([("x", (1, 1, 28, 28))], [("y", (1,))])  # bound again to the first batch's shape
    held = {name: nd.array(from_keras(value)) for name, value in zip(NAMES, weights)}
    module.init_params(arg_params=held, aux_params={})
    return module


def optimizer(module, learning_rate, rho, epsilon):
    if learning_rate != 1.0:
        raise ValueError("MXNet's AdaDelta has no learning rate")
    settings = {"rho": rho, "epsilon": epsilon, "rescale_grad": 1.0}
    module.init_optimizer(optimizer="adadelta", optimizer_params=settings, force_init=True)
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
    if value.shape[0] == 9216:  # Keras flattens (12, 12, 64), MXNet (64, 12, 12)
        return value.reshape(12, 12, 64, 128).transpose(3, 2, 0, 1).reshape(128, 9216)
    return value.T


def to_keras(value):
    if value.ndim == 4:
        return value.transpose(2, 3, 1, 0)
    if value.shape[-1] == 9216:
        return value.reshape(128, 64, 12, 12).transpose(2, 3, 1, 0).reshape(9216, 128)
    return value.T
