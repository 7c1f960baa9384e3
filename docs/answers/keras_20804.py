"""One dilated convolution with the same weights: are its outputs the same on all backends? (#20804)"""

import keras
import numpy as np

random = np.random.RandomState(0)
data = random.rand(1, 64, 64, 256).astype("float32")
layer = keras.layers.Conv2D(256, kernel_size=(4, 7), padding="same", dilation_rate=(3, 2))
inputs = keras.Input(shape=data.shape[1:])
model = keras.Model(inputs, layer(inputs))
layer.set_weights([random.normal(scale=0.02, size=weight.shape).astype("float32") for weight in layer.get_weights()])
for _ in range(5):
    found = model.predict(data, verbose=0)
print(f"sum {found.sum(dtype='float64'):.9g}, mean of squares {np.square(found, dtype='float64').mean():.9g}")
