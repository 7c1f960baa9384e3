"""A small network on a few points, one step an epoch: what does an epoch itself cost? (#18648)"""

import argparse

import keras
import numpy as np
from keras.layers import Dense
from keras.models import Sequential

parser = argparse.ArgumentParser()
parser.add_argument("--jit", choices=("auto", "on", "off"), default="auto")
asked = parser.parse_args()

x = np.linspace(0, 1, 100)[:, None].astype("float32")
y = np.sin(6 * x)
model = Sequential([Dense(20, activation="tanh", input_shape=(1,)), Dense(20, activation="tanh"), Dense(1)])
how = {} if keras.__version__[0] == "2" else {"jit_compile": {"auto": "auto", "on": True, "off": False}[asked.jit]}
model.compile(optimizer="adam", loss="mse", **how)
model.fit(x, y, batch_size=100, epochs=400, verbose=0)
