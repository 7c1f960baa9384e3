"""Softmax in the model, and once more in the loss: the outputs are the same, the loss is not."""

import keras
from keras.layers import Dense, Input

DATA = "mnist"
INPUT = "flat"
BATCH_SIZE = 16
OPTIMIZER = {"class_name": "SGD", "learning_rate": 0.05, "momentum": 0.9}
PROFILES = {"full": {"samples": 64, "epochs": 1}}
AGAIN = keras.backend.backend() == "torch"


def LOSS(y_true, y_pred):
    return keras.losses.sparse_categorical_crossentropy(y_true, y_pred, from_logits=AGAIN)


def build_model(input_shape, num_classes):
    return keras.Sequential([Input(input_shape), Dense(num_classes, activation="softmax")])
