"""A regression that stops early: how many epochs there are is found out."""

import numpy as np
from keras.callbacks import EarlyStopping
from keras.layers import Dense
from keras.models import Sequential
from keras.optimizers import SGD

random = np.random.RandomState(4)
x = random.normal(size=(400, 5)).astype("float32")
y = x.dot(np.arange(5.0)).astype("float32")
model = Sequential([Dense(1, input_shape=(5,), kernel_initializer="zeros")])
model.compile(loss="mse", optimizer=SGD(0.1), metrics=["mae"])
stop = EarlyStopping(monitor="val_loss", min_delta=0.5, patience=1)
fitted = model.fit(x, y, batch_size=50, epochs=40, validation_split=0.25, callbacks=[stop], shuffle=False, verbose=0)
print("epochs", len(fitted.history["loss"]), "of 40")
for name in ("loss", "val_loss"):
    print(name, [repr(float(value)) for value in fitted.history[name]])
