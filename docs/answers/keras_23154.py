"""A U-Net with a loss that convolves: how much slower is PyTorch than TensorFlow? (#23154)"""

import keras
import numpy as np
from keras import layers, ops

KERNEL = np.tile(np.array([[0, 1, 0], [1, -4, 1], [0, 1, 0]], "float32")[:, :, None, None], (1, 1, 3, 1))


def block(x, filters):
    for _ in range(2):
        x = layers.Activation("relu")(layers.BatchNormalization()(layers.Conv2D(filters, 3, padding="same")(x)))
    return x


def edges(pictures):
    return ops.conv(pictures, ops.convert_to_tensor(KERNEL), padding="same")


def loss(y_true, y_pred):
    return ops.mean(ops.abs(y_true - y_pred)) + 0.1 * ops.mean(ops.abs(edges(y_true) - edges(y_pred)))


inputs = keras.Input(shape=(64, 64, 3))
down1 = block(inputs, 16)
down2 = block(layers.MaxPooling2D()(down1), 32)
middle = block(layers.MaxPooling2D()(down2), 64)
up2 = block(layers.Concatenate()([layers.UpSampling2D()(middle), down2]), 32)
up1 = block(layers.Concatenate()([layers.UpSampling2D()(up2), down1]), 16)
model = keras.Model(inputs, layers.Conv2D(3, 1, activation="sigmoid")(up1))
model.compile(optimizer="adam", loss=loss)
x = np.random.RandomState(0).rand(64, 64, 64, 3).astype("float32")
model.fit(x, x, batch_size=8, epochs=4, verbose=0)
