"""Predicts from a table of four categories and ten numbers who will order again.

Each category has an embedding, whose vectors are put beside the numbers; three dense layers follow, the first two
with batch normalisation and dropout. The table is made up: what decides are some numbers, the product and the day.
Nobody can get beyond an accuracy of 0.9, because one label in ten is random.

- [Entity Embeddings of Categorical Variables](https://arxiv.org/abs/1604.06737)
"""

import numpy as np
from keras.layers import Activation, BatchNormalization, Dense, Dropout, Embedding, Input, Reshape, concatenate
from keras.models import Model

CATEGORIES = [("customer", 2000), ("product", 500), ("region", 50), ("weekday", 7)]
NUMBERS = 10
TRAIN, VALIDATION = 50000, 10000
INPUT = "sequence"
BATCH_SIZE = 256
OPTIMIZER = {"class_name": "Adam", "learning_rate": 0.001, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7}
LOSS = "binary_crossentropy"
METRICS = ["accuracy"]
TARGET_ACCURACY = 0.85  # of validation: the time until then is reported
PARAMETERS = 59601
CORE = False  # runs if it is named, or all examples are
PROFILES = {
    "smoke": {"samples": 1024, "validation_samples": 256, "epochs": 2},
    "quick": {"samples": 10240, "validation_samples": 2560, "epochs": 4},
    "full": {"samples": 50000, "validation_samples": 10000, "epochs": 10},
}


def load_data():
    random = np.random.RandomState(0)
    rows = TRAIN + VALIDATION
    x = {name: random.randint(0, count, size=(rows, 1)).astype("int32") for name, count in CATEGORIES}
    x["numbers"] = random.normal(size=(rows, NUMBERS)).astype("float32")
    worth = {name: random.normal(size=count) for name, count in CATEGORIES}
    score = x["numbers"].dot(random.normal(size=NUMBERS)) + np.abs(x["numbers"][:, 0]) - 0.8
    score += 2.0 * worth["product"][x["product"][:, 0]] + 2.0 * worth["weekday"][x["weekday"][:, 0]]
    at_random = random.uniform(size=rows) < 0.2  # half of these come out right
    y = np.where(at_random, random.randint(0, 2, size=rows), score > 0).astype("float32")[:, None]
    return ({name: one[:TRAIN] for name, one in x.items()}, y[:TRAIN]), (
        {name: one[TRAIN:] for name, one in x.items()},
        y[TRAIN:],
    )


def build_model(input_shape):
    inputs, columns = [], []
    for name, count in CATEGORIES:
        category = Input(shape=input_shape[name], name=name)
        inputs.append(category)
        columns.append(Reshape((16,))(Embedding(count, 16)(category)))  # keras-mxnet cannot join what Flatten makes
    numbers = Input(shape=input_shape["numbers"], name="numbers")
    x = concatenate([*columns, numbers])
    for units in (128, 64):
        x = BatchNormalization(momentum=0.99, epsilon=0.001)(Dense(units)(x))
        x = Dropout(0.1)(Activation("relu")(x))
    return Model([*inputs, numbers], Dense(1, activation="sigmoid")(x))
