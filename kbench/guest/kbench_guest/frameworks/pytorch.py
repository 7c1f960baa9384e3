"""What PyTorch does, with Keras and without."""

from typing import Any, ContextManager, Dict, Optional, Set

from kbench_guest.device import Pending
from kbench_guest.frameworks import recurrent


class PyTorchMixin:
    module: Any
    kernels_at_first = False

    def kernels_seen(self, model: Any) -> ContextManager[Set[str]]:
        compiled = getattr(model, "jit_compile", False)  # it would be compiled anew
        return recurrent.called({}) if compiled else recurrent.in_torch()

    def default_kernel(self, model: Any) -> str:
        return recurrent.UNROLLED if getattr(model, "jit_compile", False) else recurrent.LOOP

    def wait(self, model: Any, outputs: Any = None) -> None:
        if self.module.cuda.is_available():
            self.module.cuda.synchronize()

    def pending(self, outputs: Any) -> Optional[Pending]:
        if not self.module.cuda.is_available():
            return None
        event = self.module.cuda.Event(blocking=True)  # one that does not spin
        event.record()
        return event.query, event.synchronize

    def allocator_peak_bytes(self, model: Any) -> Optional[int]:
        return self.module.cuda.max_memory_allocated()

    def threads(self) -> Dict[str, Any]:
        return {"intra_op": self.module.get_num_threads(), "inter_op": self.module.get_num_interop_threads()}
