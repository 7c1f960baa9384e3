"""Several questions that people ask, in one program: test_real_questions.py finds each by the comment of its line."""

import time

import keras
import numpy as np

x, y = np.random.rand(320, 8), np.random.randint(0, 2, (320, 1))
FRAMEWORK, OLD = keras.backend.backend(), keras.__version__.startswith("2.")
TENSORFLOW_1 = keras.__version__ == "2.2.4"


def dense(units=4):
    model = keras.models.Sequential()
    model.add(keras.layers.Dense(units, activation="relu", input_shape=(8,)))
    model.add(keras.layers.Dense(1))
    model.compile("sgd", "mse")  # no model
    return model


# Before what only some backends do, so that its seeded weights are the same on all.
stepping = dense()
for _ in range(8):
    stepping.train_on_batch(x[:32], y[:32])  # steps

dense().fit(x, y, epochs=20, batch_size=320, verbose=0, validation_data=(x, y))  # one step


class Slower(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        time.sleep(1)


if FRAMEWORK == "torch":
    dense().fit(x, y, validation_data=(x, y), epochs=3, verbose=0, callbacks=[Slower()])  # validated


class Late(keras.Model):
    """Its first step makes its weights."""

    def __init__(self):
        super().__init__()
        self.inner = keras.layers.Dense(16, activation="relu")
        self.outer = keras.layers.Dense(1)

    def call(self, inputs):
        return self.outer(self.inner(inputs))


if FRAMEWORK == "tensorflow" and not OLD:
    late = Late()
    late.build((None, 8))  # which marks it as built, and makes no weights
    late.compile("adam", "mse")
    late.fit(x, y, epochs=2, verbose=0)  # late

# Loops of its own.
model = dense()
if FRAMEWORK == "tensorflow" and not TENSORFLOW_1:
    import tensorflow as tf

    optimizer = keras.optimizers.SGD(0.01)

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_weights), model.trainable_weights))  # tape

    for start in range(0, 4 * 320, 10):
        at = start % 320
        step(tf.constant(x[at : at + 10], "float32"), tf.constant(y[at : at + 10], "float32"))
    if not OLD:
        model = dense()
        optimizer = keras.optimizers.SGD(0.01)

        @tf.function
        def compiled(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_weights), model.trainable_weights))
            return loss

        for start in range(0, 4 * 320, 10):
            at = start % 320
            compiled(tf.constant(x[at : at + 10], "float32"), tf.constant(y[at : at + 10], "float32"))  # compiled
elif FRAMEWORK == "torch":
    import torch

    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for start in range(0, 4 * 320, 10):
        at = start % 320
        optimizer.zero_grad()
        out = model(torch.tensor(x[at : at + 10], dtype=torch.float32))
        ((out - torch.tensor(y[at : at + 10], dtype=torch.float32)) ** 2).mean().backward()
        optimizer.step()  # torch
elif FRAMEWORK == "jax":
    import jax

    optimizer = keras.optimizers.SGD(0.01)
    optimizer.build(model.trainable_variables)

    def loss(trained, others, x, y):
        out, others = model.stateless_call(trained, others, x, training=True)
        return ((out - y) ** 2).mean(), others

    gradient = jax.value_and_grad(loss, has_aux=True)

    @jax.jit
    def step(state, x, y):
        trained, others, of_optimizer = state
        (value, others), grads = gradient(trained, others, x, y)
        trained, of_optimizer = optimizer.stateless_apply(of_optimizer, grads, trained)
        return value, (trained, others, of_optimizer)

    parts = (model.trainable_variables, model.non_trainable_variables, optimizer.variables)
    state = tuple([weight.value for weight in part] for part in parts)
    for start in range(0, 4 * 320, 10):
        at = start % 320
        value, state = step(state, x[at : at + 10], y[at : at + 10])  # jax

# What fit and evaluate say differs. What is looked into when the program has ended, is kept until then.
random = np.random.RandomState(0)
inputs = random.rand(64, 16).astype("float32")
inputs[32:] *= 0.7
targets = np.repeat([0, 1], 32).astype("float32")
moved = keras.models.Sequential()
moved.add(keras.layers.Dense(16, input_shape=(16,)))
moved.add(keras.layers.BatchNormalization())
moved.add(keras.layers.Dense(1, activation="sigmoid"))
moved.compile(loss="binary_crossentropy", optimizer=keras.optimizers.Adam(0.1), metrics=["accuracy"])
moved.fit(inputs, targets, batch_size=8, epochs=2, verbose=0)
normalized = moved.layers[1]
values = normalized.get_weights()
normalized.set_weights([values[0], values[1], values[2] + 50, values[3]])
moved.evaluate(inputs, targets, verbose=0)

# Small predictions, and such that each compile.
predicting = dense()
if FRAMEWORK in ("tensorflow", "torch") and not OLD:
    for _ in range(40):
        predicting.predict(np.ones((1, 8)), verbose=0)  # small predictions
if FRAMEWORK == "tensorflow" and not OLD:
    for size in range(1, 41):
        predicting.predict(np.ones((size, 8)), verbose=0)  # growing predictions

# Calls that each compile.
if TENSORFLOW_1:
    for _ in range(12):
        fold = keras.models.Sequential()
        fold.add(keras.layers.Dense(12, input_dim=8, activation="relu"))
        fold.add(keras.layers.Dense(8, activation="relu"))
        fold.add(keras.layers.Dense(1))
        fold.compile(loss="mse", optimizer="adam")
        fold.fit(x[:270], y[:270], epochs=3, batch_size=10, verbose=0)  # folds

# Lines that are compared.
if FRAMEWORK == "jax" or TENSORFLOW_1:
    wide = keras.models.Sequential()
    for layer in (keras.layers.Dense(1024, input_shape=(8,)), keras.layers.Dense(1024), keras.layers.Dense(1)):
        wide.add(layer)
    wide.compile("sgd", "mse")
    dense().fit(x, y, epochs=8, verbose=0)  # narrow
    wide.fit(x, y, epochs=8, verbose=0)  # wide


# What is beside the steps.
class Slow(keras.callbacks.Callback):
    def on_batch_end(self, batch, logs=None):
        time.sleep(0.005)

    def on_epoch_end(self, epoch, logs=None):
        time.sleep(0.1)


class Batches(keras.utils.Sequence):
    def __len__(self):
        return 10

    def __getitem__(self, number):
        time.sleep(0.02)
        return x[number * 32 : number * 32 + 32], y[number * 32 : number * 32 + 32]


model, slow = dense(), [Slow()]
model.fit(x, y, epochs=3, verbose=0, callbacks=slow)  # callbacks
assert "on_batch_end" not in vars(slow[0])
fit = getattr(model, "fit_generator", model.fit)
fit(Batches(), epochs=3, verbose=0)  # batches
for number in range(12):
    model.predict(x[: 10 + number])  # sizes
