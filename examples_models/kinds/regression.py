"""Predicts a number from eight: a mean squared error, weights of the samples, and callbacks.

The data are made by `load_data`, which runs once, on the first backend of a run; all backends get the same arrays.
"""

import numpy as np
from keras.callbacks import EarlyStopping, ReduceLROnPlateau
from keras.layers import Dense
from keras.models import Sequential

BATCH_SIZE = 32
OPTIMIZER = {"class_name": "Adam", "learning_rate": 0.01, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7}
LOSS = "mse"
METRICS = ["mae"]
TARGET = "val_mae <= 1.5"  # epochs and seconds until then are reported
PROFILES = {
    "smoke": {"samples": 256, "validation_samples": 64, "epochs": 2},
    "full": {"samples": 4096, "validation_samples": 1024, "epochs": 10},
}


def load_data():
    random = np.random.RandomState(0)
    x = random.normal(size=(5120, 8))
    y = np.abs(x).dot(np.arange(8.0)) + random.normal(size=5120)
    weights = 1.0 / (1.0 + np.abs(x[:, 0]))  # a third array is a weight for each sample
    return (x[:4096], y[:4096, None], weights[:4096]), (x[4096:], y[4096:, None], weights[4096:])


def build_model(input_shape):
    model = Sequential()
    model.add(Dense(64, activation="relu", input_shape=input_shape))
    model.add(Dense(64, activation="relu"))
    model.add(Dense(1))
    return model


def callbacks():
    return [ReduceLROnPlateau(monitor="val_loss", patience=2), EarlyStopping(monitor="val_loss", patience=4)]
