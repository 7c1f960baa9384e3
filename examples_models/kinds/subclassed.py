"""A model and a layer of classes of their own, and an optimizer that code makes.

kbench draws each weight from its initializer: a layer of your own keeps it as `<name of the weight>_initializer`.
"""

import keras
import numpy as np
from keras import initializers
from keras.layers import Dense, Layer
from keras.models import Model

BATCH_SIZE = 64
LOSS = "sparse_categorical_crossentropy"
METRICS = ["accuracy"]
PROFILES = {
    "smoke": {"samples": 256, "validation_samples": 64, "epochs": 2},
    "full": {"samples": 8192, "validation_samples": 2048, "epochs": 5},
}


def OPTIMIZER():
    try:
        return keras.optimizers.SGD(learning_rate=0.1, momentum=0.9)
    except TypeError:  # Keras 2.2
        return keras.optimizers.SGD(lr=0.1, momentum=0.9)


def load_data():
    random = np.random.RandomState(0)
    x = random.normal(size=(10240, 8))
    y = (np.abs(x).sum(axis=1) > 6.4).astype("int64")
    return (x[:8192], y[:8192]), (x[8192:], y[8192:])


class Scaled(Layer):
    """Each feature times a number that is learnt."""

    def build(self, input_shape):
        self.scale_initializer = initializers.RandomUniform(0.5, 1.5)
        self.scale = self.add_weight(
            name="scale", shape=(int(input_shape[-1]),), initializer=self.scale_initializer, trainable=True
        )
        super(Scaled, self).build(input_shape)

    def call(self, inputs):
        return inputs * self.scale


class Net(Model):
    def __init__(self):
        super(Net, self).__init__()
        self.scaled = Scaled()
        self.hidden = Dense(32, activation="relu")
        self.out = Dense(2, activation="softmax")

    def call(self, inputs):
        return self.out(self.hidden(self.scaled(inputs)))


def build_model():
    return Net()
