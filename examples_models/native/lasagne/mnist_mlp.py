"""mnist_mlp in Lasagne on Theano."""

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
from lasagne.layers import DenseLayer, DropoutLayer, InputLayer, get_all_params, get_output  # noqa: E402
from lasagne.nonlinearities import rectify, softmax  # noqa: E402

LAYERS = [("Dense", (784, 512), (512,)), ("Dense", (512, 512), (512,)), ("Dense", (512, 10), (10,))]


def build(weights, dropout, seed):
    lasagne.random.set_rng(np.random.RandomState(seed))
    w1, b1, w2, b2, w3, b3 = weights
    rate = 0.2 if dropout else 0.0
    net = InputLayer((None, 784), T.matrix("x"))
    net = DropoutLayer(DenseLayer(net, 512, W=w1, b=b1, nonlinearity=rectify), rate)
    net = DropoutLayer(DenseLayer(net, 512, W=w2, b=b2, nonlinearity=rectify), rate)
    net = DenseLayer(net, 10, W=w3, b=b3, nonlinearity=softmax)
    return {"net": net, "predict": theano.function([input_of(net)], get_output(net, deterministic=True))}


def optimizer(model, learning_rate, rho, epsilon):
    """A function that trains: Lasagne's optimizers are updates of shared variables."""
    y, net = T.ivector("y"), model["net"]
    found = get_output(net)
    loss = lasagne.objectives.categorical_crossentropy(found, y).mean()
    accuracy = T.eq(T.argmax(found, axis=1), y).mean(dtype="float32")
    params = get_all_params(net, trainable=True)
    # Lasagne has epsilon under the root: there its square is what epsilon is beside it.
    updates = lasagne.updates.rmsprop(loss, params, learning_rate, rho, epsilon**2)
    return theano.function([input_of(net), y], [loss, accuracy], updates=updates)


def step(model, optimizer, x, y):
    return optimizer(x, y)


def predict(model, x):
    return model["predict"](x)


def weights(model):
    return [param.get_value() for param in get_all_params(model["net"])]


def input_of(net):
    return lasagne.layers.get_all_layers(net)[0].input_var
