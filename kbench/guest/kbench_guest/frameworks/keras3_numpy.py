"""Keras 3 on NumPy, which convolves and pools with JAX and waits for it."""

import sys
from typing import Any

from kbench_guest.frameworks import keras3, recurrent
from kbench_guest.frameworks.interface import DoneOnReturn
from kbench_guest.protocol import Refused


class NumPy(DoneOnReturn, keras3.Keras3):
    def default_kernel(self, model: Any) -> str:
        return recurrent.LOOP  # of Python

    def set_policy(self, policy: str) -> None:
        """In float64 all is computed in it: by itself Keras takes float32 for most results, and JAX for all."""
        super().set_policy(policy)
        if policy == "float64":
            getattr(sys.modules.get("keras.src.backend.common.dtypes"), "BIT64_TO_BIT32_DTYPE", {}).pop(policy, None)
            sys.modules["jax"].config.update("jax_enable_x64", True)

    def set_jit(self, model: Any, on: bool) -> None:
        if on:
            raise Refused("unsupported", "NumPy compiles nothing, whatever jit_compile is")
        super().set_jit(model, on)

    def device(self, model: Any) -> str:
        return "cpu"


INTERFACE = NumPy
