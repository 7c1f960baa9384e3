"""Keras 3 on PyTorch, which runs eagerly."""

import contextlib
from typing import Any, Iterator

from kbench_guest.frameworks import keras_models
from kbench_guest.frameworks.keras3 import Keras3
from kbench_guest.frameworks.pytorch import PyTorchMixin


class PyTorch(PyTorchMixin, Keras3):
    supports_run_eagerly = False  # it runs eagerly unless jit_compile is on
    several_steps = keras_models.KerasModels.several_steps  # Keras 3 refuses it there

    @contextlib.contextmanager
    def random_state(self, model: Any) -> Iterator[None]:
        looks = not model._compile_loss.built
        with self.module.random.fork_rng():
            yield
        if looks:  # a fit takes a first batch to build its loss, for which PyTorch's DataLoader draws a number
            self.module.empty((), dtype=self.module.int64).random_()

    def device(self, model: Any) -> str:
        return "gpu" if model.weights[0].value.device.type == "cuda" else "cpu"


INTERFACE = PyTorch
