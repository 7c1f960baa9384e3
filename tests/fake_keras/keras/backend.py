"""The configuration, read from keras.json as the real Keras does, KERAS_BACKEND's precedence included."""

import json
import os
from pathlib import Path

import numpy as np

_home = Path(os.environ.get("KERAS_HOME") or Path.home() / ".keras")
_read = json.loads((_home / "keras.json").read_text())
if "KERAS_BACKEND" in os.environ:
    _read["backend"] = os.environ["KERAS_BACKEND"]
# A broken installation, for tests: FAKE_KERAS_INSISTS_ON="image_data_format=channels_last floatx=float16".
_read.update(pair.split("=", 1) for pair in os.environ.get("FAKE_KERAS_INSISTS_ON", "").split())


def backend():
    return _read["backend"]


def image_data_format():
    return _read["image_data_format"]


def floatx():
    return _read["floatx"]


def epsilon():
    return _read["epsilon"]


def int_shape(weight):
    return weight.shape


def batch_get_value(weights):
    return [weight.value for weight in weights]


def dtype(weight):
    return str(weight.value.dtype) if hasattr(weight, "value") else floatx()


def variable(value, dtype="float32"):
    from keras.layers import Weight

    made = Weight(())
    made.value = np.asarray(value, dtype)
    return made


def eval(value):
    return value


def batch_set_value(pairs):
    for weight, value in pairs:
        assert weight.shape == value.shape
        weight.value = value.copy()
