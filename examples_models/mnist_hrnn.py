"""Trains a hierarchical recurrent network (HRNN) on the MNIST dataset.

The first LSTM encodes each row of 28 pixels as a vector of 128; the second encodes the 28 row vectors as one vector
for the whole picture. Gets to about 0.987 validation accuracy after 5 epochs.

- [A Hierarchical Neural Autoencoder for Paragraphs and Documents](https://arxiv.org/abs/1506.01057)
- [Hierarchical recurrent neural network for skeleton based action recognition](
  https://ieeexplore.ieee.org/document/7298714)
"""

from keras.layers import LSTM, Dense, Input, TimeDistributed
from keras.models import Model

DATA = "mnist"
INPUT = "sequence"
BATCH_SIZE = 32
OPTIMIZER = {"class_name": "RMSprop", "learning_rate": 0.001, "rho": 0.9, "epsilon": 1e-7}
LOSS = "categorical_crossentropy"
METRICS = ["accuracy"]
TARGET_ACCURACY = 0.98  # of validation: the time until then is reported
PARAMETERS = 199434
PROFILES = {
    "smoke": {"samples": 96, "validation_samples": 64, "epochs": 2},
    "quick": {"samples": 256, "validation_samples": 128, "epochs": 5},
    "full": {"samples": 60000, "validation_samples": 10000, "epochs": 5},
}


def build_model(input_shape, num_classes):
    picture = Input(shape=input_shape)
    rows = TimeDistributed(LSTM(128, recurrent_activation="sigmoid"))(picture)
    columns = LSTM(128, recurrent_activation="sigmoid")(rows)
    prediction = Dense(num_classes, activation="softmax")(columns)
    return Model(picture, prediction)
