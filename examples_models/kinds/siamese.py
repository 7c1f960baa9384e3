"""Tells whether two vectors are near each other: two inputs by name, one network for both, and a loss of its own."""

import numpy as np
from keras.layers import Dense, Input, Lambda, Subtract
from keras.models import Model

try:
    from keras import ops
except ImportError:  # Keras 2
    from keras import backend as ops

BATCH_SIZE = 64
OPTIMIZER = {"class_name": "RMSprop", "learning_rate": 0.001, "rho": 0.9, "epsilon": 1e-7}
PROFILES = {
    "smoke": {"samples": 256, "validation_samples": 64, "epochs": 2},
    "full": {"samples": 8192, "validation_samples": 2048, "epochs": 5},
}


def LOSS(y_true, y_pred):
    """The contrastive loss of Hadsell et al. (2006), of squared distances."""
    margin = ops.maximum(1.0 - ops.sqrt(y_pred + 1e-6), 0.0)
    return ops.mean(y_true * y_pred + (1.0 - y_true) * ops.square(margin), axis=-1)


def load_data():
    random = np.random.RandomState(0)
    left, right = random.normal(size=(2, 10240, 16))
    near = random.uniform(size=10240) < 0.5
    right[near] = left[near] + 0.3 * right[near]
    x, y = {"left": left, "right": right}, near[:, None].astype("float32")
    return ({name: one[:8192] for name, one in x.items()}, y[:8192]), (
        {name: one[8192:] for name, one in x.items()},
        y[8192:],
    )


def build_model(input_shape):
    taken = Input(shape=input_shape["left"])
    network = Model(taken, Dense(8)(Dense(32, activation="relu")(taken)))
    left, right = (Input(shape=input_shape[name], name=name) for name in ("left", "right"))
    apart = Subtract()([network(left), network(right)])
    distance = Lambda(lambda d: ops.sum(ops.square(d), axis=1, keepdims=True), output_shape=(1,))(apart)
    return Model([left, right], distance)
