"""Trains FCN-S of Shi et al. (2017), fully connected, on random vectors.

Three hidden layers of 2,048 sigmoid units between 26,752 inputs and as many classes, as in most of the original
programs: MXNet's has six hidden layers, and the article says four. Inputs are normal and classes random, so that
there is nothing to learn but the samples themselves. A step holds 1.5 GiB of weights, gradients and copies.

- [Benchmarking State-of-the-Art Deep Learning Software Tools](https://arxiv.org/abs/1608.07249)
"""

import numpy as np
from keras.layers import Dense
from keras.models import Sequential

CLASSES = 26752
INPUT = "flat"
BATCH_SIZE = 64
OPTIMIZER = {"class_name": "SGD", "learning_rate": 0.01, "momentum": 0.0, "nesterov": False}
LOSS = "sparse_categorical_crossentropy"
METRICS = ["accuracy"]
PARAMETERS = 117997696
CORE = False  # runs if it is named, or all examples are
PROFILES = {
    "smoke": {"samples": 128, "epochs": 2},
    "quick": {"samples": 256, "epochs": 3},
    "full": {"samples": 1024, "epochs": 5},
}


def load_data():
    random = np.random.RandomState(0)
    x = random.normal(size=(1024, CLASSES)).astype("float32")
    y = random.randint(0, CLASSES, size=1024)
    return (x, y), (x[:1], y[:1])


def build_model(input_shape):
    model = Sequential()
    model.add(Dense(2048, activation="sigmoid", input_shape=input_shape))
    model.add(Dense(2048, activation="sigmoid"))
    model.add(Dense(2048, activation="sigmoid"))
    model.add(Dense(CLASSES, activation="softmax"))
    return model
