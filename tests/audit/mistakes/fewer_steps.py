"""An epoch that ends before all samples were seen."""

import keras
from keras.layers import Dense, Input

DATA = "mnist"
INPUT = "flat"
BATCH_SIZE = 5
OPTIMIZER = {"class_name": "SGD", "learning_rate": 0.05, "momentum": 0.9}
LOSS = "categorical_crossentropy"
PROFILES = {"full": {"samples": 60, "epochs": 1}}
fit = keras.Model.fit


def shorter(self, x, y, **given):
    used = 55 if keras.backend.backend() == "torch" else 60
    return fit(self, x[:used], y[:used], **given)


keras.Model.fit = shorter


def build_model(input_shape, num_classes):
    return keras.Sequential([Input(input_shape), Dense(num_classes, activation="softmax")])
