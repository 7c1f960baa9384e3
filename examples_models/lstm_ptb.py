"""Trains the language model of Shi et al. (2017), two LSTM layers, on drawn words.

The Treebank is not free, so that the words are drawn: 10,000 kinds by Zipf's law, each independent of those before
it. All that can be learnt is how frequent each is, a loss of 6.61 (a perplexity of 743). The original carries its
state from batch to batch; here each sequence of 32 words begins with zeros, and sequences are shuffled. Embedding
and layers have 256 units: 6,180,624 weights, where the article's table counts 13,598,480 for words as one-hot
vectors.

- [Benchmarking State-of-the-Art Deep Learning Software Tools](https://arxiv.org/abs/1608.07249)
"""

import numpy as np
from keras.initializers import RandomUniform
from keras.layers import LSTM, Dense, Embedding
from keras.models import Sequential

WORDS = 10000
STEPS = 32
INPUT = "sequence"
BATCH_SIZE = 128
OPTIMIZER = {"class_name": "SGD", "learning_rate": 0.1, "momentum": 0.0, "nesterov": False, "global_clipnorm": 5.0}
LOSS = "sparse_categorical_crossentropy"
METRICS = []  # the accuracy of Keras 2 fails for sequences of classes
TARGET = "val_loss <= 7"  # the time until then is reported
PARAMETERS = 6180624
CORE = False  # runs if it is named, or all examples are
PROFILES = {
    "smoke": {"samples": 256, "validation_samples": 128, "epochs": 2},
    "quick": {"samples": 512, "validation_samples": 128, "epochs": 3},
    "full": {"samples": 29049, "validation_samples": 2304, "epochs": 20},
}


def load_data():
    random = np.random.RandomState(0)
    frequency = 1.0 / np.arange(1, WORDS + 1)
    upto = np.cumsum(frequency / frequency.sum())

    def sequences(words):
        drawn = np.minimum(np.searchsorted(upto, random.random_sample(words)), WORDS - 1).astype("int32")
        count = (words - 1) // STEPS
        x, y = drawn[: count * STEPS], drawn[1 : count * STEPS + 1]
        return x.reshape(count, STEPS), y.reshape(count, STEPS, 1)

    return sequences(929589), sequences(73760)


def uniform():
    return RandomUniform(minval=-0.1, maxval=0.1)


def lstm():
    return LSTM(
        256,
        return_sequences=True,
        recurrent_activation="sigmoid",
        kernel_initializer=uniform(),
        recurrent_initializer=uniform(),
        unit_forget_bias=False,
    )


def build_model(input_shape):
    model = Sequential()
    model.add(Embedding(WORDS, 256, embeddings_initializer=uniform(), input_shape=input_shape))
    model.add(lstm())
    model.add(lstm())
    model.add(Dense(WORDS, kernel_initializer=uniform(), activation="softmax"))
    return model
