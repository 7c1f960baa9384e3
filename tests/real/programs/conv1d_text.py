"""Words through a convolution, with validation data and a metric."""

import numpy as np
from keras.layers import Conv1D, Dense, Embedding, GlobalMaxPooling1D
from keras.models import Sequential

random = np.random.RandomState(2)
x = random.randint(0, 50, (256, 12))
y = (x.max(axis=1) > 47).astype("float32")
model = Sequential()
model.add(Embedding(50, 8, embeddings_initializer="ones"))
model.add(Conv1D(8, 3, activation="tanh", kernel_initializer="ones"))
model.add(GlobalMaxPooling1D())
model.add(Dense(1, activation="sigmoid", kernel_initializer="ones"))
model.compile(loss="binary_crossentropy", optimizer="adam", metrics=["accuracy"])
history = model.fit(
    x[:192], y[:192], batch_size=16, epochs=3, shuffle=False, validation_data=(x[192:], y[192:]), verbose=0
).history
for name in ("loss", "acc", "accuracy", "val_loss", "val_acc", "val_accuracy"):
    if name in history:
        print(name, [repr(float(value)) for value in history[name]])
