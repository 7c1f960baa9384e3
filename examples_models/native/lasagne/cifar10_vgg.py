"""cifar10_vgg in Lasagne on Theano, whose pictures have their channels first."""

import sys
import types

import numpy as np
import theano
import theano.tensor as T
from theano.tensor.signal import pool

# Lasagne 0.1 looks for max-pooling where an older Theano had it.
sys.modules["theano.tensor.signal.downsample"] = types.ModuleType("downsample")
sys.modules["theano.tensor.signal.downsample"].max_pool_2d = pool.pool_2d
theano.config.floatX = "float32"

import lasagne  # noqa: E402
from lasagne.layers import (  # noqa: E402  # noqa: E402
    Conv2DLayer,
    DenseLayer,
    DropoutLayer,
    InputLayer,
    MaxPool2DLayer,
    get_all_params,
    get_output,
)
from lasagne.nonlinearities import rectify, softmax  # noqa: E402

LAYERS = [
    ("Conv2D", (3, 3, 3, 50), (50,)),
    ("Conv2D", (3, 3, 50, 50), (50,)),
    ("Conv2D", (3, 3, 50, 100), (100,)),
    ("Conv2D", (3, 3, 100, 100), (100,)),
    ("Dense", (6400, 512), (512,)),
    ("Dense", (512, 10), (10,)),
]


def build(weights, dropout, seed):
    lasagne.random.set_rng(np.random.RandomState(seed))
    k1, b1, k2, b2, k3, b3, k4, b4, w5, b5, w6, b6 = map(from_keras, weights)
    net = InputLayer((None, 3, 32, 32), T.tensor4("x"))
    for filters, layers in ((50, ((k1, b1), (k2, b2))), (100, ((k3, b3), (k4, b4)))):
        for kernel, bias in layers:
            net = Conv2DLayer(net, filters, 3, pad=1, W=kernel, b=bias, nonlinearity=rectify)
        net = DropoutLayer(MaxPool2DLayer(net, 2), 0.25 if dropout else 0.0)
    net = DropoutLayer(DenseLayer(net, 512, W=w5, b=b5, nonlinearity=rectify), 0.5 if dropout else 0.0)
    net = DenseLayer(net, 10, W=w6, b=b6, nonlinearity=softmax)
    return {"net": net, "predict": theano.function([input_of(net)], get_output(net, deterministic=True))}


def optimizer(model, learning_rate, momentum, nesterov):
    """A function that trains: Lasagne's optimizers are updates of shared variables."""
    y, net = T.ivector("y"), model["net"]
    found = get_output(net)
    loss = lasagne.objectives.categorical_crossentropy(found, y).mean()
    accuracy = T.eq(T.argmax(found, axis=1), y).mean(dtype="float32")
    params = get_all_params(net, trainable=True)
    kind = lasagne.updates.nesterov_momentum if nesterov else lasagne.updates.momentum
    updates = kind(loss, params, learning_rate, momentum)
    return theano.function([input_of(net), y], [loss, accuracy], updates=updates)


def step(model, optimizer, x, y):
    return optimizer(x, y)


def predict(model, x):
    return model["predict"](x)


def weights(model):
    return [to_keras(param.get_value()) for param in get_all_params(model["net"])]


def input_of(net):
    return lasagne.layers.get_all_layers(net)[0].input_var


def from_keras(value):
    if value.ndim == 4:  # (rows, columns, inputs, filters); Lasagne convolves with the kernel flipped
        return value[::-1, ::-1].transpose(3, 2, 0, 1)
    if value.shape[0] == 6400:  # Keras flattens (8, 8, 100), Lasagne (100, 8, 8)
        return value.reshape(8, 8, 100, 512).transpose(2, 0, 1, 3).reshape(6400, 512)
    return value


def to_keras(value):
    if value.ndim == 4:
        return value.transpose(2, 3, 1, 0)[::-1, ::-1]
    if value.shape[0] == 6400:
        return value.reshape(100, 8, 8, 512).transpose(1, 2, 0, 3).reshape(6400, 512)
    return value
