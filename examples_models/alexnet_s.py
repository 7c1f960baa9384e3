"""Trains AlexNet-S of Shi et al. (2017) on random pictures.

Krizhevsky's network in one tower, without normalisation and dropout. Pictures of 224 x 224 pixels and their classes
are random, so that there is nothing to learn. A batch of 16 is the published one for processors; GPUs had 16 to 128.

- [Benchmarking State-of-the-Art Deep Learning Software Tools](https://arxiv.org/abs/1608.07249)
- [One weird trick for parallelizing convolutional neural networks](https://arxiv.org/abs/1404.5997)
"""

import numpy as np
from keras.layers import Conv2D, Dense, Flatten, MaxPooling2D, ZeroPadding2D
from keras.models import Sequential

CLASSES = 1000
INPUT = "image"
BATCH_SIZE = 16
OPTIMIZER = {"class_name": "SGD", "learning_rate": 0.01, "momentum": 0.0, "nesterov": False}
LOSS = "sparse_categorical_crossentropy"
METRICS = ["accuracy"]
PARAMETERS = 62378344
CORE = False  # runs if it is named, or all examples are
PROFILES = {
    "smoke": {"samples": 32, "epochs": 2},
    "quick": {"samples": 64, "epochs": 3},
    "full": {"samples": 512, "epochs": 5},
}


def load_data():
    random = np.random.RandomState(0)
    x = random.randint(0, 256, size=(512, 224, 224, 3)).astype("uint8")  # 0 to 1 as the network gets them
    y = random.randint(0, CLASSES, size=512)
    return (x, y), (x[:1], y[:1])


def build_model(input_shape):
    model = Sequential()
    model.add(ZeroPadding2D((2, 2), input_shape=input_shape))
    model.add(Conv2D(96, (11, 11), strides=(4, 4), activation="relu"))
    model.add(MaxPooling2D(pool_size=(3, 3), strides=(2, 2)))
    model.add(Conv2D(256, (5, 5), padding="same", activation="relu"))
    model.add(MaxPooling2D(pool_size=(3, 3), strides=(2, 2)))
    model.add(Conv2D(384, (3, 3), padding="same", activation="relu"))
    model.add(Conv2D(384, (3, 3), padding="same", activation="relu"))
    model.add(Conv2D(256, (3, 3), padding="same", activation="relu"))
    model.add(MaxPooling2D(pool_size=(3, 3), strides=(2, 2)))
    model.add(Flatten())
    model.add(Dense(4096, activation="relu"))
    model.add(Dense(4096, activation="relu"))
    model.add(Dense(CLASSES, activation="softmax"))
    return model
