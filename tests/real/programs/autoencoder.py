"""An autoencoder with a loss of its own, in a function, called from main."""

import numpy as np
from keras import backend as K
from keras.layers import Dense, Input
from keras.models import Model

try:
    from keras import ops
except ImportError:  # Keras 2
    ops = K


def weighted_error(y_true, y_pred):
    return ops.mean(ops.square(y_true - y_pred) * 2.0, axis=-1)


def build(size):
    taken = Input(shape=(size,))
    code = Dense(3, activation="tanh", kernel_initializer="ones")(taken)
    return Model(taken, Dense(size, kernel_initializer="ones")(code))


def main():
    x = np.random.RandomState(3).normal(size=(256, 10)).astype("float32")
    model = build(10)
    model.compile(optimizer="adam", loss=weighted_error, metrics=["mae"])
    history = model.fit(x, x, batch_size=64, epochs=3, shuffle=False, verbose=0).history
    for name, values in sorted(history.items()):
        print(name, [repr(float(value)) for value in values])
    print(model.predict(x, batch_size=64, verbose=0).shape)


if __name__ == "__main__":
    main()
