"""A Sequence, or PyDataset as Keras 3 calls it."""

import math

import numpy as np
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import Sequence


class Batches(Sequence):
    def __init__(self, x, batch_size):
        if hasattr(super().__init__, "__func__"):  # PyDataset's
            super().__init__()
        self.x = x
        self.batch_size = batch_size

    def __len__(self):
        return math.ceil(len(self.x) / self.batch_size)

    def __getitem__(self, number):
        x = self.x[number * self.batch_size : (number + 1) * self.batch_size]
        return x, x.sum(axis=1, keepdims=True)


x = np.random.RandomState(8).normal(size=(200, 4)).astype("float32")
model = Sequential([Dense(1, input_shape=(4,), kernel_initializer="zeros")])
model.compile(loss="mse", optimizer="sgd")
fit = getattr(model, "fit_generator", model.fit)
history = fit(Batches(x, 20), epochs=3, shuffle=False, verbose=0).history
print([repr(float(value)) for value in history["loss"]])
