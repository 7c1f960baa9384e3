"""Keras as TensorFlow's users import it; the backend is another matter."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import numpy as np
import tensorflow as tf
import tensorflow.keras.layers as L
from tensorflow import keras
from tensorflow.keras.models import Sequential

x = np.random.RandomState(11).normal(size=(256, 5)).astype("float32")
model = Sequential([L.Dense(4, activation="relu", input_shape=(5,)), tf.keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(x, x[:, :1], epochs=2, shuffle=False, verbose=0)
print(os.environ["KERAS_BACKEND"], keras.backend.backend(), isinstance(model, keras.models.Model))
