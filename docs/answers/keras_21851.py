"""A dense autoencoder: does compiling make PyTorch slower? (#21851)"""

import keras
import numpy as np
from keras import layers

x = np.random.RandomState(0).rand(4096, 784).astype("float32")
model = keras.Sequential([keras.Input((784,))])
for units in (256, 64, 16, 64, 256):
    model.add(layers.Dense(units, activation="relu"))
model.add(layers.Dense(784, activation="sigmoid"))
model.compile(optimizer="adam", loss="mse")
model.fit(x, x, batch_size=128, epochs=5, verbose=0)
