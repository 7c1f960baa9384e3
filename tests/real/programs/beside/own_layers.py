"""What a program has beside it."""

from keras.layers import Dense


def layers():
    return [
        Dense(4, activation="relu", input_shape=(3,), kernel_initializer="ones"),
        Dense(1, kernel_initializer="ones"),
    ]


def fitted(model, x, y):
    return model.fit(x, y, epochs=2, shuffle=False, verbose=0)
