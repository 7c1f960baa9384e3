"""Trains a simple deep neural network on the MNIST dataset.

Two hidden layers of 512 units with dropout. Gets to about 0.984 validation accuracy after 20 epochs
(there is a lot of margin for parameter tuning).
"""

from keras.layers import Dense, Dropout
from keras.models import Sequential

DATA = "mnist"
INPUT = "flat"
BATCH_SIZE = 128
OPTIMIZER = {"class_name": "RMSprop", "learning_rate": 0.001, "rho": 0.9, "epsilon": 1e-7}
LOSS = "categorical_crossentropy"
METRICS = ["accuracy"]
TARGET_ACCURACY = 0.98  # of validation: the time until then is reported
PARAMETERS = 669706
PROFILES = {
    "smoke": {"samples": 1024, "validation_samples": 256, "epochs": 2},
    "quick": {"samples": 10000, "validation_samples": 5000, "epochs": 8},
    "full": {"samples": 60000, "validation_samples": 10000, "epochs": 20},
}


def build_model(input_shape, num_classes):
    model = Sequential()
    model.add(Dense(512, activation="relu", input_shape=input_shape))
    model.add(Dropout(0.2))
    model.add(Dense(512, activation="relu"))
    model.add(Dropout(0.2))
    model.add(Dense(num_classes, activation="softmax"))
    return model
