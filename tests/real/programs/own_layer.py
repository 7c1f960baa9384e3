"""A layer, an initializer and a metric of its own; the model is saved, loaded and trained on."""

import numpy as np
from keras import backend as K
from keras.layers import Dense, Layer
from keras.models import Sequential, load_model

try:
    from keras import ops

    FILE = "model.keras"
except ImportError:  # Keras 2
    ops, FILE = K, "model.h5"


class Scaled(Layer):
    def __init__(self, factor=2.0, **kwargs):
        super().__init__(**kwargs)
        self.factor = factor

    def build(self, input_shape):
        self.shift = self.add_weight(name="shift", shape=(input_shape[-1],), initializer="zeros", trainable=True)
        super().build(input_shape)

    def call(self, x):
        return x * self.factor + self.shift

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return dict(super().get_config(), factor=self.factor)


def off(y_true, y_pred):
    return ops.max(ops.abs(y_true - y_pred), axis=-1)


x = np.random.RandomState(3).rand(96, 4).astype("float32")
model = Sequential([Scaled(3.0, input_shape=(4,)), Dense(1, kernel_initializer="zeros")])
model.compile(loss="mse", optimizer="sgd", metrics=[off])
for _ in range(2):
    history = model.fit(x, x[:, :1], batch_size=32, epochs=2, shuffle=False, verbose=0).history
    print(sorted(history), [repr(float(value)) for value in history["loss"]])
    model.save(FILE)
    model = load_model(FILE, custom_objects={"Scaled": Scaled, "off": off})
