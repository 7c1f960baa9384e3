"""Reviews that are padded behind on one backend, and in front, as Keras does, on the other."""

import keras
import numpy as np
from keras.layers import GRU, Dense, Embedding, Input

DATA = "imdb"
INPUT = "sequence"
BATCH_SIZE = 16
OPTIMIZER = {"class_name": "Adam", "learning_rate": 0.001, "epsilon": 1e-8}
LOSS = "categorical_crossentropy"
PROFILES = {"full": {"samples": 64, "epochs": 1}}
BEHIND = keras.backend.backend() == "torch"


def batches(x, y, batch_size, seed):
    reviews = [np.roll(one, -int(np.argmax(one != 0))) for one in x] if BEHIND else x
    for at in range(0, len(x), batch_size):
        yield np.array(reviews[at : at + batch_size]), y[at : at + batch_size]


def build_model(input_shape, num_classes):
    gru = GRU(3, reset_after=False, recurrent_activation="sigmoid")
    return keras.Sequential([Input(input_shape), Embedding(30000, 4), gru, Dense(num_classes, activation="softmax")])
