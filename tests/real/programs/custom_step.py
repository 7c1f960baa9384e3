"""A train_step of its own, on top of Keras 3's, with the loss that it computes itself and a schedule of rates."""

import keras
import numpy as np
from keras import ops


class Custom(keras.Model):
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        loss = ops.mean(ops.abs(y - y_pred)) + sum(self.losses)
        self.seen.update_state(loss)
        return loss

    def train_step(self, *args, **kwargs):
        return super().train_step(*args, **kwargs)


inputs = keras.Input((6,))
model = Custom(inputs, keras.layers.Dense(1, kernel_initializer="zeros", kernel_regularizer="l2")(inputs))
model.seen = keras.metrics.Mean(name="seen")
schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9)
model.compile(optimizer=keras.optimizers.SGD(schedule))
x = np.random.RandomState(5).rand(320, 6).astype("float32")
history = model.fit(x, x.sum(axis=1, keepdims=True), epochs=3, shuffle=False, verbose=0).history
print(sorted(history), [repr(float(value)) for value in history["loss"]])
