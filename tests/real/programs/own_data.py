"""What keras.datasets has, without a download."""

import numpy as np
from keras.datasets import mnist
from keras.layers import Dense, Flatten
from keras.models import Sequential

(x_train, y_train), (x_test, y_test) = mnist.load_data()
print(x_train.shape, x_train.dtype, y_train.dtype, x_test.shape, y_test[:5])
model = Sequential([Flatten(input_shape=(28, 28)), Dense(10, activation="softmax", kernel_initializer="zeros")])
model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(x_train[:512] / 255.0, y_train[:512], epochs=2, shuffle=False, verbose=0).history
print([repr(float(value)) for value in history["loss"]])
print(np.argmax(model.predict(x_test[:4] / 255.0, verbose=0), axis=1))
