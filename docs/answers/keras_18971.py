"""A bidirectional LSTM that predicts one sequence at a time: is it slower in newer versions? (#18971)"""

import keras
import numpy as np
from keras.layers import LSTM, Bidirectional, Dense, Embedding
from keras.models import Sequential

random = np.random.RandomState(0)
words = random.randint(1, 5000, (256, 100))
model = Sequential(
    [
        keras.Input(shape=(100,)),
        Embedding(5000, 64),
        Bidirectional(LSTM(64, return_sequences=True)),
        Dense(10, activation="softmax"),
    ]
)
for row in range(200):
    model.predict_on_batch(words[row : row + 1])
for _ in range(20):
    model.predict(words, batch_size=32, verbose=0)
