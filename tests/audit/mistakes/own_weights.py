"""VGG, small: each framework drew its own initial weights."""

import keras
from keras.layers import Dense, Input

DATA = "mnist"
INPUT = "flat"
BATCH_SIZE = 16
OPTIMIZER = {"class_name": "SGD", "learning_rate": 0.01, "momentum": 0.9}
LOSS = "categorical_crossentropy"
PROFILES = {"full": {"samples": 64, "epochs": 1}}


@keras.saving.register_keras_serializable()
class Own(keras.initializers.Initializer):
    def __call__(self, shape, dtype=None):
        return keras.random.uniform(shape, -0.05, 0.05, dtype)


def build_model(input_shape, num_classes):
    return keras.Sequential(
        [Input(input_shape), Dense(num_classes, activation="softmax", kernel_initializer=Own(), name="dense")]
    )
