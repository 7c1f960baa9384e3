"""Trains EfficientNet B0 on CIFAR-10, in its own 32 x 32 pixels.

The network of Tan and Le (2019), written out: blocks that widen by a convolution of 1 x 1, convolve each channel for
itself, weigh channels by squeeze and excitation, and narrow again. As pictures are small, the first convolution has a
stride of 1. Stochastic depth is left out. 4,020,358 of the weights are trained.

- [EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks](https://arxiv.org/abs/1905.11946)
"""

from keras import backend
from keras.initializers import VarianceScaling
from keras.layers import (
    Activation,
    BatchNormalization,
    Conv2D,
    Dense,
    DepthwiseConv2D,
    Dropout,
    GlobalAveragePooling2D,
    Input,
    Reshape,
    ZeroPadding2D,
    add,
    multiply,
)
from keras.models import Model

try:
    from keras.activations import silu
except ImportError:  # Keras 2

    def silu(x):
        return x * backend.sigmoid(x)


DATA = "cifar10"
INPUT = "image"
BATCH_SIZE = 64
OPTIMIZER = {"class_name": "Adam", "learning_rate": 0.001, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7}
LOSS = "categorical_crossentropy"
METRICS = ["accuracy"]
TARGET_ACCURACY = 0.75  # of validation: the time until then is reported
AUGMENTATION = {"width_shift": 0.1, "height_shift": 0.1, "horizontal_flip": True}
PARAMETERS = 4062374
CORE = False  # runs if it is named, or all examples are
PROFILES = {
    "smoke": {"samples": 128, "validation_samples": 64, "epochs": 2},
    "quick": {"samples": 512, "validation_samples": 256, "epochs": 3},
    "full": {"samples": 50000, "validation_samples": 10000, "epochs": 50},
}
# Width, blocks, kernel, first stride; each block but the first ones is six times as wide inside.
STAGES = [(16, 1, 3, 1), (24, 2, 3, 2), (40, 2, 5, 2), (80, 3, 3, 2), (112, 3, 5, 1), (192, 4, 5, 2), (320, 1, 3, 1)]


def normalised(x):
    axis = 1 if backend.image_data_format() == "channels_first" else 3
    return BatchNormalization(axis=axis, momentum=0.99, epsilon=0.001)(x)


def drawn():
    return VarianceScaling(scale=2.0, mode="fan_out", distribution="normal")


def pointwise(x, filters, **kwargs):
    return Conv2D(filters, (1, 1), kernel_initializer=drawn(), **kwargs)(x)


def block(x, before, filters, inside, size, stride):
    y = x
    if inside > before:
        y = Activation(silu)(normalised(pointwise(y, inside, use_bias=False)))
    y = ZeroPadding2D(size // 2)(y)  # with strides of 2, padding="same" pads other sides in CNTK
    y = DepthwiseConv2D((size, size), strides=(stride, stride), use_bias=False, depthwise_initializer=drawn())(y)
    y = Activation(silu)(normalised(y))
    weighed = Activation(silu)(Dense(before // 4, kernel_initializer=drawn())(GlobalAveragePooling2D()(y)))
    weighed = Dense(inside, activation="sigmoid", kernel_initializer=drawn())(weighed)
    shape = (inside, 1, 1) if backend.image_data_format() == "channels_first" else (1, 1, inside)
    y = multiply([y, Reshape(shape)(weighed)])
    y = normalised(pointwise(y, filters, use_bias=False))
    return add([x, y]) if stride == 1 and before == filters else y


def build_model(input_shape, num_classes):
    picture = Input(shape=input_shape)
    x = Conv2D(32, (3, 3), padding="same", use_bias=False, kernel_initializer=drawn())(picture)
    x, before = Activation(silu)(normalised(x)), 32
    for filters, blocks, size, stride in STAGES:
        for number in range(blocks):
            inside = before if filters == 16 else 6 * before
            x = block(x, before, filters, inside, size, 1 if number else stride)
            before = filters
    x = Activation(silu)(normalised(pointwise(x, 1280, use_bias=False)))
    x = Dropout(0.2)(GlobalAveragePooling2D()(x))
    return Model(picture, Dense(num_classes, activation="softmax")(x))
