"""Computes image features with ResNet-50: forward only, no training.

The network of He et al. without its classifier, with global average pooling: a vector of 2,048 numbers for each
picture of 224 x 224 pixels. The first pass over the pictures is cold; the others are timed. Layers are written out
because the two generations of `keras.applications` disagree about batch normalisation's epsilon, and they carry the
names of the published ImageNet weights.

- [Deep Residual Learning for Image Recognition](https://arxiv.org/abs/1512.03385)
"""

from keras import backend
from keras.layers import (
    Activation,
    BatchNormalization,
    Conv2D,
    GlobalAveragePooling2D,
    Input,
    MaxPooling2D,
    ZeroPadding2D,
    add,
)
from keras.models import Model

TASK = "infer"
DATA = "random_images"
INPUT = "image"
BATCH_SIZE = 32
WEIGHTS = "resnet50_weights_tf_dim_ordering_tf_kernels_notop.h5"
PARAMETERS = 23587712
PROFILES = {
    "smoke": {"samples": 32, "epochs": 2},
    "quick": {"samples": 32, "epochs": 4},
    "full": {"samples": 1280, "epochs": 4},
}


def convolution(x, filters, size, name, **kwargs):
    """A convolution and its batch normalisation; momentum only matters in training."""
    axis = 1 if backend.image_data_format() == "channels_first" else 3
    x = Conv2D(filters, size, kernel_initializer="he_normal", name="res" + name, **kwargs)(x)
    return BatchNormalization(axis=axis, momentum=0.99, epsilon=0.001, name="bn" + name)(x)


def block(x, filters, name, stride=None):
    """A bottleneck of 1x1, 3x3 and 1x1 convolutions; its shortcut is a convolution where a stride is given."""
    y = convolution(x, filters, (1, 1), name + "_branch2a", strides=stride or (1, 1))
    y = Activation("relu")(y)
    y = convolution(y, filters, (3, 3), name + "_branch2b", padding="same")
    y = Activation("relu")(y)
    y = convolution(y, 4 * filters, (1, 1), name + "_branch2c")
    shortcut = convolution(x, 4 * filters, (1, 1), name + "_branch1", strides=stride) if stride else x
    return Activation("relu")(add([y, shortcut]))


def build_model(input_shape, num_classes):
    axis = 1 if backend.image_data_format() == "channels_first" else 3
    pictures = Input(shape=input_shape)
    x = ZeroPadding2D((3, 3))(pictures)
    x = Conv2D(64, (7, 7), strides=(2, 2), kernel_initializer="he_normal", name="conv1")(x)
    x = BatchNormalization(axis=axis, momentum=0.99, epsilon=0.001, name="bn_conv1")(x)
    x = Activation("relu")(x)
    x = ZeroPadding2D((1, 1))(x)
    x = MaxPooling2D((3, 3), strides=(2, 2))(x)

    for stage, filters, letters in [(2, 64, "abc"), (3, 128, "abcd"), (4, 256, "abcdef"), (5, 512, "abc")]:
        for letter in letters:
            stride = None
            if letter == "a":
                stride = (1, 1) if stage == 2 else (2, 2)
            x = block(x, filters, "%d%s" % (stage, letter), stride)

    features = GlobalAveragePooling2D()(x)
    return Model(pictures, features)
