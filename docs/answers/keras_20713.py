"""A small convolutional network on MNIST: is its accuracy lower on PyTorch? (#20713)"""

import keras
from keras import layers
from keras.datasets import mnist

(x_train, y_train), (x_test, y_test) = mnist.load_data()
x_train, x_test = (x[..., None].astype("float32") / 255 for x in (x_train[:12000], x_test))
inputs = keras.Input(shape=(28, 28, 1))
x = layers.MaxPooling2D(2)(layers.Conv2D(32, 3, activation="relu")(inputs))
x = layers.MaxPooling2D(2)(layers.Conv2D(64, 3, activation="relu")(x))
x = layers.Dense(128, activation="relu")(layers.Flatten()(x))
model = keras.Model(inputs, layers.Dense(10, activation="softmax")(x))
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train[:12000], batch_size=64, epochs=5, validation_data=(x_test, y_test), verbose=0)
