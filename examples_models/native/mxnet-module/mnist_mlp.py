"""mnist_mlp in MXNet's Module: a symbol and the executor that it is bound to."""

import mxnet as mx
from mxnet import nd, sym

LAYERS = [("Dense", (784, 512), (512,)), ("Dense", (512, 512), (512,)), ("Dense", (512, 10), (10,))]
CONTEXT = mx.gpu() if mx.context.num_gpus() else mx.cpu()
NAMES = ["dense1_weight", "dense1_bias", "dense2_weight", "dense2_bias", "dense3_weight", "dense3_bias"]


def build(weights, dropout, seed):
    mx.random.seed(seed)
    rate = 0.2 if dropout else 0.0
    value = sym.var("x")
    for name in ("dense1", "dense2"):
        value = sym.relu(sym.FullyConnected(value, num_hidden=512, name=name))
        value = sym.Dropout(value, p=rate)
    value = sym.FullyConnected(value, num_hidden=10, name="dense3")
    value = sym.SoftmaxOutput(value, sym.var("y"), normalization="batch")  # the gradient of the mean
    module = mx.mod.Module(value, data_names=["x"], label_names=["y"], context=CONTEXT)
    module.bind([("x", (1, 784))], [("y", (1,))])  # bound again to the first batch's shape
    held = {name: nd.array(value.T) for name, value in zip(NAMES, weights)}  # kernels are (outputs, inputs)
    module.init_params(arg_params=held, aux_params={})
    return module


def optimizer(module, learning_rate, rho, epsilon):
    # MXNet has epsilon under the root: there its square is what epsilon is beside it.
    settings = {"learning_rate": learning_rate, "gamma1": rho, "epsilon": epsilon**2, "rescale_grad": 1.0}
    module.init_optimizer(optimizer="rmsprop", optimizer_params=settings, force_init=True)
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
    return [held[name].asnumpy().T for name in NAMES]
