"""Words that Keras 3 has not got any more."""

import numpy as np
from keras.layers import Embedding, Layer
from keras.layers.core import Activation, Dense, Flatten
from keras.models import Sequential
from keras.optimizers import SGD
from keras.utils import np_utils


class Same(Layer):
    def call(self, inputs):
        return inputs


x = np.random.RandomState(0).randint(0, 10, (200, 4))
y = np_utils.to_categorical((x.sum(axis=1) > 20).astype(int), 2)
model = Sequential()
model.add(Embedding(10, 3, input_length=4, embeddings_initializer="ones"))
model.add(Flatten())
model.add(Same())
model.add(Dense(2, kernel_initializer="zeros"))
model.add(Activation("softmax"))
model.compile(loss="categorical_crossentropy", optimizer=SGD(lr=0.5, decay=0.1), metrics=["accuracy"])


def batches():
    while True:
        yield x[:20], y[:20]


history = model.fit_generator(batches(), steps_per_epoch=5, epochs=3, verbose=0, workers=1).history
print(["%.4f" % loss for loss in history["loss"]], len(model.evaluate_generator(batches(), 2)))
