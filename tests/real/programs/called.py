"""A model that is called like a function, on numbers, inside another model and in a loop of the program's own."""

import numpy as np
from keras import Model, ops
from keras.layers import Dense, Input

taken = Input((6,))
inside = Model(taken, Dense(256, activation="relu", kernel_initializer="ones")(taken))
given = Input((6,))
model = Model(given, Dense(1, kernel_initializer="ones")(inside(given)))
x = np.arange(48, dtype="float32").reshape(8, 6)
total = 0.0
for number in range(300):
    total += float(ops.sum(model(x + number, training=False)))
print(total)
print(float(ops.max(inside(x))))
