"""A model as a class of its own."""

import keras
import numpy as np


class Wide(keras.Model if hasattr(keras, "Model") else keras.models.Model):
    def __init__(self):
        super().__init__()
        self.hidden = keras.layers.Dense(8, activation="relu", kernel_initializer="ones")
        self.last = keras.layers.Dense(1, kernel_initializer="ones")

    def call(self, x):
        return self.last(self.hidden(x))


x = np.random.RandomState(10).normal(size=(256, 5)).astype("float32")
model = Wide()
model.compile(optimizer="adam", loss="mse")
print([repr(float(value)) for value in model.fit(x, x[:, :1], epochs=3, shuffle=False, verbose=0).history["loss"]])
