"""The GRU of cuDNN, with a bias more and another gate, against Keras's own of that time."""

import keras
from keras.layers import GRU, Dense, Embedding, Input

DATA = "imdb"
INPUT = "sequence"
BATCH_SIZE = 16
OPTIMIZER = {"class_name": "Adam", "learning_rate": 0.001, "epsilon": 1e-8}
LOSS = "categorical_crossentropy"
PROFILES = {"full": {"samples": 64, "epochs": 1}}
CUDNN = keras.backend.backend() == "torch"


def build_model(input_shape, num_classes):
    gru = GRU(3, reset_after=CUDNN, recurrent_activation="sigmoid" if CUDNN else "hard_sigmoid")
    return keras.Sequential([Input(input_shape), Embedding(30000, 4), gru, Dense(num_classes, activation="softmax")])
