"""A small network with a layer that is slow on one backend: a test writes KIND and WHERE."""

import time

import keras
import numpy as np

INPUT = "sequence"
BATCH_SIZE = 32
OPTIMIZER = {"class_name": "SGD", "learning_rate": 0.01}
LOSS = "categorical_crossentropy"
PROFILES = {"full": {"samples": 640, "validation_samples": 0, "epochs": 5}}
KIND = "none"
WHERE = "none"
HELD = np.zeros((2, 2**20), "float32")
WIDE = np.random.RandomState(1).rand(640, 640).astype("float32")
BACKEND = "keras2" if keras.__version__.startswith("2.") else keras.backend.backend()


def load_data():
    random = np.random.RandomState(0)
    x, y = random.rand(640, 64).astype("float32"), random.randint(0, 2, size=640)
    return (x, y), (x, y)


def asleep(x):
    time.sleep(0.04)
    return x


def copied(x):
    """To numpy and back, many times, as part of much more; within memory that is kept: getting it varies in time."""
    x = np.asarray(x)
    HELD[0, : x.size] = x.ravel()
    for _ in range(60):
        HELD[1] = HELD[0]
    return HELD[1, : x.size].reshape(x.shape).copy()


def by_numpy(function, x):
    """What the function of arrays returns for a tensor, without a gradient."""
    if BACKEND == "torch":
        import torch

        return torch.as_tensor(function(x.detach().numpy()))
    if BACKEND == "jax":
        import jax

        return jax.pure_callback(function, jax.ShapeDtypeStruct(x.shape, x.dtype), jax.lax.stop_gradient(x))
    import tensorflow as tf

    return tf.stop_gradient(tf.ensure_shape(tf.numpy_function(function, [x], tf.float32), x.shape))


def in_other_type(x, dtype):
    """As many products as take a while, in this type."""
    ops = keras.ops
    wide = ops.cast(ops.convert_to_tensor(WIDE) * ops.mean(x), dtype)
    product = wide
    for _ in range(4):
        product = ops.matmul(product, wide) / 640.0
    return ops.cast(ops.max(product), "float32")


class Planted(keras.layers.Layer):
    """Adds next to nothing, at a price."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_jit = BACKEND == "jax"

    def call(self, x):
        if BACKEND != WHERE:
            return x * 1.0
        if KIND in ("sleep", "copy"):
            return x + 0.0 * by_numpy(asleep if KIND == "sleep" else copied, x)
        return x + 0.0 * keras.ops.stop_gradient(in_other_type(x, "float64" if KIND == "cast" else "float32"))

    def compute_output_shape(self, input_shape):
        return input_shape


def build_model(input_shape, num_classes):
    inputs = keras.layers.Input(input_shape)
    x = keras.layers.Dense(64, activation="relu")(inputs)
    x = Planted(name="planted")(x)
    x = keras.layers.LayerNormalization()(x)
    return keras.models.Model(inputs, keras.layers.Dense(num_classes, activation="softmax")(x))
