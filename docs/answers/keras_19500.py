"""A deep ResNet called on a batch, again and again: how much memory does that take? (#19500)"""

import argparse
from pathlib import Path

import keras
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--images", type=int, default=8, help="per call; the report has 20")
parser.add_argument("--predict", action="store_true", help="with predict_on_batch, which compiles the model")
asked = parser.parse_args()

model = keras.applications.ResNet152V2(weights=None)
images = np.zeros((asked.images, 224, 224, 3), "float32")
for call in range(6):
    model.predict_on_batch(images) if asked.predict else model(images)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    print(f"after call {call + 1}: {pages * 4096 / 2**20:.0f} MiB")
