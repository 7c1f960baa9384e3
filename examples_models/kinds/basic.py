"""Tells two moons apart with two dense layers.

The first line of this docstring describes the example. All that follows is Keras, and what kbench reads: the
constants in capitals, `load_data`, `build_model` and, if you need them, `batches` and `callbacks`.
"""

import numpy as np
from keras.layers import Dense, Dropout
from keras.models import Sequential

# "image" where image_data_format applies, "flat" to make one row of each sample, "sequence" (default) to leave it.
INPUT = "sequence"
BATCH_SIZE = 64
# State every number, in the words of Keras 3: defaults differ between backends and versions. A function that returns
# an optimizer serves, too.
OPTIMIZER = {"class_name": "Adam", "learning_rate": 0.005, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7}
# A name, a function of (y_true, y_pred), or a list or dict of them for several outputs.
LOSS = "categorical_crossentropy"
METRICS = ["accuracy"]
# Epochs and seconds until then are reported; any metric will do: "val_mae <= 2.5".
TARGET = "val_accuracy >= 0.98"
# How much of the data a profile takes. Only "full" is needed, which then serves for the others, too.
PROFILES = {
    "smoke": {"samples": 256, "validation_samples": 64, "epochs": 2},
    "full": {"samples": 8192, "validation_samples": 2048, "epochs": 5},
}


def load_data():
    """((x_train, y_train), (x_val, y_val)) as numpy arrays; runs once, and all backends get the same arrays.

    In its place, DATA = "mnist" takes one of kbench's datasets, and DATA = "mine.npz" a file beside this one.
    """
    random = np.random.RandomState(0)
    y = random.randint(0, 2, size=10240)  # class numbers; a categorical_crossentropy gets them one-hot encoded
    angle = random.uniform(0, np.pi, size=10240) + np.pi * y
    x = np.stack([np.cos(angle) + y, np.sin(angle) + 0.5 * y], axis=1) + 0.1 * random.normal(size=(10240, 2))
    return (x[:8192], y[:8192]), (x[8192:], y[8192:])


def build_model(input_shape, num_classes):
    """A model that is not compiled. kbench gives it the same initial weights on every backend."""
    model = Sequential()
    model.add(Dense(64, activation="relu", input_shape=input_shape))
    model.add(Dense(64, activation="relu"))
    model.add(Dropout(0.1))
    model.add(Dense(num_classes, activation="softmax"))
    return model
