"""Keras 2 on TensorFlow 1."""

import os
import re
from typing import Any, Dict, List, Optional, Set

from keras import backend as K

from kbench_guest.frameworks import recurrent
from kbench_guest.frameworks.interface import DoneOnReturn
from kbench_guest.frameworks.keras2 import Keras2


class TensorFlow1(DoneOnReturn, Keras2):
    """Its session returns when the work is done."""

    def order_updates(self, made: Any) -> None:
        """Make an optimizer compute the loss and all gradients before any weight changes, and count the step last.

        TensorFlow 1 does not order these by itself: a gradient or a regularizer's loss may be computed with a kernel
        of the next step, and Adam may begin with step 2. TensorFlow's own optimizers order gradients (gate_gradients
        of tf.train.Optimizer).
        """
        import tensorflow

        gradients, updates = made.get_gradients, made.get_updates

        def get_gradients(loss: Any, params: Any) -> Any:
            return tensorflow.tuple([*gradients(loss, params), loss])[:-1]

        def get_updates(loss: Any, params: Any) -> Any:
            _, *others = updates(loss=loss, params=params)  # the first one counts the step
            with tensorflow.control_dependencies(others):
                counted = K.update_add(made.iterations, 1)
            made.updates = [counted] + others
            return made.updates

        made.get_gradients, made.get_updates = get_gradients, get_updates

    def order_of_updates(self, ordered: bool) -> str:
        return "in order" if ordered else "in no fixed order"

    def seed_backend(self, number: int) -> None:
        self.module.set_random_seed(number)

    def device(self, model: Any) -> str:
        gpu = any(device.device_type == "GPU" for device in K.get_session().list_devices())
        return "gpu" if gpu and self.module.test.is_built_with_cuda() else "cpu"

    def optimizer_variables(self, optimizer: Any) -> List[Any]:
        # Of moving averages that are corrected for their start at zero: the sum of each, and its number of steps.
        # A layer that is called again has others, with a number.
        own = re.compile(r"/(biased|local_step)(_\d+)?:0$")
        averages = [one for one in self.module.global_variables() if own.search(one.name)]
        return super().optimizer_variables(optimizer) + averages

    def kernels_compiled(self, model: Any) -> Set[str]:
        kinds = {operation.type for operation in K.get_session().graph.get_operations()}
        return recurrent.of_operations(kinds) or {recurrent.UNROLLED}

    def allocator_peak_bytes(self, model: Any) -> Optional[int]:
        with self.module.device("/gpu:0"):
            peak = self.module.contrib.memory_stats.MaxBytesInUse()
        return int(K.get_session().run(peak))

    def threads(self) -> Dict[str, Any]:
        from keras.backend import tensorflow_backend

        if tensorflow_backend._SESSION is None:  # what Keras will give it
            return {"intra_op": int(os.environ.get("OMP_NUM_THREADS") or 0), "inter_op": 0}
        held = tensorflow_backend._SESSION._config
        return {"intra_op": held.intra_op_parallelism_threads, "inter_op": held.inter_op_parallelism_threads}


INTERFACE = TensorFlow1
