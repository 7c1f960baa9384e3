"""Keras 3 on JAX, whose functions return before their work is done."""

import contextlib
import functools
import sys
from typing import Any, Callable, ContextManager, Iterator, Optional, Set

import numpy as np

from kbench_guest.device import Pending
from kbench_guest.frameworks import recurrent
from kbench_guest.frameworks.keras3 import Keras3

# Options of XLA: about two fifths of the time that it takes to compile a step.
QUICKLY = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


class JAX(Keras3):
    _compilations: Optional[int] = None  # not asked yet

    def _count(self, event: str, seconds: float, **more: Any) -> None:
        self._compilations += event.endswith("backend_compile_duration")

    def compilations(self) -> Optional[int]:
        if self._compilations is None:
            self._compilations = 0
            self.module.monitoring.register_event_duration_secs_listener(self._count)
        return self._compilations

    def kernels_seen(self, model: Any) -> ContextManager[Set[str]]:
        return recurrent.called(recurrent.OF_JAX)

    def default_kernel(self, model: Any) -> str:
        return "" if model.run_eagerly else recurrent.UNROLLED

    def when_run(self, ask: Callable[[], float]) -> Any:
        one = self.module.ShapeDtypeStruct((), np.float32)
        return self.module.pure_callback(lambda: np.float32(ask()), one)

    @contextlib.contextmanager
    def cheap_steps(self, model: Any) -> Iterator[None]:
        """Compiled without optimization: run eagerly, each kind of operation would be compiled alone."""
        trainer: Any = sys.modules["keras.src.backend.jax.trainer"]
        compile_ = getattr(trainer, "jit", None)
        if compile_ is not self.module.jit or self.device(model) != "cpu":
            yield
            return
        trainer.jit = functools.partial(compile_, compiler_options=QUICKLY)
        try:
            yield
        finally:
            trainer.jit = compile_

    def device(self, model: Any) -> str:
        platforms = {device.platform for device in model.weights[0].value.devices()}
        return "cpu" if platforms == {"cpu"} else "gpu"

    def wait(self, model: Any, outputs: Any = None) -> None:
        # During fit, only the outputs have the current weights. What a later step, as of a validation, has taken over
        # cannot be waited for: it is deleted, and was done when that step began.
        waited = [weight.value for weight in model.weights] if outputs is None else outputs
        arrays = self.module.tree_util.tree_leaves(waited)
        self.module.block_until_ready([one for one in arrays if not getattr(one, "is_deleted", bool)()])

    def pending(self, outputs: Any) -> Optional[Pending]:
        results, _ = outputs  # the state is handed on to the next step and can be waited for no more
        arrays = self.module.tree_util.tree_leaves(results)

        def is_done() -> bool:
            return all(array.is_ready() for array in arrays)

        return is_done, functools.partial(self.module.block_until_ready, arrays)

    def allocator_peak_bytes(self, model: Any) -> Optional[int]:
        held = [(device.memory_stats() or {}).get("peak_bytes_in_use") for device in model.weights[0].value.devices()]
        return max((one for one in held if one is not None), default=None)


INTERFACE = JAX
