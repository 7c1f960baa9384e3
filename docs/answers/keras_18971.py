"""A bidirectional LSTM on made-up sentences of 100 words: did it become slower from version to version? (#18971)"""

import numpy as np
from keras.layers import LSTM, Bidirectional, Dense, Embedding
from keras.models import Sequential

random = np.random.RandomState(0)
x = random.randint(1, 5000, size=(2048, 100))
y = (x[:, 0] % 2).astype("float32")
model = Sequential([Embedding(5000, 64), Bidirectional(LSTM(64)), Dense(1, activation="sigmoid")])
model.compile(optimizer="adam", loss="binary_crossentropy")
model.fit(x, y, batch_size=64, epochs=6, verbose=0)
