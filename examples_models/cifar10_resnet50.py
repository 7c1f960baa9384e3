"""Trains ResNet-50 on CIFAR-10, as in the study of Liu et al. (2018).

The bottleneck network of He et al. with a first convolution of 3 x 3 and no first pooling, for pictures of 32 x 32.
The study says "11.7 million weights", which is the size of ResNet-18; this is ResNet-50, with 23,520,842 trained
weights. It trained with batches of 1 to 1,024; 32 are a few seconds on two cores. The study's synthetic pictures of
224 x 224 take the network of `resnet50_train`: with this first convolution they would need 49 times the memory.

- [Deep Residual Learning for Image Recognition](https://arxiv.org/abs/1512.03385)
"""

from keras import backend
from keras.layers import (
    Activation,
    BatchNormalization,
    Conv2D,
    Dense,
    GlobalAveragePooling2D,
    Input,
    ZeroPadding2D,
    add,
)
from keras.models import Model

DATA = "cifar10"
INPUT = "image"
BATCH_SIZE = 32
OPTIMIZER = {"class_name": "SGD", "learning_rate": 0.1, "momentum": 0.0, "nesterov": False}
LOSS = "categorical_crossentropy"
METRICS = ["accuracy"]
TARGET_ACCURACY = 0.75  # of validation: the time until then is reported
PARAMETERS = 23573962
CORE = False  # runs if it is named, or all examples are
PROFILES = {
    "smoke": {"samples": 64, "validation_samples": 32, "epochs": 2},
    "quick": {"samples": 256, "validation_samples": 64, "epochs": 3},
    "full": {"samples": 50000, "validation_samples": 10000, "epochs": 30},
}


def convolution(x, filters, size, strides=(1, 1)):
    axis = 1 if backend.image_data_format() == "channels_first" else 3
    if size == (3, 3):  # with strides of 2, padding="same" pads other sides in CNTK
        x = ZeroPadding2D((1, 1))(x)
    x = Conv2D(filters, size, strides=strides, use_bias=False, kernel_initializer="he_normal")(x)
    # Theano takes 1e-5 and more, which 1e-5 in float32 is not.
    return BatchNormalization(axis=axis, momentum=0.9, epsilon=1.001e-5)(x)


def block(x, filters, stride=None):
    """A bottleneck of 1x1, 3x3 and 1x1 convolutions; its shortcut is a convolution where a stride is given."""
    y = Activation("relu")(convolution(x, filters, (1, 1)))
    y = Activation("relu")(convolution(y, filters, (3, 3), stride or (1, 1)))
    y = convolution(y, 4 * filters, (1, 1))
    shortcut = convolution(x, 4 * filters, (1, 1), stride) if stride else x
    return Activation("relu")(add([y, shortcut]))


def build_model(input_shape, num_classes):
    pictures = Input(shape=input_shape)
    x = Activation("relu")(convolution(pictures, 64, (3, 3)))
    for filters, blocks in [(64, 3), (128, 4), (256, 6), (512, 3)]:
        for number in range(blocks):
            stride = None if number else (1, 1) if filters == 64 else (2, 2)
            x = block(x, filters, stride)
    x = GlobalAveragePooling2D()(x)
    prediction = Dense(num_classes, activation="softmax")(x)
    return Model(pictures, prediction)
