"""Evaluates, predicts and trains: from the same weights all backends agree, and what is learnt is nobody's fault."""

import numpy as np
from keras.layers import Dense, Dropout
from keras.models import Sequential

x = np.random.RandomState(3).rand(96, 8).astype("float32")
y = (x.sum(axis=1) > 4).astype("float32")[:, None]
model = Sequential([Dense(8, activation="relu", input_shape=(8,)), Dropout(0.5), Dense(1, activation="sigmoid")])
draw = np.random.RandomState(1)
model.set_weights([draw.normal(scale=0.4, size=w.shape).astype("float32") for w in model.get_weights()])
model.compile(loss="binary_crossentropy", optimizer="sgd", metrics=["accuracy"])
print(model.evaluate(x, y, verbose=0))
print(model.predict(x[:32]).mean())
model.fit(x, y, epochs=2, batch_size=32, verbose=0)
print(model.evaluate(x, y, verbose=0))
print(Sequential([Dense(2, input_shape=(8,))]).predict(x).mean())
