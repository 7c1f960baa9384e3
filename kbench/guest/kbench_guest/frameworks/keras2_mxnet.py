"""Keras 2 on MXNet: keras-mxnet has kernels as (filters, inputs, rows, columns) where images are channels_first."""

import copy
import functools
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

import numpy as np
from keras import backend as K

from kbench_guest.device import Pending
from kbench_guest.frameworks import recurrent
from kbench_guest.frameworks.keras2 import Keras2, is_kernel
from kbench_guest.protocol import Refused


class MXNet(Keras2):
    # In RMSprop it divides by sqrt(v + epsilon), as Keras 3 does.
    epsilon_under_root = True

    def correct_normalization(self) -> None:
        """As Keras calls MXNet's own layer, it takes gamma for 1 and never trains it."""
        from keras.layers import BatchNormalization

        shipped, symbol, batch_norm = BatchNormalization.call, self.module.sym, self.module.sym.BatchNorm

        def call(layer: Any, *args: Any, **given: Any) -> Any:
            symbol.BatchNorm = functools.partial(batch_norm, fix_gamma=not layer.scale)
            return shipped(layer, *args, **given)

        BatchNormalization.call = call

    def wait(self, model: Any, outputs: Any = None) -> None:
        self.module.nd.waitall()

    def pending(self, outputs: Any) -> Optional[Pending]:
        return None  # the loss has been read

    def seed_backend(self, number: int) -> None:
        self.module.random.seed(number)

    def device(self, model: Any) -> str:
        contexts = getattr(model, "_context", None) or []
        if not contexts:  # a model that is not compiled runs where MXNet puts it
            contexts = [self.module.gpu(0) if self.module.context.num_gpus() else self.module.cpu()]
        return contexts[0].device_type

    def kernels_compiled(self, model: Any) -> Set[str]:
        return recurrent.of_mxnet([output.symbol for output in model.outputs])

    def compile_options(self, device: str) -> Dict[str, Any]:
        if self.workers.contexts:
            return {"context": list(self.workers.contexts)}
        return {"context": ["gpu(0)"]} if device == "gpu" else {}  # the one GPU that the host lets this process see

    def make_optimizer(self, class_name: str, rate: Any, decay: float, settings: Dict[str, Any]) -> Any:
        if "global_clipnorm" in settings:
            raise Refused(
                "unsupported", "keras-mxnet's clipnorm clips each number of a gradient, not the norm of all"
            )
        return super().make_optimizer(class_name, rate, decay, settings)

    def one_number(self, rank: int) -> Any:
        return K.variable(np.zeros((1,) * rank))  # it has no scalars

    def optimizer_on_trial(self, model: Any) -> Any:
        copied = copy.deepcopy(model.optimizer)  # it counts steps in itself
        self._count_anew(copied)
        return copied

    @staticmethod
    def _count_anew(optimizer: Any) -> None:
        optimizer._index_update_count.clear()
        optimizer.num_update = optimizer.begin_num_update

    def updates(self, model: Any) -> Optional[int]:
        return int(model.optimizer.num_update)

    def optimizer_variables(self, optimizer: Any) -> List[Any]:
        return []

    def restart_optimizer(self, tried: Any) -> None:
        if self.workers.count > 1:  # a KVStore has weights and slots of its own, which a new binding makes anew
            tried._sync_weights()
            tried._module._reset_bind()
            tried._module.optimizer_initialized = tried._module.params_initialized = False
            self._count_anew(tried.optimizer)
            return
        module = getattr(tried._module, "_curr_module", None)
        if module is not None and module.optimizer_initialized:
            module._updater.states.clear()
            self._count_anew(module._updater.optimizer)

    def set_values(self, weights: Any, values: Any) -> None:
        super().set_values(weights, values)
        self.values(weights)  # or the next compile takes the moving averages from before

    def values(self, weights: Sequence[Any]) -> List[Any]:
        self.module.nd.waitall()  # it does not wait for moving averages, which the backward pass writes
        return super().values(weights)

    def end_trial(self, model: Any) -> None:
        """Copy the weights back to where the model takes them from, and be asked for them there again."""
        from keras.backend import mxnet_backend

        self.values(model.weights)
        mxnet_backend.set_model(model)

    def shared_shape(self, owner: Any, name: Optional[str], shape: Any) -> Tuple[Any, ...]:
        return tuple(shape[axis] for axis in self._axes(owner, name, len(shape)))

    def to_shared(self, owner: Any, name: Optional[str], value: Any) -> Any:
        return value.transpose(self._axes(owner, name, value.ndim))

    def from_shared(self, owner: Any, name: Optional[str], value: Any) -> Any:
        return value.transpose(np.argsort(self._axes(owner, name, value.ndim)))

    def _axes(self, owner: Any, name: Optional[str], rank: int) -> Tuple[int, ...]:
        """Which of the backend's axes comes first, second, ... in the shared layout."""
        if name == "depthwise_kernel" and owner.data_format == "channels_first":
            return (2, 3, 0, 1)
        filters_first = is_kernel(owner, name) and owner.data_format == "channels_first"
        return tuple(range(2, rank)) + (1, 0) if filters_first else tuple(range(rank))


INTERFACE = MXNet
