"""Trains ResNet-56 of Shi et al. (2017) on CIFAR-10.

Section 4.2 of He et al. with n = 9. Where the size is halved, the shortcut has no weights (option A): it averages 2
x 2 pixels and adds channels of zeros. There is no relu after a sum, as in the Torch and MXNet programs compared;
TensorFlow's has one. 853,018 weights are trained; batch normalisation keeps 4,064 averages besides. Weight decay is
1e-4 in SGD's words, on kernels, and the learning rate is constant.

- [Deep Residual Learning for Image Recognition](https://arxiv.org/abs/1512.03385)
- [Benchmarking State-of-the-Art Deep Learning Software Tools](https://arxiv.org/abs/1608.07249)
"""

from keras import backend
from keras.layers import (
    Activation,
    AveragePooling2D,
    BatchNormalization,
    Conv2D,
    Dense,
    GlobalAveragePooling2D,
    Input,
    ZeroPadding2D,
    add,
    concatenate,
    subtract,
)
from keras.models import Model
from keras.regularizers import l2

DATA = "cifar10"
INPUT = "image"
BATCH_SIZE = 128
OPTIMIZER = {"class_name": "SGD", "learning_rate": 0.01, "momentum": 0.9, "nesterov": False}
LOSS = "categorical_crossentropy"
METRICS = ["accuracy"]
TARGET_ACCURACY = 0.75  # of validation: the time until then is reported
PARAMETERS = 857082
CORE = False  # runs if it is named, or all examples are
PROFILES = {
    "smoke": {"samples": 128, "validation_samples": 128, "epochs": 2},
    "quick": {"samples": 1024, "validation_samples": 512, "epochs": 3},
    "full": {"samples": 50000, "validation_samples": 10000, "epochs": 40},
}
WEIGHT_DECAY = 1e-4


def channels_axis():
    return 1 if backend.image_data_format() == "channels_first" else 3


def convolution(x, filters, strides=(1, 1)):
    x = ZeroPadding2D((1, 1))(x)  # with strides of 2, padding="same" pads other sides in CNTK
    x = Conv2D(
        filters,
        (3, 3),
        strides=strides,
        use_bias=False,
        kernel_initializer="he_normal",
        kernel_regularizer=l2(WEIGHT_DECAY / 2),
    )(x)
    # Theano takes 1e-5 and more, which 1e-5 in float32 is not.
    return BatchNormalization(axis=channels_axis(), momentum=0.9, epsilon=1.001e-5)(x)


def block(x, filters, halves):
    y = convolution(x, filters, (2, 2) if halves else (1, 1))
    y = Activation("relu")(y)
    y = convolution(y, filters)
    if halves:
        x = AveragePooling2D((2, 2))(x)
        x = concatenate([x, subtract([x, x])], axis=channels_axis())
    return add([x, y])


def build_model(input_shape, num_classes):
    pictures = Input(shape=input_shape)
    x = Activation("relu")(convolution(pictures, 16))
    for filters in (16, 32, 64):
        for number in range(9):
            x = block(x, filters, halves=filters > 16 and number == 0)
    x = GlobalAveragePooling2D()(x)
    prediction = Dense(num_classes, activation="softmax", kernel_regularizer=l2(WEIGHT_DECAY / 2))(x)
    return Model(pictures, prediction)
