"""Two losses. FAKE_KERAS_HINGE makes one of them do what a framework may: see `hinge`."""

import os
import signal
import sys

import numpy as np


def mean_squared_error(y_true, y_pred):
    off = 1 + float(os.environ.get("FAKE_KERAS_SQUARES_ARE_OFF_BY", "0"))
    return np.mean((y_true.value - y_pred.value) ** 2, axis=-1) * np.float32(off)


def hinge(y_true, y_pred):
    how = os.environ.get("FAKE_KERAS_HINGE", "")
    if how == "raises":
        raise ValueError("there is no hinge\nand this is the second line")
    if how == "crashes":
        os.kill(os.getpid(), signal.SIGSEGV)
    if how == "hangs":
        signal.pause()
    if how == "grows":
        held = []
        while True:
            held.append(np.ones(1 << 20))
    if how == "prints":
        for _ in range(200):
            sys.stdout.write("x" * (1 << 20))
    return np.mean(np.maximum(1 - y_true.value * y_pred.value, 0), axis=-1)


if os.environ.get("FAKE_KERAS_HINGE") == "absent":
    del hinge
