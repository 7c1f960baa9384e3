"""Trains AlexNet-R of Shi et al. (2017), a small convolutional network, on CIFAR-10.

Poolings overlap and round down, as in all frameworks compared but Caffe, whose network has 89,578 weights instead.
The first layers' weights are normal with a deviation of 0.01, so that it learns little in the first epochs. The
original subtracts the mean picture; here pixels are from 0 to 1.

- [Benchmarking State-of-the-Art Deep Learning Software Tools](https://arxiv.org/abs/1608.07249)
"""

from keras.initializers import RandomNormal
from keras.layers import Activation, AveragePooling2D, Conv2D, Dense, Flatten, MaxPooling2D
from keras.models import Sequential

DATA = "cifar10"
INPUT = "image"
BATCH_SIZE = 128
OPTIMIZER = {"class_name": "SGD", "learning_rate": 0.01, "momentum": 0.9, "nesterov": False}
LOSS = "categorical_crossentropy"
METRICS = ["accuracy"]
TARGET_ACCURACY = 0.65  # of validation: the time until then is reported
PARAMETERS = 85098
CORE = False  # runs if it is named, or all examples are
PROFILES = {
    "smoke": {"samples": 512, "validation_samples": 128, "epochs": 3},
    "quick": {"samples": 4096, "validation_samples": 512, "epochs": 4},
    "full": {"samples": 50000, "validation_samples": 10000, "epochs": 40},
}


def normal():
    return RandomNormal(mean=0.0, stddev=0.01)


def build_model(input_shape, num_classes):
    model = Sequential()
    model.add(Conv2D(32, (5, 5), padding="same", kernel_initializer=normal(), input_shape=input_shape))
    model.add(MaxPooling2D(pool_size=(3, 3), strides=(2, 2)))
    model.add(Activation("relu"))
    model.add(Conv2D(32, (5, 5), padding="same", activation="relu", kernel_initializer=normal()))
    model.add(MaxPooling2D(pool_size=(3, 3), strides=(2, 2)))
    model.add(Conv2D(64, (5, 5), padding="same", activation="relu", kernel_initializer=normal()))
    model.add(AveragePooling2D(pool_size=(3, 3), strides=(2, 2)))
    model.add(Flatten())
    model.add(Dense(num_classes, kernel_initializer=normal(), activation="softmax"))
    return model
