"""A stateful recurrent network: fit in a loop, an epoch at a time, its state reset in between."""

import numpy as np
from keras.layers import LSTM, Dense, Input
from keras.models import Model

taken = Input(batch_shape=(16, 5, 1))
layer = LSTM(
    3, stateful=True, kernel_initializer="ones", recurrent_initializer="zeros", recurrent_activation="sigmoid"
)
model = Model(taken, Dense(1, kernel_initializer="ones")(layer(taken)))
model.compile(loss="mse", optimizer="sgd")
x = np.random.RandomState(0).rand(64, 5, 1).astype("float32")
for number in range(4):
    loss = model.fit(x, x[:, 0], batch_size=16, epochs=1, shuffle=False, verbose=0).history["loss"][0]
    layer.reset_states() if hasattr(layer, "reset_states") else layer.reset_state()
    print(number, repr(float(loss)))
