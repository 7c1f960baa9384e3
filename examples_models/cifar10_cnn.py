"""Trains a deep convolutional network on the CIFAR-10 small images dataset.

Gets to about 0.75 validation accuracy in 25 epochs and 0.79 after 50 with data augmentation (`--augment`); the
network is still underfitting at that point.
"""

from keras.layers import Conv2D, Dense, Dropout, Flatten, MaxPooling2D
from keras.models import Sequential

DATA = "cifar10"
INPUT = "image"
BATCH_SIZE = 32
OPTIMIZER = {"class_name": "RMSprop", "learning_rate": 0.0001, "rho": 0.9, "epsilon": 1e-7, "decay": 1e-6}
LOSS = "categorical_crossentropy"
METRICS = ["accuracy"]
TARGET_ACCURACY = 0.75  # of validation: the time until then is reported
AUGMENTATION = {"width_shift": 0.1, "height_shift": 0.1, "horizontal_flip": True}
PARAMETERS = 1250858
PROFILES = {
    "smoke": {"samples": 256, "validation_samples": 64, "epochs": 2},
    "quick": {"samples": 1536, "validation_samples": 512, "epochs": 3},
    "full": {"samples": 50000, "validation_samples": 10000, "epochs": 50},
}


def build_model(input_shape, num_classes):
    model = Sequential()
    model.add(Conv2D(32, (3, 3), padding="same", activation="relu", input_shape=input_shape))
    model.add(Conv2D(32, (3, 3), activation="relu"))
    model.add(MaxPooling2D(pool_size=(2, 2)))
    model.add(Dropout(0.25))

    model.add(Conv2D(64, (3, 3), padding="same", activation="relu"))
    model.add(Conv2D(64, (3, 3), activation="relu"))
    model.add(MaxPooling2D(pool_size=(2, 2)))
    model.add(Dropout(0.25))

    model.add(Flatten())
    model.add(Dense(512, activation="relu"))
    model.add(Dropout(0.5))
    model.add(Dense(num_classes, activation="softmax"))
    return model
