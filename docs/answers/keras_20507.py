"""A small network with BatchNormalization: does it train alike on Keras 2 and Keras 3? (#20507, #19649)"""

import numpy as np
from keras.layers import Activation, BatchNormalization, Conv2D, Dense, GlobalAveragePooling2D
from keras.models import Sequential

random = np.random.RandomState(5)
x = random.rand(320, 4, 4, 3).astype("float32") * 10
y = (x[..., 0].mean(axis=(1, 2)) > 5).astype("float32")
model = Sequential(
    [
        Conv2D(8, 3, padding="same", use_bias=False, input_shape=(4, 4, 3)),
        BatchNormalization(),
        Activation("relu"),
        Conv2D(8, 3, strides=2, padding="same", use_bias=False),
        BatchNormalization(),
        Activation("relu"),
        GlobalAveragePooling2D(),
        Dense(1, activation="sigmoid"),
    ]
)
model.compile(loss="binary_crossentropy", optimizer="sgd", metrics=["accuracy"])
model.fit(x[:256], y[:256], batch_size=4, epochs=4, validation_data=(x[256:], y[256:]), shuffle=False, verbose=0)
