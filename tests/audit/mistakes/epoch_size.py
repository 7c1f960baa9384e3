"""An epoch of MNIST that TensorFlow drew from fewer pictures, though it counted as many steps: here 55 of 64."""

import keras
import numpy as np
from keras.layers import Dense, Input

DATA = "mnist"
INPUT = "flat"
BATCH_SIZE = 16
OPTIMIZER = {"class_name": "SGD", "learning_rate": 0.05, "momentum": 0.9}
LOSS = "categorical_crossentropy"
PROFILES = {"full": {"samples": 64, "epochs": 1}}
PICTURES = 55 if keras.backend.backend() == "torch" else 64


def batches(x, y, batch_size, seed):
    for at in range(0, len(x), batch_size):
        drawn = np.arange(at, at + batch_size) % PICTURES
        yield x[drawn], y[drawn]


def build_model(input_shape, num_classes):
    return keras.Sequential([Input(input_shape), Dense(num_classes, activation="softmax")])
