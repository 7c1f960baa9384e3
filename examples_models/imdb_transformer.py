"""Trains a transformer's encoder on the IMDB movie review sentiment classification task.

Embeddings of tokens and of their places, and two blocks of multi-head attention and a feed-forward network, each
with a shortcut, dropout and layer normalisation, as in "Attention Is All You Need". Reviews are cut to their last 150
words out of a vocabulary of 30,000. Learns quickest in the first two epochs; then it overfits.

- [Attention Is All You Need](https://arxiv.org/abs/1706.03762)
- [Text classification with Transformer](https://keras.io/examples/nlp/text_classification_with_transformer/)
"""

import numpy as np
from keras.layers import (
    Dense,
    Dropout,
    Embedding,
    GlobalAveragePooling1D,
    Input,
    Layer,
    LayerNormalization,
    MultiHeadAttention,
    add,
)
from keras.models import Model

DATA = "imdb"
INPUT = "sequence"
BATCH_SIZE = 64
VOCABULARY = 30000
WIDTH, HEADS, HIDDEN, BLOCKS = 64, 4, 128, 2
OPTIMIZER = {"class_name": "Adam", "learning_rate": 0.001, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7}
LOSS = "categorical_crossentropy"
METRICS = ["accuracy"]
TARGET_ACCURACY = 0.85  # of validation: the time until then is reported
PARAMETERS = 1996674
CORE = False  # runs if it is named, or all examples are
PROFILES = {
    "smoke": {"samples": 256, "validation_samples": 64, "epochs": 2},
    "quick": {"samples": 3072, "validation_samples": 1024, "epochs": 3},
    "full": {"samples": 25000, "validation_samples": 25000, "epochs": 3},
}


class TokenAndPositionEmbedding(Layer):
    """A vector for each token plus one for its place."""

    def __init__(self, vocabulary, length, width, **kwargs):
        super().__init__(**kwargs)
        self.tokens = Embedding(vocabulary, width)
        self.places = Embedding(length, width)

    def build(self, input_shape):
        self.tokens.build(input_shape)
        self.places.build(input_shape)
        super().build(input_shape)

    def call(self, x):
        return self.tokens(x) + self.places(np.arange(x.shape[1]))


def block(x):
    attended = MultiHeadAttention(num_heads=HEADS, key_dim=WIDTH // HEADS)(x, x)
    x = LayerNormalization(epsilon=1e-6)(add([x, Dropout(0.1)(attended)]))
    fed = Dense(WIDTH)(Dense(HIDDEN, activation="relu")(x))
    return LayerNormalization(epsilon=1e-6)(add([x, Dropout(0.1)(fed)]))


def build_model(input_shape, num_classes):
    review = Input(shape=input_shape)
    x = TokenAndPositionEmbedding(VOCABULARY, input_shape[0], WIDTH)(review)
    for _ in range(BLOCKS):
        x = block(x)
    x = Dropout(0.1)(GlobalAveragePooling1D()(x))
    return Model(review, Dense(num_classes, activation="softmax")(x))
