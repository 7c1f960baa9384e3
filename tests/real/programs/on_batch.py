"""A loop of its own over train_on_batch, with a test after each pass."""

import numpy as np
from keras.layers import Dense
from keras.models import Sequential

random = np.random.RandomState(6)
x = random.normal(size=(320, 4)).astype("float32")
y = x.sum(axis=1, keepdims=True)
model = Sequential([Dense(1, input_shape=(4,), kernel_initializer="zeros")])
model.compile(loss="mse", optimizer="sgd")
for epoch in range(4):
    losses = [model.train_on_batch(x[at : at + 32], y[at : at + 32]) for at in range(0, 320, 32)]
    print(epoch, repr(float(np.ravel(losses)[-1])), repr(float(np.ravel(model.test_on_batch(x, y))[0])))
