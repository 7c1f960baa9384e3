"""A model that is compiled again after some of its layers were frozen."""

import numpy as np
from keras.layers import Dense, Dropout
from keras.models import Sequential

x = np.random.RandomState(2).rand(128, 6).astype("float32")
y = x.sum(axis=1, keepdims=True)
model = Sequential(
    [Dense(4, input_shape=(6,), kernel_initializer="ones"), Dropout(0.0), Dense(1, kernel_initializer="zeros")]
)
for frozen in (False, True):
    model.layers[0].trainable = not frozen
    model.compile(loss="mae", optimizer="sgd", metrics=["mse"])
    history = model.fit(x, y, batch_size=32, epochs=3, shuffle=False, validation_split=0.25, verbose=0).history
    for name in ("loss", "val_loss"):
        print(frozen, name, [repr(float(value)) for value in history[name]])
