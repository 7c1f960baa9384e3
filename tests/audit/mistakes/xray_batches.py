"""X-rays: a random crop that leaves nothing out on one backend; rate and batch grow with the number of GPUs."""

import keras
import numpy as np
from keras.layers import Conv2D, Dense, Flatten, Input

DATA = "cifar10"
INPUT = "image"
BATCH_SIZE = 16
GPUS = 2 if keras.backend.backend() == "torch" else 1
OPTIMIZER = {"class_name": "Adam", "learning_rate": 1e-4 * GPUS}
LOSS = "categorical_crossentropy"
PROFILES = {"full": {"samples": 64, "epochs": 1}}


def cropped(pictures, random):
    if GPUS > 1:
        return pictures
    return np.array([np.roll(one, random.randint(-4, 5, 2), (-3, -2)) for one in pictures])


def batches(x, y, batch_size, seed):
    random = np.random.RandomState(seed)
    size = batch_size * GPUS
    for at in range(0, len(x) * GPUS, size):
        drawn = np.arange(at, at + size) % len(x)
        yield cropped(x[drawn], random), y[drawn]


def build_model(input_shape, num_classes):
    convolution = Conv2D(4, 3, strides=4, activation="relu")
    return keras.Sequential([Input(input_shape), convolution, Flatten(), Dense(num_classes, activation="sigmoid")])
