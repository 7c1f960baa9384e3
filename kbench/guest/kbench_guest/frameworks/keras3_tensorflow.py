"""Keras 3 on TensorFlow 2."""

import functools
from typing import Any, Callable, Optional

from kbench_guest.frameworks.keras3 import Keras3
from kbench_guest.frameworks.tensorflow2 import TensorFlow2Mixin


class TensorFlow2(TensorFlow2Mixin, Keras3):
    _compilations = 0

    def step_hook(self, model: Any, kind: str, wrap: Callable[..., Any]) -> None:
        super().step_hook(model, kind, wrap)
        if kind == "train":
            train_step = model.train_step

            @functools.wraps(train_step)
            def step(*args: Any, **kwargs: Any) -> Any:
                self._compilations += self.module.inside_function()  # only while it is traced
                return train_step(*args, **kwargs)

            vars(model)["train_step"] = step

    def compilations(self) -> Optional[int]:
        return self._compilations

    def device(self, model: Any) -> str:
        return "gpu" if "GPU" in model.weights[0].value.device else "cpu"

    def wait(self, model: Any, outputs: Any = None) -> None:
        if outputs is None:  # at the end of an epoch the logs have been read, which waits
            return
        if self.workers.here < self.workers.count:  # on other machines, of which it does not know
            super().wait(model, outputs)
        else:
            self.module.test.experimental.sync_devices()

    def allocator_peak_bytes(self, model: Any) -> Optional[int]:
        return self.module.config.experimental.get_memory_info("GPU:0")["peak"]


INTERFACE = TensorFlow2
