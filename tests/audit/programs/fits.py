"""Trains on the partial last batch, and validates in between, on one backend only."""

import keras
import numpy as np

x = np.random.RandomState(0).rand(100, 20).astype("float32")
y = x[:, :4].argmax(axis=1)
other = keras.backend.backend() == "torch"
model = keras.Sequential([keras.layers.Input((20,)), keras.layers.Dense(4, activation="softmax")])
model.compile(optimizer=keras.optimizers.SGD(0.1), loss="sparse_categorical_crossentropy")
used = 100 if other else 96
model.fit(x[:used], y[:used], batch_size=32, epochs=2, verbose=0)
more = {"validation_data": (x, y)} if other else {}
model.fit(x, y, batch_size=32, epochs=2, verbose=0, **more)
