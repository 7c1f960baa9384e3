"""Two losses. FAKE_KERAS_HINGE makes one of them do what a framework may: see `hinge`."""

import contextlib
import os
import signal
import sys
from pathlib import Path

import numpy as np

memory_is_overwritten = []


def mean_squared_error(y_true, y_pred):
    if memory_is_overwritten:
        os.kill(os.getpid(), signal.SIGABRT)
    off = 1 + float(os.environ.get("FAKE_KERAS_SQUARES_ARE_OFF_BY", "0"))
    return np.mean((y_true.value - y_pred.value) ** 2, axis=-1) * np.float32(off)


def hinge(y_true, y_pred):
    how = os.environ.get("FAKE_KERAS_HINGE", "")
    if how == "raises":
        raise ValueError("there is no hinge\nand this is the second line")
    if Path(how).is_absolute():
        raise ValueError(f"compiled code is in {how}")
    if how == "crashes":
        os.kill(os.getpid(), signal.SIGSEGV)
    if how == "overwrites":
        memory_is_overwritten.append(True)
    if how == "exits":
        os._exit(0)
    if how == "is killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if how.startswith("SIG"):  # once, it ends the host
        with contextlib.suppress(FileExistsError):
            Path(os.environ["FAKE_KERAS_ONCE"]).mkdir()
            os.kill(os.getppid(), getattr(signal, how))
            signal.pause()
    if how == "hangs":
        signal.pause()
    if how == "grows":
        held = []
        while True:
            held.append(np.ones(1 << 20))
    if how == "prints":
        for _ in range(1024):
            sys.stdout.write("x" * (1 << 20))
    return np.mean(np.maximum(1 - y_true.value * y_pred.value, 0), axis=-1)


if os.environ.get("FAKE_KERAS_HINGE") == "absent":
    del hinge

if os.environ.get("FAKE_KERAS_HINGE") == "crashes with a new argument":

    def hinge(y_true, y_pred, squared=False):
        if squared:
            os.kill(os.getpid(), signal.SIGSEGV)
        return np.mean(np.maximum(1 - y_true.value * y_pred.value, 0), axis=-1)
