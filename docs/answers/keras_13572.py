"""keras#13572: an LSTM with the same weights predicts another wave on CNTK than on TensorFlow and Theano."""

import numpy as np
from keras.layers import LSTM, Dense
from keras.models import Sequential

rng = np.random.RandomState(7)
wave = np.sin(np.arange(1100) / 9.0).astype("float32")
x = np.stack([wave[i : i + 20] for i in range(1000)])[:, :, None]
y = wave[20:1020, None]
model = Sequential([LSTM(10, input_shape=(20, 1)), Dense(1)])
model.set_weights([rng.normal(scale=0.4, size=w.shape).astype("float32") for w in model.get_weights()])
model.compile(loss="mse", optimizer="sgd")
out = model.predict(x, batch_size=100)
print(f"mse of the prediction: {np.mean((out - y) ** 2):.6f}")
