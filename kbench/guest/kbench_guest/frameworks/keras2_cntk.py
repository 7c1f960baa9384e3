"""Keras 2 on CNTK."""

from typing import Any, Set

from kbench_guest.frameworks import recurrent
from kbench_guest.frameworks.interface import DoneOnReturn
from kbench_guest.frameworks.keras2 import Keras2


class CNTK(DoneOnReturn, Keras2):
    def correct_normalization(self) -> None:
        """In training Keras hands BatchNormalization's epsilon on as the axis, which is ignored: it stays 0.001."""
        from keras.backend import cntk_backend

        shipped = cntk_backend.batch_normalization

        def batch_normalization(x: Any, mean: Any, var: Any, beta: Any, gamma: Any, epsilon: float) -> Any:
            return shipped(x, mean, var, beta, gamma, epsilon=epsilon)

        cntk_backend.batch_normalization = batch_normalization  # which only normalize_batch_in_training finds there

    def seed_backend(self, number: int) -> None:
        self.module.cntk_py.set_fixed_random_seed(number)

    def device(self, model: Any) -> str:
        device = self.module.device
        return "cpu" if device.use_default_device().type() == device.DeviceKind.CPU else "gpu"

    def kernels_compiled(self, model: Any) -> Set[str]:
        return recurrent.of_cntk(model.outputs)


INTERFACE = CNTK
