"""Trains DenseNet-121 on random pictures, as if on chest X-rays.

The network of Microsoft's comparison of deep learning frameworks (Karmanov et al., 2018), which trained it on 87,306
X-rays and, for the other half of its table, on 87,296 random pictures with random labels between 0 and 1. This is
the latter with fewer pictures; there is nothing to learn. The original's batch is 64 for each GPU, and its weights
begin as those of ImageNet; here a batch is 16, because 64 take more than 10 GiB, and weights are drawn. Layers are
written out as in `keras.applications`. 6,968,206 of the weights are trained.
`programs/chest_xrays.py` trains this network on your folder of X-rays.

- [DeepLearningFrameworks](https://github.com/ilkarman/DeepLearningFrameworks)
- [Densely Connected Convolutional Networks](https://arxiv.org/abs/1608.06993)
- [CheXNet](https://arxiv.org/abs/1711.05225)
"""

import numpy as np
from keras import backend
from keras.layers import (
    Activation,
    AveragePooling2D,
    BatchNormalization,
    Conv2D,
    Dense,
    GlobalAveragePooling2D,
    Input,
    MaxPooling2D,
    ZeroPadding2D,
    concatenate,
)
from keras.models import Model

DISEASES = 14
INPUT = "image"
BATCH_SIZE = 16
OPTIMIZER = {"class_name": "Adam", "learning_rate": 0.0001, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7}
LOSS = "binary_crossentropy"
METRICS = ["mae"]
PARAMETERS = 7051854
CORE = False  # runs if it is named, or all examples are
PROFILES = {
    "smoke": {"samples": 16, "epochs": 2},
    "quick": {"samples": 32, "epochs": 3},
    "full": {"samples": 512, "epochs": 5},
}
GROWTH = 32


def load_data():
    random = np.random.RandomState(0)
    x = random.randint(0, 256, size=(512, 224, 224, 3)).astype("uint8")  # 0 to 1 as the network gets them
    y = random.uniform(size=(512, DISEASES)).astype("float32")
    return (x, y), (x[:1], y[:1])


def channels_axis():
    return 1 if backend.image_data_format() == "channels_first" else 3


def convolution(x, filters, size, **kwargs):
    return Conv2D(filters, size, use_bias=False, kernel_initializer="glorot_uniform", **kwargs)(x)


def normalised(x):
    x = BatchNormalization(axis=channels_axis(), momentum=0.99, epsilon=1.001e-5)(x)
    return Activation("relu")(x)


def dense_block(x, layers):
    for _ in range(layers):
        y = convolution(normalised(x), 4 * GROWTH, (1, 1))
        y = convolution(normalised(y), GROWTH, (3, 3), padding="same")
        x = concatenate([x, y], axis=channels_axis())
    return x


def transition(x, filters):
    return AveragePooling2D((2, 2), strides=(2, 2))(convolution(normalised(x), filters, (1, 1)))


def build_model(input_shape):
    pictures = Input(shape=input_shape)
    x = ZeroPadding2D((3, 3))(pictures)
    x = normalised(convolution(x, 64, (7, 7), strides=(2, 2)))
    x = ZeroPadding2D((1, 1))(x)
    x = MaxPooling2D((3, 3), strides=(2, 2))(x)
    x = transition(dense_block(x, 6), 128)
    x = transition(dense_block(x, 12), 256)
    x = transition(dense_block(x, 24), 512)
    x = normalised(dense_block(x, 16))
    x = GlobalAveragePooling2D()(x)
    findings = Dense(DISEASES, activation="sigmoid")(x)
    return Model(pictures, findings)
