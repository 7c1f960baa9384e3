"""Ten dense layers with dropout on four inputs: did Keras 3 become slower than Keras 2 on TensorFlow? (#19953)"""

import argparse

import keras
import numpy as np
from keras.layers import Dense, Dropout
from keras.models import Sequential

parser = argparse.ArgumentParser()
parser.add_argument("--auc", action="store_true", help="with the metric of the report, which Keras 2.2.4 has not got")
asked = parser.parse_args()

x = np.random.normal(size=(50000, 4)).astype("float32")
y = np.random.choice([0.0, 1.0], size=50000)
model = Sequential([Dense(128, activation="relu", input_shape=(4,)), Dropout(0.1)])
for _ in range(9):
    model.add(Dense(128, activation="relu"))
    model.add(Dropout(0.1))
model.add(Dense(1, activation="sigmoid"))
metrics = [keras.metrics.AUC(name="auc")] if asked.auc else ["accuracy"]
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=metrics)
model.fit(x, y, batch_size=500, epochs=6, verbose=0)
