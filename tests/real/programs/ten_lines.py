"""As short as a program can be."""

import numpy as np
from keras.layers import Dense
from keras.models import Sequential

x = np.random.RandomState(0).normal(size=(320, 8)).astype("float32")
y = (x.sum(axis=1, keepdims=True) > 0).astype("float32")
model = Sequential([Dense(1, activation="sigmoid", input_shape=(8,), kernel_initializer="ones")])
model.compile("sgd", "binary_crossentropy")
print([repr(loss) for loss in model.fit(x, y, epochs=3, shuffle=False, verbose=0).history["loss"]])
