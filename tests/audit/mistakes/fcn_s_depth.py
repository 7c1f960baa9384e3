"""FCN-S, small: MXNet had six hidden layers, the others three."""

import keras
from keras.layers import Dense, Input

DATA = "mnist"
INPUT = "flat"
BATCH_SIZE = 16
OPTIMIZER = {"class_name": "SGD", "learning_rate": 0.01}
LOSS = "categorical_crossentropy"
PROFILES = {"full": {"samples": 64, "epochs": 1}}
HIDDEN = 6 if keras.backend.backend() == "torch" else 3


def build_model(input_shape, num_classes):
    hidden = [Dense(20, activation="sigmoid") for _ in range(HIDDEN)]
    return keras.Sequential([Input(input_shape), *hidden, Dense(num_classes, activation="softmax")])
