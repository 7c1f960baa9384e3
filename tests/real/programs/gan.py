"""Two networks against each other, trained batch by batch, one of them frozen within the other."""

import numpy as np
from keras.layers import Dense, Input
from keras.models import Model, Sequential

made = Sequential([Dense(3, input_shape=(2,), kernel_initializer="ones")])
judge = Sequential([Dense(1, activation="sigmoid", input_shape=(3,), kernel_initializer="zeros")])
judge.compile(loss="binary_crossentropy", optimizer="sgd")
judge.trainable = False
noise = Input(shape=(2,))
both = Model(noise, judge(made(noise)))
both.compile(loss="binary_crossentropy", optimizer="sgd")
random = np.random.RandomState(1)
for _ in range(20):
    z = random.rand(16, 2).astype("float32")
    real = judge.train_on_batch(random.rand(16, 3), np.ones((16, 1)))
    false = judge.train_on_batch(made.predict(z, verbose=0), np.zeros((16, 1)))
    fooled = both.train_on_batch(z, np.ones((16, 1)))
print([repr(float(np.ravel(one)[0])) for one in (real, false, fooled)])
