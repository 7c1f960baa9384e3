"""Functions and modules that Keras 3 has not got any more, or has elsewhere."""

import os

import keras
import numpy as np
from keras import backend as K
from keras.layers import Dense, Input, Lambda
from keras.layers.merge import add, concatenate
from keras.losses import mse
from keras.models import Model, Sequential
from keras.preprocessing import sequence
from keras.preprocessing.image import ImageDataGenerator
from keras.preprocessing.text import Tokenizer
from keras.utils.data_utils import get_file
from keras.utils.generic_utils import Progbar

rng = np.random.RandomState(0)
a, b = rng.rand(4, 3, 5).astype("f"), rng.rand(4, 5, 2).astype("f")
shown = {
    "batch_dot": K.batch_dot(K.variable(a), K.variable(b)),
    "batch_dot axes": K.batch_dot(K.variable(a), K.variable(a), axes=2),
    "batch_dot vectors": K.batch_dot(K.variable(a[:, 0]), K.variable(a[:, 1]), axes=1),
    "batch_flatten": K.batch_flatten(K.variable(a)),
    "flatten": K.flatten(K.variable(a)),
    "concatenate": K.concatenate([K.variable(a), K.variable(a)]),
    "expand": K.expand_dims(K.variable(a)),
    "l2": K.l2_normalize(K.variable(a), axis=-1),
    "permute": K.permute_dimensions(K.variable(a), (0, 2, 1)),
    "pow": K.pow(K.variable(a), 2),
    "sum": K.sum(K.square(K.variable(a)), axis=-1, keepdims=True),
    "clip": K.clip(K.variable(a), 0.2, 0.4),
    "bce": K.binary_crossentropy(K.round(K.variable(a)), K.clip(K.variable(a), 0.1, 0.9)),
    "stack": K.stack([K.variable(a), K.variable(a)], axis=1),
    "repeat": K.repeat_elements(K.variable(a), 2, axis=1),
    "std": K.std(K.variable(a), axis=0),
    "cast": K.cast(K.greater(K.variable(a), 0.5), "float32"),
    "softmax": K.softmax(K.variable(a)),
    "logsumexp": K.logsumexp(K.variable(a), axis=1),
    "gather": K.gather(K.variable(a), K.constant([1, 2], dtype="int32")),
}
for name, value in shown.items():
    value = K.eval(value)
    print(name, value.shape, "%.4g" % np.sum(value * np.arange(value.size).reshape(value.shape)))
print(K.ndim(K.variable(a)), K.int_shape(K.variable(a)))
x = Input((8,))
h = concatenate([Dense(4, activation="relu")(x), Dense(4)(x)])
h = Lambda(lambda t: K.sqrt(1.0 + K.sum(K.square(t), axis=1, keepdims=True)))(add([h, h]))
model = Model(x, h)
model.compile(loss=lambda y, p: K.mean(K.square(p - y), axis=-1), optimizer="sgd", metrics=[mse])
history = model.fit(rng.rand(64, 8).astype("f"), rng.rand(64, 1).astype("f"), verbose=0, epochs=1).history
print(sorted(history)[0], len(history))
pictures = ImageDataGenerator(horizontal_flip=True)
print(
    next(pictures.flow(rng.rand(8, 8, 8, 3), np.arange(8), batch_size=4))[0].shape,
    Progbar.__name__,
    get_file.__name__,
)
tokens = Tokenizer(num_words=9)
tokens.fit_on_texts(["a b c", "b c"])
print(tokens.texts_to_sequences(["b a"]), sequence.pad_sequences([[1, 2]], maxlen=3).tolist())
chosen = Sequential()
chosen.add(Dense(3, activation="softmax", input_shape=(8,), kernel_initializer="ones"))
chosen.compile(keras.optimizers.rmsprop(lr=0.1), "categorical_crossentropy")
print(chosen.predict_classes(np.ones((2, 8))).tolist(), chosen.predict_proba(np.ones((2, 8))).shape, np.float(1))
print(K.int_shape(K.conv1d(K.variable(a), K.variable(np.ones((2, 5, 4))))), K.get_value(K.max(K.variable(a))) < 1)


# How programs of that time end.
def noisy(t):
    return K.in_train_phase(0.5 * t, t) + 0.0 * K.count_params(K.constant(a))


checked = []
last = keras.models.Sequential()
kernel, bias = np.eye(4, 2), np.array([0.5, 0.0])
last.add(Dense(2, activation="softmax", batch_input_shape=(16, 4), weights=[kernel, bias]))
last.add(Lambda(noisy))
last.compile(keras.optimizers.SGD(0.0, 0.9, 0.1), "categorical_crossentropy", metrics=["accuracy"])
x, y = np.eye(4)[np.arange(64) % 4], np.eye(2)[np.arange(64) % 2]
looks = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: checked.append("val_acc" in logs))
ends = keras.callbacks.EarlyStopping(monitor="val_acc", patience=9)
seen = last.fit(x, y, batch_size=16, epochs=4, verbose=0, validation_data=(x, y), callbacks=[looks, ends]).history
print(["%.3f" % one for one in seen["val_acc"]], len(seen["acc"]), checked)
print(
    last.predict(x[:16], batch_size=16, verbose=0)[:3].round(3).tolist(), last.input_shape, K.learning_phase() is None
)
plain = Sequential([Dense(1, input_dim=4)])
plain.compile(keras.optimizers.SGD(lr=0.5), "mse")
plain.fit(x, y[:, :1], epochs=4, verbose=0, callbacks=[keras.callbacks.ModelCheckpoint("saved-{epoch}.h5", period=3)])
print(sorted(name for name in os.listdir(".") if name.startswith("saved")))
K.set_value(plain.optimizer.lr, 0.25)
print(K.get_value(plain.optimizer.lr), keras.models.Input((3,)) is not None)
