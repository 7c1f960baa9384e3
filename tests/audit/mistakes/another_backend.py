"""A file that chooses its backend itself, after Keras was loaded with the one that was asked for."""

import keras

DATA = "mnist"
INPUT = "flat"
BATCH_SIZE = 16
OPTIMIZER = {"class_name": "SGD", "learning_rate": 0.1}
LOSS = "categorical_crossentropy"
PROFILES = {"full": {"samples": 32, "epochs": 1}}

if keras.backend.backend() == "torch":
    keras.config.set_backend("numpy")


def build_model(input_shape, num_classes):
    layers = [keras.layers.Input(input_shape), keras.layers.Dense(num_classes, activation="softmax")]
    return keras.Sequential(layers)
