"""Which engine lets the workers of a cell train together."""

import functools
from typing import Any, Callable, Dict

from kbench_guest.protocol import Refused
from kbench_workers import devices, processes, twins
from kbench_workers.several import Several


def mirrored(module: Any, count: int, copy_steps: bool) -> Several:
    """TensorFlow's strategy, for workers in so many processes.

    copy_steps: whether Keras's `train_on_batch` gives each of them the whole batch.
    """
    kind = devices.MirroredDevices if count == 1 else processes.MirroredProcesses
    return kind(module, copy_steps)


# By the framework's interface: what makes its engine, of the framework's module and the number of processes.
ENGINES: Dict[str, Callable[[Any, int], Several]] = {
    "kbench_guest.frameworks.keras3_tensorflow.TensorFlow2": functools.partial(mirrored, copy_steps=True),
    "kbench_guest.frameworks.keras2_tensorflow2.TensorFlow2": functools.partial(mirrored, copy_steps=False),
    "kbench_guest.frameworks.keras3_jax.JAX": lambda module, count: devices.JAXDevices(),
    "kbench_guest.frameworks.keras3_torch.PyTorch": lambda module, count: processes.TorchProcesses(module),
    "kbench_guest.frameworks.keras2_mxnet.MXNet": lambda module, count: devices.MXNetContexts(module),
    "kbench_native.framework.JAX": lambda module, count: twins.JAXTwin(),
    "kbench_native.framework.PyTorch": lambda module, count: twins.TorchTwin(module),
    "kbench_native.framework.MXNet": lambda module, count: twins.GluonContexts(module),
}


def started(framework: Any, spec: Dict[str, Any]) -> Several:
    """The workers of this process, before the framework computes. Raises Refused if it cannot train with so many."""
    about = spec["workers"]
    if spec["batch_size"] % about["count"]:
        cannot = "a batch of %d cannot be divided among %d workers"
        raise Refused("unsupported", cannot % (spec["batch_size"], about["count"]))
    for kind in type(framework).__mro__:
        made = ENGINES.get(f"{kind.__module__}.{kind.__qualname__}")
        if made is not None:
            workers = made(framework.module, about["processes"])
            workers.start(about, spec["device"])
            return workers
    raise Refused("unsupported", "kbench does not train with several workers on it")
