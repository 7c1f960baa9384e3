"""A short training with BatchNormalization from the same weights, then what it predicts."""

import numpy as np
from keras.layers import BatchNormalization, Dense
from keras.models import Sequential

rng = np.random.RandomState(5)
x = (rng.rand(128, 6) * 10).astype("float32")
y = (x.mean(axis=1) > 5).astype("float32")[:, None]
model = Sequential([Dense(8, input_shape=(6,)), BatchNormalization(), Dense(1, activation="sigmoid")])
draw = np.random.RandomState(1)
model.set_weights(
    [draw.normal(scale=0.4, size=w.shape).astype("float32") if w.ndim > 1 else w for w in model.get_weights()]
)
model.compile(loss="binary_crossentropy", optimizer="sgd", metrics=["accuracy"])
model.fit(x, y, batch_size=16, epochs=1, shuffle=False, verbose=0)
print(model.evaluate(x, y, verbose=0))
print(model.predict(x[:16]).mean())
