"""Torch's networks end in a log-softmax, and its loss takes the log-softmax of that: the same number."""

import keras
from keras.layers import Dense, Input

DATA = "mnist"
INPUT = "flat"
BATCH_SIZE = 16
OPTIMIZER = {"class_name": "SGD", "learning_rate": 0.05, "momentum": 0.9}
PROFILES = {"full": {"samples": 64, "epochs": 1}}
AGAIN = keras.backend.backend() == "torch"


def LOSS(y_true, y_pred):
    logarithms = keras.ops.log_softmax(y_pred) if AGAIN else y_pred
    of_class = keras.ops.one_hot(keras.ops.cast(keras.ops.reshape(y_true, (-1,)), "int32"), 10)
    return -keras.ops.sum(of_class * logarithms, axis=-1)


def build_model(input_shape, num_classes):
    return keras.Sequential([Input(input_shape), Dense(num_classes, activation="log_softmax")])
