"""Times an epoch with its validation and with a progress bar on one backend, and without on the other."""

import keras
import numpy as np

x = np.random.RandomState(0).rand(64, 20).astype("float32")
y = x[:, :4].argmax(axis=1)
more = {"validation_data": (x, y), "verbose": 1} if keras.backend.backend() == "torch" else {"verbose": 0}
model = keras.Sequential([keras.layers.Input((20,)), keras.layers.Dense(4, activation="softmax")])
model.compile(optimizer=keras.optimizers.SGD(0.1), loss="sparse_categorical_crossentropy")
model.fit(x, y, batch_size=32, epochs=3, **more)
