"""Two inputs through one network, a distance, and a loss of its own."""

import numpy as np
from keras import backend as K
from keras.layers import Dense, Input, Lambda, Subtract
from keras.models import Model

try:
    from keras import ops
except ImportError:  # Keras 2
    ops = K

random = np.random.RandomState(1)
left, right = (random.normal(size=(192, 6)).astype("float32") for _ in range(2))
same = (np.abs(left - right).mean(axis=1) < 1).astype("float32")[:, None]

base_in = Input(shape=(6,))
base = Model(base_in, Dense(4, activation="relu", kernel_initializer="ones")(base_in))
a, b = Input(shape=(6,)), Input(shape=(6,))
apart = Lambda(lambda d: ops.sum(ops.square(d), axis=1, keepdims=True), output_shape=(1,))(
    Subtract()([base(a), base(b)])
)
model = Model([a, b], apart)


def contrastive(y_true, y_pred):
    return ops.mean(y_true * y_pred + (1 - y_true) * ops.maximum(1 - y_pred, 0))


model.compile(loss=contrastive, optimizer="rmsprop")
history = model.fit([left, right], same, batch_size=32, epochs=2, shuffle=False, verbose=0)
for name in sorted(history.history):
    print(name, [repr(float(value)) for value in history.history[name]])
