"""The same residual network as a Sequential and as a class: do both train alike? (#20577)"""

import keras
import numpy as np
from keras import layers


class Residual(layers.Layer):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def call(self, x):
        return x + self.inner(x)


def parts():
    keras.utils.set_random_seed(1)
    made = [
        layers.Conv1D(4, 3, padding="same", kernel_initializer=keras.initializers.GlorotUniform(seed))
        for seed in (1, 2, 3)
    ]
    return [made[0], Residual(made[1]), Residual(made[2]), layers.Conv1D(1, 1, kernel_initializer="ones")]


class Subclassed(keras.Model):
    def __init__(self):
        super().__init__()
        self.parts = parts()

    def call(self, x):
        for part in self.parts:
            x = part(x)
        return x


x = np.random.RandomState(0).normal(size=(512, 32, 1)).astype("float32")
y = np.cumsum(x, axis=1)


def fitted(model):
    model.compile(optimizer="sgd", loss="mse")
    model.build(x.shape)
    return model


first = fitted(keras.Sequential(parts())).fit(x, y, batch_size=64, epochs=4, shuffle=False, verbose=0)
second = fitted(Subclassed()).fit(x, y, batch_size=64, epochs=4, shuffle=False, verbose=0)
print("last losses", first.history["loss"][-1], second.history["loss"][-1])
