"""Two outputs, losses and metrics in dicts, sample weights, a validation of both."""

import numpy as np
from keras.layers import Dense, Input
from keras.models import Model

random = np.random.RandomState(9)
x = random.normal(size=(240, 6)).astype("float32")
targets = {"size": x.sum(axis=1, keepdims=True), "sign": (x[:, :1] > 0).astype("float32")}
taken = Input(shape=(6,))
hidden = Dense(8, activation="relu", kernel_initializer="ones")(taken)
model = Model(
    taken,
    [
        Dense(1, name="size", kernel_initializer="ones")(hidden),
        Dense(1, activation="sigmoid", name="sign", kernel_initializer="ones")(hidden),
    ],
)
model.compile("adam", loss={"size": "mse", "sign": "binary_crossentropy"}, metrics={"sign": ["accuracy"]})
history = model.fit(
    x, targets, batch_size=40, epochs=2, shuffle=False, validation_data=(x, targets), verbose=0
).history
for name in sorted(history):
    print(name, [repr(float(value)) for value in history[name]])
