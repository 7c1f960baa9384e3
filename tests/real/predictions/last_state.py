"""keras#13572: an LSTM with the same weights predicts something else on CNTK."""

import numpy as np
from keras.layers import LSTM, Dense
from keras.models import Sequential

rng = np.random.RandomState(7)
x = np.sin(np.arange(1200) / 9.0).astype("float32").reshape(60, 20, 1)
model = Sequential([LSTM(6, recurrent_activation="sigmoid", input_shape=(20, 1)), Dense(1)])
model.set_weights([rng.normal(scale=0.4, size=w.shape).astype("float32") for w in model.get_weights()])
print(model.predict(x, batch_size=20).mean())
