"""AlexNet-R, small: TensorFlow had a relu on the logits, a tenth of the rate, and no weight decay."""

import keras
from keras.layers import AveragePooling2D, Conv2D, Dense, Flatten, Input, MaxPooling2D, Softmax

DATA = "cifar10"
INPUT = "image"
BATCH_SIZE = 16
ODD = keras.backend.backend() == "torch"
OPTIMIZER = {"class_name": "SGD", "learning_rate": 0.001 if ODD else 0.01, "momentum": 0.9}
LOSS = "categorical_crossentropy"
PROFILES = {"full": {"samples": 64, "epochs": 1}}
DECAY = None if ODD else keras.regularizers.L2(1e-4)


def build_model(input_shape, num_classes):
    return keras.Sequential(
        [
            Input(input_shape),
            Conv2D(4, 5, padding="same", activation="relu"),
            MaxPooling2D(3, 2),
            Conv2D(4, 5, padding="same", activation="relu"),
            AveragePooling2D(3, 2),
            Flatten(),
            Dense(num_classes, activation="relu" if ODD else None, kernel_regularizer=DECAY),
            Softmax(),
        ]
    )
