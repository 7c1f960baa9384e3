"""What TensorFlow 2 does, with Keras and without."""

from typing import Any, ContextManager, Dict, Optional, Set

from kbench_guest.device import Pending
from kbench_guest.frameworks import recurrent


class TensorFlow2Mixin:
    module: Any

    def kernels_seen(self, model: Any) -> ContextManager[Set[str]]:
        return recurrent.in_tensorflow_functions()

    def default_kernel(self, model: Any) -> str:
        return "" if getattr(model, "run_eagerly", False) else recurrent.UNROLLED

    def pending(self, outputs: Any) -> Optional[Pending]:
        return None

    def threads(self) -> Dict[str, Any]:
        of = self.module.config.threading
        return {"intra_op": of.get_intra_op_parallelism_threads(), "inter_op": of.get_inter_op_parallelism_threads()}
