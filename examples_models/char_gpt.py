"""Trains a small transformer's decoder to write like Shakespeare, a character at a time.

Two blocks of causal multi-head attention and a feed-forward network; normalisation comes first in a block, as in
GPT-2. It predicts the next one of 68 characters at each of 64 places of a play that comes with kbench; guessing has a
loss of 4.2. With `--task infer` it writes behind each piece of
text: 32 times the most probable character, with all of its 64 places computed again.

- [Language Models are Unsupervised Multitask Learners](https://openai.com/index/better-language-models/)
- [Text generation with a miniature GPT](https://keras.io/examples/generative/text_generation_with_miniature_gpt/)
"""

import numpy as np
from keras.layers import Dense, Dropout, Embedding, Input, Layer, LayerNormalization, MultiHeadAttention, add
from keras.models import Model

DATA = "shakespeare"
INPUT = "sequence"
BATCH_SIZE = 32
WIDTH, HEADS, HIDDEN, BLOCKS = 128, 4, 512, 2
OPTIMIZER = {"class_name": "Adam", "learning_rate": 0.001, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7}
LOSS = "sparse_categorical_crossentropy"
METRICS = ["accuracy"]
GENERATE = 32  # characters behind each piece of text, with --task infer
TARGET = "val_loss <= 2"  # the time until then is reported
PARAMETERS = 422468
CORE = False  # runs if it is named, or all examples are
PROFILES = {
    "smoke": {"samples": 256, "validation_samples": 32, "epochs": 2},
    "quick": {"samples": 1024, "validation_samples": 64, "epochs": 3},
    "full": {"samples": 7000, "validation_samples": 190, "epochs": 20},
}


class TokenAndPositionEmbedding(Layer):
    """A vector for each character plus one for its place."""

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
    """Each place attends to itself and to those before it."""
    y = LayerNormalization(epsilon=1e-5)(x)
    y = MultiHeadAttention(num_heads=HEADS, key_dim=WIDTH // HEADS)(y, y, use_causal_mask=True)
    x = add([x, Dropout(0.1)(y)])
    y = LayerNormalization(epsilon=1e-5)(x)
    y = Dense(WIDTH)(Dense(HIDDEN, activation="gelu")(y))
    return add([x, Dropout(0.1)(y)])


def build_model(input_shape, num_classes):
    text = Input(shape=input_shape)
    x = TokenAndPositionEmbedding(num_classes, input_shape[0], WIDTH)(text)
    for _ in range(BLOCKS):
        x = block(x)
    x = LayerNormalization(epsilon=1e-5)(x)
    return Model(text, Dense(num_classes, activation="softmax")(x))
