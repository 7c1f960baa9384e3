"""Trains a small convolutional network in the style of VGG on CIFAR-10.

The network of Microsoft's comparison of deep learning frameworks (Karmanov et al., 2018). It gets to about 0.77 test
accuracy in 10 epochs. The original validates only at the end; here validation is after each epoch, outside its time.

- [DeepLearningFrameworks](https://github.com/ilkarman/DeepLearningFrameworks)
- [Very Deep Convolutional Networks for Large-Scale Image Recognition](https://arxiv.org/abs/1409.1556)
"""

from keras.layers import Conv2D, Dense, Dropout, Flatten, MaxPooling2D
from keras.models import Sequential

DATA = "cifar10"
INPUT = "image"
BATCH_SIZE = 64
OPTIMIZER = {"class_name": "SGD", "learning_rate": 0.01, "momentum": 0.9, "nesterov": False}
LOSS = "categorical_crossentropy"
METRICS = ["accuracy"]
TARGET_ACCURACY = 0.75  # of validation: the time until then is reported
PARAMETERS = 3441592
CORE = False  # runs if it is named, or all examples are
PROFILES = {
    "smoke": {"samples": 1024, "validation_samples": 256, "epochs": 2},
    "quick": {"samples": 1536, "validation_samples": 512, "epochs": 3},
    "full": {"samples": 50000, "validation_samples": 10000, "epochs": 10},
}


def build_model(input_shape, num_classes):
    model = Sequential()
    model.add(Conv2D(50, (3, 3), padding="same", activation="relu", input_shape=input_shape))
    model.add(Conv2D(50, (3, 3), padding="same", activation="relu"))
    model.add(MaxPooling2D(pool_size=(2, 2)))
    model.add(Dropout(0.25))

    model.add(Conv2D(100, (3, 3), padding="same", activation="relu"))
    model.add(Conv2D(100, (3, 3), padding="same", activation="relu"))
    model.add(MaxPooling2D(pool_size=(2, 2)))
    model.add(Dropout(0.25))

    model.add(Flatten())
    model.add(Dense(512, activation="relu"))
    model.add(Dropout(0.5))
    model.add(Dense(num_classes, activation="softmax"))
    return model
