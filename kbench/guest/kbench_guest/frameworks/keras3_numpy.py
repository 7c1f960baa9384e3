"""Keras 3 on NumPy, which convolves and pools with JAX and waits for it."""

from typing import Any

from kbench_guest.frameworks import keras3, recurrent
from kbench_guest.frameworks.interface import DoneOnReturn


class NumPy(DoneOnReturn, keras3.Keras3):
    def default_kernel(self, model: Any) -> str:
        return recurrent.LOOP  # of Python

    def device(self, model: Any) -> str:
        return "cpu"


INTERFACE = NumPy
