"""Two models, several fits, callbacks, evaluate and predict, and a file that is written and read again."""

import os

import numpy as np
from keras.callbacks import Callback, LambdaCallback
from keras.layers import Dense
from keras.models import Sequential


class Sparse(Callback):
    def on_epoch_end(self, epoch, logs=None):
        print("epoch", epoch, sorted(logs), self.model.predict(x[:2], verbose=0).shape)


def made(seed):
    model = Sequential([Dense(3, activation="softmax", input_shape=(6,), kernel_initializer="ones")])
    model.compile(loss="sparse_categorical_crossentropy", optimizer="sgd", metrics=["accuracy"])
    return model


random = np.random.RandomState(7)
x = random.normal(size=(300, 6)).astype("float32")
y = x[:, :3].argmax(axis=1)
first = made(0)
begun = []
first.fit(
    x,
    y,
    epochs=2,
    shuffle=False,
    verbose=0,
    callbacks=[Sparse(), LambdaCallback(on_epoch_begin=lambda e, logs: begun.append(e))],
)
print("begun", begun)
for fold in range(3):
    model = made(fold)
    left_out = np.arange(300) % 3 == fold
    model.fit(x[~left_out], y[~left_out], epochs=2, shuffle=False, verbose=0)
    print(fold, [repr(float(one)) for one in model.evaluate(x[left_out], y[left_out], verbose=0)])
first.save_weights("kept.weights.h5")
second = made(1)
second.load_weights("kept.weights.h5")
print(os.path.getsize("kept.weights.h5") > 0, np.allclose(first.predict(x, verbose=0), second.predict(x, verbose=0)))
