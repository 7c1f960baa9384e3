"""Classifies texts by a convolution over words. `load_data` makes numbers of words; the classes have weights."""

import numpy as np
from keras.layers import Conv1D, Dense, Dropout, Embedding, GlobalMaxPooling1D
from keras.models import Sequential

WORDS, LENGTH = 200, 24

BATCH_SIZE = 32
OPTIMIZER = {"class_name": "Adam", "learning_rate": 0.001, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7}
LOSS = "binary_crossentropy"
METRICS = ["accuracy"]
CLASS_WEIGHT = {0: 1.0, 1: 2.0}
PROFILES = {
    "smoke": {"samples": 256, "validation_samples": 64, "epochs": 2},
    "full": {"samples": 4096, "validation_samples": 1024, "epochs": 4},
}


def load_data():
    random = np.random.RandomState(0)
    texts = [" ".join("w%d" % word for word in random.zipf(1.3, size=20) if word < WORDS) for _ in range(5120)]
    numbers = {"w%d" % word: word for word in range(1, WORDS)}
    x = np.zeros((len(texts), LENGTH), dtype="int32")
    for row, text in zip(x, texts):
        words = [numbers[word] for word in text.split()]
        row[: len(words)] = words
    y = np.array([int("w3" in text.split()) for text in texts])
    return (x[:4096], y[:4096]), (x[4096:], y[4096:])


def build_model(input_shape):
    model = Sequential()
    model.add(Embedding(WORDS, 16, input_shape=input_shape))
    model.add(Conv1D(32, 3, activation="relu"))
    model.add(GlobalMaxPooling1D())
    model.add(Dropout(0.2))
    model.add(Dense(1, activation="sigmoid"))
    return model
