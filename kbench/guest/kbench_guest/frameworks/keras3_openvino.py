"""Keras 3 on OpenVINO, which only infers."""

from typing import Any, ContextManager, Dict, Optional, Set

from kbench_guest.frameworks import recurrent
from kbench_guest.frameworks.interface import DoneOnReturn
from kbench_guest.frameworks.keras3 import Keras3


class OpenVINO(DoneOnReturn, Keras3):
    def prepare(self) -> None:
        """Make it compute in float32, as the others do: by default it takes bfloat16 if the processor has that."""
        compile_model = self.module.compile_model

        def in_float32(model: Any, device_name: str = "AUTO", config: Optional[Dict[str, Any]] = None) -> Any:
            return compile_model(model, device_name, dict(config or {}, INFERENCE_PRECISION_HINT="f32"))

        self.module.compile_model = in_float32

    def kernels_seen(self, model: Any) -> ContextManager[Set[str]]:
        return recurrent.called(recurrent.OF_OPENVINO)

    def default_kernel(self, model: Any) -> str:
        return recurrent.UNROLLED

    def device(self, model: Any) -> str:
        from keras.src.backend.openvino.core import get_device

        return "cpu" if get_device() == "CPU" else "gpu"


INTERFACE = OpenVINO
