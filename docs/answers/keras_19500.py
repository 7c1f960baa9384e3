"""A ResNet50 called again and again with the same images: how much memory does it hold? (#19500)"""

import keras
import numpy as np

images = np.zeros([20, 224, 224, 3], dtype="float32")
model = keras.applications.ResNet50(weights=None)
for _ in range(10):
    model(images)
