"""Trains ResNet-50, as Shi et al. (2017), on random pictures.

The network of He et al. with its classifier of 1,000 classes; convolutions have no bias, and the stride is in the
first convolution of a block. Pictures of 224 x 224 pixels and their classes are random, so that there is nothing to
learn. A batch of 16 is the published one for processors; GPUs had 8 to 64. 25,557,032 weights are trained.

- [Deep Residual Learning for Image Recognition](https://arxiv.org/abs/1512.03385)
- [Benchmarking State-of-the-Art Deep Learning Software Tools](https://arxiv.org/abs/1608.07249)
"""

import numpy as np
from keras import backend
from keras.layers import (
    Activation,
    BatchNormalization,
    Conv2D,
    Dense,
    GlobalAveragePooling2D,
    Input,
    MaxPooling2D,
    ZeroPadding2D,
    add,
)
from keras.models import Model

CLASSES = 1000
INPUT = "image"
BATCH_SIZE = 16
OPTIMIZER = {"class_name": "SGD", "learning_rate": 0.1, "momentum": 0.0, "nesterov": False}
LOSS = "sparse_categorical_crossentropy"
METRICS = ["accuracy"]
PARAMETERS = 25610152
CORE = False  # runs if it is named, or all examples are
PROFILES = {
    "smoke": {"samples": 16, "epochs": 2},
    "quick": {"samples": 32, "epochs": 3},
    "full": {"samples": 512, "epochs": 5},
}


def load_data():
    random = np.random.RandomState(0)
    x = random.randint(0, 256, size=(512, 224, 224, 3)).astype("uint8")  # 0 to 1 as the network gets them
    y = random.randint(0, CLASSES, size=512)
    return (x, y), (x[:1], y[:1])


def convolution(x, filters, size, **kwargs):
    axis = 1 if backend.image_data_format() == "channels_first" else 3
    x = Conv2D(filters, size, use_bias=False, kernel_initializer="he_normal", **kwargs)(x)
    # Theano takes 1e-5 and more, which 1e-5 in float32 is not.
    return BatchNormalization(axis=axis, momentum=0.9, epsilon=1.001e-5)(x)


def block(x, filters, stride=None):
    """A bottleneck of 1x1, 3x3 and 1x1 convolutions; its shortcut is a convolution where a stride is given."""
    y = Activation("relu")(convolution(x, filters, (1, 1), strides=stride or (1, 1)))
    y = Activation("relu")(convolution(y, filters, (3, 3), padding="same"))
    y = convolution(y, 4 * filters, (1, 1))
    shortcut = convolution(x, 4 * filters, (1, 1), strides=stride) if stride else x
    return Activation("relu")(add([y, shortcut]))


def build_model(input_shape):
    pictures = Input(shape=input_shape)
    x = ZeroPadding2D((3, 3))(pictures)
    x = Activation("relu")(convolution(x, 64, (7, 7), strides=(2, 2)))
    x = ZeroPadding2D((1, 1))(x)
    x = MaxPooling2D((3, 3), strides=(2, 2))(x)
    for filters, blocks in [(64, 3), (128, 4), (256, 6), (512, 3)]:
        for number in range(blocks):
            stride = None if number else (1, 1) if filters == 64 else (2, 2)
            x = block(x, filters, stride)
    x = GlobalAveragePooling2D()(x)
    prediction = Dense(CLASSES, activation="softmax")(x)
    return Model(pictures, prediction)
