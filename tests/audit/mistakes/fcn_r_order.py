"""FCN-R, small: CNTK had its first two hidden layers in another order."""

import keras
from keras.layers import Dense, Input

DATA = "mnist"
INPUT = "flat"
BATCH_SIZE = 16
OPTIMIZER = {"class_name": "SGD", "learning_rate": 0.05, "momentum": 0.9}
LOSS = "categorical_crossentropy"
PROFILES = {"full": {"samples": 64, "epochs": 1}}
HIDDEN = (40, 20, 10) if keras.backend.backend() == "torch" else (20, 40, 10)


def build_model(input_shape, num_classes):
    hidden = [Dense(units, activation="sigmoid") for units in HIDDEN]
    return keras.Sequential([Input(input_shape), *hidden, Dense(num_classes, activation="softmax")])
