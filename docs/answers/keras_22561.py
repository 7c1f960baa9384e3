"""A small convolutional network, four pictures at a time: what does a call cost on each backend? (#22561)"""

import keras
import numpy as np
from keras import layers

inputs = keras.Input(shape=(32, 32, 3))
x = inputs
for filters in (32, 64, 64):
    x = layers.MaxPooling2D(2)(layers.Conv2D(filters, 3, padding="same", activation="relu")(x))
model = keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))
batch = np.random.RandomState(0).rand(4, 32, 32, 3).astype("float32")
for _ in range(300):
    model.predict_on_batch(batch)
for _ in range(100):
    model.predict(batch, verbose=0)
