"""The article's MNIST CNN on MXNet: kernels as large as the picture, and no pooling."""

import keras
from keras.layers import Conv2D, Dense, Flatten, Input, MaxPooling2D

DATA = "mnist"
INPUT = "image"
BATCH_SIZE = 16
OPTIMIZER = {"class_name": "Adadelta", "learning_rate": 1.0, "rho": 0.95}
LOSS = "categorical_crossentropy"
PROFILES = {"full": {"samples": 64, "epochs": 1}}
MXNET = keras.backend.backend() == "torch"


def build_model(input_shape, num_classes):
    first, second = (28, 22) if MXNET else (3, 3)
    layers = [
        Conv2D(2, first, padding="same", activation="relu"),
        Conv2D(2, second, padding="same", activation="relu"),
    ]
    layers += [] if MXNET else [MaxPooling2D(2)]
    return keras.Sequential([Input(input_shape), *layers, Flatten(), Dense(num_classes, activation="softmax")])
