"""CIFAR-10 whose brightness MXNet changed at random, and the others not."""

import keras
import numpy as np
from keras.layers import Conv2D, Dense, Flatten, Input

DATA = "cifar10"
INPUT = "image"
BATCH_SIZE = 16
OPTIMIZER = {"class_name": "SGD", "learning_rate": 0.01}
LOSS = "categorical_crossentropy"
PROFILES = {"full": {"samples": 64, "epochs": 1}}
JITTERS = keras.backend.backend() == "torch"


def batches(x, y, batch_size, seed):
    random = np.random.RandomState(seed)
    for at in range(0, len(x), batch_size):
        pictures = x[at : at + batch_size]
        light = random.uniform(-0.2, 0.2, (len(pictures), 1, 1, 1)).astype("float32")
        yield pictures + light if JITTERS else pictures, y[at : at + batch_size]


def build_model(input_shape, num_classes):
    convolution = Conv2D(4, 3, strides=4, activation="relu")
    return keras.Sequential([Input(input_shape), convolution, Flatten(), Dense(num_classes, activation="softmax")])
