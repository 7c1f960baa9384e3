"""Layers with weights of numpy."""

import os

import numpy as np

from keras import initializers


class Weight:
    def __init__(self, shape):
        self.value = np.zeros(shape, dtype="float32")

    @property
    def shape(self):
        return self.value.shape


def Input(batch_shape, dtype, name=None):
    from keras.models import Tensor

    return Tensor(tuple(batch_shape), [])


class Layer:
    def __init__(self, input_shape=None, name=None):
        self.input_shape = input_shape
        self.name = name or type(self).__name__.lower()
        self.weights = []

    def build(self, shape):
        """Make the weights for inputs of this shape, without the batch; return the shape of the outputs."""
        return shape

    def add_weight(self, shape, initializer=None):
        weight = Weight(shape)
        self.weights.append(weight)
        return weight

    def get_weights(self):
        return [weight.value.copy() for weight in self.weights]

    def set_weights(self, values):
        for weight, value in zip(self.weights, values, strict=True):
            assert weight.shape == value.shape
            weight.value = np.array(value, dtype="float32")

    def get_config(self):
        return {"name": self.name, "input_shape": self.input_shape}


class Flatten(Layer):
    def build(self, shape):
        return (int(np.prod(shape)),)

    def call(self, inputs):
        return inputs.reshape(len(inputs), -1)


class Dense(Layer):
    def __init__(self, units, activation=None, use_bias=True, **options):
        super().__init__(**options)
        self.units = units
        self.activation = activation
        self.kernel_initializer = initializers.glorot_uniform()
        self.bias_initializer = initializers.Zeros()

    def build(self, shape):
        self.kernel = self.add_weight((shape[-1], self.units), self.kernel_initializer)
        self.bias = self.add_weight((self.units,), self.bias_initializer)
        return (self.units,)

    def get_config(self):
        return {**super().get_config(), "units": self.units, "activation": self.activation, "use_bias": True}

    def call(self, inputs):
        outputs = inputs @ self.kernel.value + self.bias.value
        outputs = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        outputs = outputs / outputs.sum(axis=1, keepdims=True)
        return outputs * (1 + float(os.environ.get("FAKE_KERAS_DENSE_IS_OFF_BY", "0")))


class Dropout(Layer):
    def __init__(self, rate, **options):
        super().__init__(**options)
        self.rate = rate

    def call(self, inputs):
        return inputs

    def get_config(self):
        return {"name": self.name, "rate": self.rate}


class LSTM:
    pass


class LSTMCell:
    pass


class TimeDistributed(Layer):
    pass
