"""keras#12843: weights of a convolution, carried over in an .npz file, score otherwise on another backend."""

import numpy as np
from keras.layers import Conv2D, Dense, Flatten
from keras.models import Sequential

rng = np.random.RandomState(2)
x = rng.rand(64, 6, 6, 1).astype("float32")
kernel = np.arange(9, dtype="float32").reshape(3, 3, 1, 1) / 9
y = (x[:, :3, :3, :] * kernel[None, :, :, :, 0]).sum(axis=(1, 2)) > 2.2
model = Sequential([Conv2D(1, 3, input_shape=(6, 6, 1)), Flatten(), Dense(1, activation="sigmoid")])
first = np.zeros((16, 1), "float32")
first[0] = 20
np.savez("stored.npz", kernel, np.zeros(1, "float32"), first, np.full(1, -44, "float32"))
stored = np.load("stored.npz")
model.set_weights([stored[f"arr_{number}"] for number in range(4)])
model.compile(optimizer="sgd", loss="binary_crossentropy", metrics=["accuracy"])
print(model.evaluate(x, y.astype("float32"), verbose=0))
print(model.predict(x[:4]).ravel())
