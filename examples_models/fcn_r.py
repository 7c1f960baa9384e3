"""Trains FCN-R of Shi et al. (2017), fully connected, on MNIST.

Three hidden layers of 2,048, 4,096 and 1,024 sigmoid units. Of the frameworks compared, CNTK alone had 4,096, 2,048
and 1,024: 13,714,442 weights. The original divides pixels by 256; here they are divided by 255.

- [Benchmarking State-of-the-Art Deep Learning Software Tools](https://arxiv.org/abs/1608.07249)
"""

from keras.layers import Dense
from keras.models import Sequential

DATA = "mnist"
INPUT = "flat"
BATCH_SIZE = 1024
OPTIMIZER = {"class_name": "SGD", "learning_rate": 0.05, "momentum": 0.9, "nesterov": False}
LOSS = "categorical_crossentropy"
METRICS = ["accuracy"]
TARGET_ACCURACY = 0.95  # of validation: the time until then is reported
PARAMETERS = 14205962
CORE = False  # runs if it is named, or all examples are
PROFILES = {
    "smoke": {"samples": 2048, "validation_samples": 256, "epochs": 3},
    "quick": {"samples": 10000, "validation_samples": 5000, "epochs": 4},
    "full": {"samples": 60000, "validation_samples": 10000, "epochs": 40},
}


def build_model(input_shape, num_classes):
    model = Sequential()
    model.add(Dense(2048, activation="sigmoid", input_shape=input_shape))
    model.add(Dense(4096, activation="sigmoid"))
    model.add(Dense(1024, activation="sigmoid"))
    model.add(Dense(num_classes, activation="softmax"))
    return model
