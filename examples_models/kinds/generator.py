"""Trains on batches that its own code makes of the data: a Sequence of Keras, or a generator with `yield`.

The batches of the first epoch are made twice: once they are hashed, for the proof that all backends see the same, and
then they are trained on. So they have to follow from `seed`, which is another one in each epoch.
"""

import numpy as np
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import Sequence

BATCH_SIZE = 64
OPTIMIZER = {"class_name": "SGD", "learning_rate": 0.1, "momentum": 0.9}
LOSS = "sparse_categorical_crossentropy"
METRICS = ["accuracy"]
PROFILES = {
    "smoke": {"samples": 256, "validation_samples": 64, "epochs": 2},
    "full": {"samples": 8192, "validation_samples": 2048, "epochs": 4},
}


def load_data():
    random = np.random.RandomState(0)
    centers = random.normal(size=(5, 12))
    y = random.randint(0, 5, size=10240)
    x = centers[y] + random.normal(size=(10240, 12))
    return (x[:8192], y[:8192]), (x[8192:], y[8192:])


class Noisy(Sequence):
    """Shuffled batches with a little noise."""

    def __init__(self, x, y, batch_size, seed):
        super(Noisy, self).__init__()
        self.x, self.y, self.batch_size, self.seed = x, y, batch_size, seed
        self.order = np.random.RandomState(seed).permutation(len(x))

    def __len__(self):
        return len(self.x) // self.batch_size

    def __getitem__(self, number):
        rows = self.order[number * self.batch_size : (number + 1) * self.batch_size]
        noise = np.random.RandomState([self.seed, number]).normal(scale=0.1, size=self.x[rows].shape)
        return (self.x[rows] + noise).astype("float32"), self.y[rows]


def batches(x, y, batch_size, seed):
    return Noisy(x, y, batch_size, seed)


def build_model(input_shape, num_classes):
    model = Sequential()
    model.add(Dense(64, activation="relu", input_shape=input_shape))
    model.add(Dense(num_classes, activation="softmax"))
    return model
