"""AlexNet-R, small: Caffe's pooling rounds up, that of the others down."""

import keras
from keras.layers import Conv2D, Dense, Flatten, Input, MaxPooling2D

DATA = "cifar10"
INPUT = "image"
BATCH_SIZE = 16
OPTIMIZER = {"class_name": "SGD", "learning_rate": 0.01, "momentum": 0.9}
LOSS = "categorical_crossentropy"
PROFILES = {"full": {"samples": 64, "epochs": 1}}
ROUNDED = "same" if keras.backend.backend() == "torch" else "valid"


def build_model(input_shape, num_classes):
    return keras.Sequential(
        [
            Input(input_shape),
            Conv2D(4, 5, padding="same", activation="relu"),
            MaxPooling2D(3, 2, padding=ROUNDED),
            Flatten(),
            Dense(num_classes, activation="softmax"),
        ]
    )
