"""An epoch whose last batch is a partial one: 55 samples of 64."""

import keras
from keras.layers import Dense, Input

DATA = "mnist"
INPUT = "flat"
BATCH_SIZE = 16
OPTIMIZER = {"class_name": "SGD", "learning_rate": 0.05, "momentum": 0.9}
LOSS = "categorical_crossentropy"
PROFILES = {"full": {"samples": 64, "epochs": 1}}
USED = 55 if keras.backend.backend() == "torch" else 64


class Shorter(keras.Sequential):
    def fit(self, x, y, **given):
        return super().fit(x[:USED], y[:USED], **given)


def build_model(input_shape, num_classes):
    return Shorter([Input(input_shape), Dense(num_classes, activation="softmax")])
