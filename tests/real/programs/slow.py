"""Data that take longer than the training and come in another length in each epoch; an LSTM that runs eagerly."""

import time

import numpy as np
from keras.layers import LSTM, Dense, GlobalAveragePooling1D, Input
from keras.models import Sequential

random = np.random.RandomState(3)
STEPS = 10


def batches():
    for number in range(10 * STEPS):
        time.sleep(0.03)
        length = 4 + number // STEPS + (number == 1)  # Keras asks the first two batches what may vary
        x = random.normal(size=(16, length, 8)).astype("float32")
        yield x, x.sum(axis=(1, 2))[:, None]


model = Sequential([Input((None, 8)), Dense(64, activation="relu", kernel_initializer="ones")])
model.add(GlobalAveragePooling1D())
model.add(Dense(1, kernel_initializer="zeros"))
model.compile("sgd", "mse")
history = model.fit(batches(), steps_per_epoch=STEPS, epochs=5, verbose=0).history
print([repr(float(loss)) for loss in history["loss"]])

x = np.random.RandomState(4).normal(size=(32, 4, 2)).astype("float32")  # how far Keras read ahead is not known
reader = LSTM(4, kernel_initializer="ones", recurrent_initializer="identity", name="reader")
model = Sequential([Input((4, 2)), reader, Dense(1, kernel_initializer="ones")])
model.compile("sgd", "mse", run_eagerly=True)
history = model.fit(x, x.sum(axis=(1, 2)), batch_size=16, epochs=4, shuffle=False, verbose=0).history
print([repr(float(loss)) for loss in history["loss"]])
