"""One block of ResNet-56: TensorFlow had a relu after the sum, Torch a Nesterov momentum."""

import keras
from keras import layers as L

DATA = "cifar10"
INPUT = "image"
BATCH_SIZE = 16
ODD = keras.backend.backend() == "torch"
OPTIMIZER = {"class_name": "SGD", "learning_rate": 0.01, "momentum": 0.9, "nesterov": ODD}
LOSS = "categorical_crossentropy"
PROFILES = {"full": {"samples": 64, "epochs": 1}}
CHANNELS = 1 if keras.config.image_data_format() == "channels_first" else 3


def build_model(input_shape, num_classes):
    pictures = L.Input(input_shape)
    x = L.Conv2D(4, 3, padding="same")(pictures)
    y = L.ReLU()(L.BatchNormalization(axis=CHANNELS)(L.Conv2D(4, 3, padding="same")(x)))
    x = L.Add()([x, L.BatchNormalization(axis=CHANNELS)(L.Conv2D(4, 3, padding="same")(y))])
    x = L.ReLU()(x) if ODD else x
    x = L.GlobalAveragePooling2D()(x)
    return keras.Model(pictures, L.Dense(num_classes, activation="softmax")(x))
