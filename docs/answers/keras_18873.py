"""A convolutional network fed by arrays and by tf.data: does tf.data make PyTorch slower? (#18873)"""

import argparse

import keras
import numpy as np
from keras import layers

parser = argparse.ArgumentParser()
parser.add_argument("--tf-data", action="store_true")
asked = parser.parse_args()

x = np.random.RandomState(0).rand(4096, 28, 28, 1).astype("float32")
y = np.arange(4096) % 10
model = keras.Sequential([keras.Input((28, 28, 1))])
for filters in (16, 32):
    model.add(layers.Conv2D(filters, 3, activation="relu"))
    model.add(layers.MaxPooling2D(2))
model.add(layers.Flatten())
model.add(layers.Dense(10, activation="softmax"))
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
if asked.tf_data:
    import tensorflow as tf

    batches = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(4096).batch(64).prefetch(tf.data.AUTOTUNE)
    model.fit(batches, epochs=4, verbose=0)
else:
    model.fit(x, y, batch_size=64, epochs=4, verbose=0)
