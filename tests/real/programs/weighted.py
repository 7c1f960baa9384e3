"""Padded sequences behind a mask, weights of samples and of classes."""

import numpy as np
from keras.layers import LSTM, Dense, Embedding
from keras.models import Sequential

random = np.random.RandomState(4)
x = random.randint(1, 20, (128, 7))
x[:, 5:] = 0
y = (x.sum(axis=1) > 50).astype("float32")
model = Sequential()
model.add(Embedding(20, 4, mask_zero=True, embeddings_initializer="ones"))
model.add(LSTM(4, kernel_initializer="ones", recurrent_initializer="ones", recurrent_activation="sigmoid"))
model.add(Dense(1, activation="sigmoid", kernel_initializer="ones"))
model.compile(loss="binary_crossentropy", optimizer="sgd")
weights = np.linspace(0, 1, 128)
for how in ({"sample_weight": weights}, {"class_weight": {0: 1.0, 1: 3.0}}):
    history = model.fit(x, y, batch_size=32, epochs=2, shuffle=False, verbose=0, **how).history
    print(sorted(how), [repr(float(value)) for value in history["loss"]])
