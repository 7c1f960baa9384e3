"""Marks the round shapes in pictures that have square ones, too, with a U-Net.

Three times two convolutions and a halving, and the way back with transposed convolutions, each beside what was there
before the halving. The pictures of 64 x 64 pixels are made up: discs and squares of random size, place and
brightness, and noise; the target is the discs' mask.

- [U-Net: Convolutional Networks for Biomedical Image Segmentation](https://arxiv.org/abs/1505.04597)
"""

import numpy as np
from keras import backend
from keras.layers import Conv2D, Conv2DTranspose, Input, MaxPooling2D, Reshape, concatenate
from keras.models import Model

SIZE = 64
TRAIN, VALIDATION = 2048, 256
INPUT = "image"
BATCH_SIZE = 16
OPTIMIZER = {"class_name": "Adam", "learning_rate": 0.001, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7}
LOSS = "binary_crossentropy"
METRICS = ["accuracy"]
TARGET_ACCURACY = 0.98  # of validation: the time until then is reported
PARAMETERS = 481745
CORE = False  # runs if it is named, or all examples are
PROFILES = {
    "smoke": {"samples": 64, "validation_samples": 32, "epochs": 5},
    "quick": {"samples": 256, "validation_samples": 64, "epochs": 3},
    "full": {"samples": 2048, "validation_samples": 256, "epochs": 10},
}


def load_data():
    random = np.random.RandomState(0)
    rows, columns = np.mgrid[:SIZE, :SIZE]
    x = np.zeros((TRAIN + VALIDATION, SIZE, SIZE, 1), "float32")
    y = np.zeros_like(x)
    for picture, mask in zip(x[..., 0], y[..., 0]):
        for number in range(6):
            row, column, size = random.randint(8, SIZE - 8), random.randint(8, SIZE - 8), random.randint(4, 9)
            down, right = np.abs(rows - row), np.abs(columns - column)
            is_round = number % 2 == 0
            shape = down**2 + right**2 <= size**2 if is_round else np.maximum(down, right) <= size
            picture[shape] = random.uniform(0.4, 1.0)
            mask[shape] = float(is_round)
        picture += random.normal(scale=0.1, size=picture.shape)
    y = y.reshape(len(y), SIZE * SIZE, 1)  # one number per pixel: accuracy asks how many there are
    return (x[:TRAIN], y[:TRAIN]), (x[TRAIN:], y[TRAIN:])


def channels_axis():
    return 1 if backend.image_data_format() == "channels_first" else 3


def convolutions(x, filters):
    for _ in range(2):
        x = Conv2D(filters, (3, 3), padding="same", activation="relu", kernel_initializer="he_normal")(x)
    return x


def build_model(input_shape):
    picture = Input(shape=input_shape)
    x, before = picture, []
    for filters in (16, 32, 64):
        x = convolutions(x, filters)
        before.append((filters, x))
        x = MaxPooling2D((2, 2))(x)
    x = convolutions(x, 128)
    for filters, kept in reversed(before):
        x = Conv2DTranspose(filters, (2, 2), strides=(2, 2))(x)
        x = convolutions(concatenate([kept, x], axis=channels_axis()), filters)
    x = Conv2D(1, (1, 1), activation="sigmoid")(x)
    return Model(picture, Reshape((SIZE * SIZE, 1))(x))
