"""Sorts a short row of digits: encoder and decoder, targets of one class for each step, steps that are masked."""

import numpy as np
from keras.layers import LSTM, Dense, Embedding, RepeatVector
from keras.models import Sequential

DIGITS, STEPS = 10, 5

BATCH_SIZE = 64
OPTIMIZER = {"class_name": "Adam", "learning_rate": 0.002, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7}
LOSS = "categorical_crossentropy"
METRICS = ["accuracy"]
PROFILES = {
    "smoke": {"samples": 256, "validation_samples": 64, "epochs": 2},
    "full": {"samples": 8192, "validation_samples": 2048, "epochs": 5},
}


def load_data():
    random = np.random.RandomState(0)
    x = random.randint(1, DIGITS, size=(10240, STEPS))
    x[random.uniform(size=10240) < 0.5, -1] = 0  # half of the rows are shorter
    y = np.eye(DIGITS)[np.sort(x, axis=1)]
    return (x[:8192], y[:8192]), (x[8192:], y[8192:])


def build_model(input_shape):
    model = Sequential()
    model.add(Embedding(DIGITS, 16, mask_zero=True, input_shape=input_shape))
    model.add(LSTM(32, recurrent_activation="sigmoid"))
    model.add(RepeatVector(STEPS))
    model.add(LSTM(32, recurrent_activation="sigmoid", return_sequences=True))
    model.add(Dense(DIGITS, activation="softmax"))
    return model
