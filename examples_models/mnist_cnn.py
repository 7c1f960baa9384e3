"""Trains a simple convolutional network on the MNIST dataset.

Gets to about 0.9925 validation accuracy after 12 epochs (there is still a lot of margin for parameter tuning).
"""

from keras.layers import Conv2D, Dense, Dropout, Flatten, MaxPooling2D
from keras.models import Sequential

DATA = "mnist"
INPUT = "image"
BATCH_SIZE = 128
OPTIMIZER = {"class_name": "Adadelta", "learning_rate": 1.0, "rho": 0.95, "epsilon": 1e-7}
LOSS = "categorical_crossentropy"
METRICS = ["accuracy"]
TARGET_ACCURACY = 0.99  # of validation: the time until then is reported
PARAMETERS = 1199882
PROFILES = {
    "smoke": {"samples": 256, "validation_samples": 128, "epochs": 2},
    "quick": {"samples": 5000, "validation_samples": 2000, "epochs": 3},
    "full": {"samples": 60000, "validation_samples": 10000, "epochs": 12},
}


def build_model(input_shape, num_classes):
    model = Sequential()
    model.add(Conv2D(32, (3, 3), activation="relu", input_shape=input_shape))
    model.add(Conv2D(64, (3, 3), activation="relu"))
    model.add(MaxPooling2D(pool_size=(2, 2)))
    model.add(Dropout(0.25))
    model.add(Flatten())
    model.add(Dense(128, activation="relu"))
    model.add(Dropout(0.5))
    model.add(Dense(num_classes, activation="softmax"))
    return model
