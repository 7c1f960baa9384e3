"""One BatchNormalization layer with the same weights: are its outputs the same on Keras 2 and Keras 3? (#19649)"""

import keras
import numpy as np

random = np.random.RandomState(0)
weights = [random.rand(3).astype("float32") for _ in range(4)]  # gamma, beta, moving mean, moving variance
gamma, beta, mean, variance = (weight.astype("float64") for weight in weights)
for size in (4, 24, 256):
    images = random.rand(16, size, size, 3).astype("float32") * 10
    model = keras.Sequential([keras.layers.BatchNormalization(input_shape=images.shape[1:])])
    model.set_weights(weights)
    exact = images.astype("float64")
    axes = (0, 1, 2)
    predicted = (exact - mean) / np.sqrt(variance + 1e-3) * gamma + beta
    trained = (exact - exact.mean(axes)) / np.sqrt(exact.var(axes) + 1e-3) * gamma + beta
    off = np.abs(model.predict_on_batch(images) - predicted).max()
    off_in_training = np.abs(np.asarray(model(images, training=True)) - trained).max()
    moved = model.get_weights()[3] / (0.99 * variance + 0.01 * exact.var(axes)) - 1
    print(f"{size} x {size}: off by {off:.1e} in prediction, {off_in_training:.1e} in training;", end=" ")
    print(f"moving variance by {np.abs(moved).max():.1e} of itself")
