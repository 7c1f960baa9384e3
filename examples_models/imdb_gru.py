"""Trains a gated recurrent unit (GRU) on the IMDB movie review sentiment classification task.

Reviews are cut to their last 150 words out of a vocabulary of 30,000. Gets to about 0.86 validation accuracy after
1 epoch, and then overfits. `reset_after=False` is the GRU of Cho et al. (2014), 67,800 parameters; cuDNN's variant
would have 68,100.
"""

from keras.layers import GRU, Dense, Embedding
from keras.models import Sequential

DATA = "imdb"
INPUT = "sequence"
BATCH_SIZE = 64
VOCABULARY = 30000
OPTIMIZER = {"class_name": "Adam", "learning_rate": 0.001, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-8}
LOSS = "categorical_crossentropy"
METRICS = ["accuracy"]
TARGET_ACCURACY = 0.85  # of validation: the time until then is reported
PARAMETERS = 3818002
PROFILES = {
    "smoke": {"samples": 256, "validation_samples": 64, "epochs": 2},
    "quick": {"samples": 3072, "validation_samples": 1024, "epochs": 3},
    "full": {"samples": 25000, "validation_samples": 25000, "epochs": 3},
}


def build_model(input_shape, num_classes):
    model = Sequential()
    model.add(Embedding(VOCABULARY, 125, input_shape=input_shape))
    model.add(GRU(100, recurrent_activation="sigmoid", reset_after=False))
    model.add(Dense(num_classes, activation="softmax"))
    return model
