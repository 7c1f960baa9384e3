"""The engines of several workers that train a twin: of JAX, MXNet and PyTorch."""

import functools
from typing import Any, Dict, FrozenSet, List

import numpy as np

from kbench_guest.arrays import mapped
from kbench_guest.protocol import Refused
from kbench_workers.devices import NotedDevices, devices_of_jax
from kbench_workers.processes import TorchProcesses
from kbench_workers.several import Devices


class JAXTwin(NotedDevices):
    """JAX without Keras: the state is on all devices, batches are divided among them, and XLA compiles the rest."""

    def start(self, about: Dict[str, Any], device: str) -> None:
        import jax

        super().start(about, device)
        self._jax = jax
        mesh = jax.sharding.Mesh(np.array(devices_of_jax(jax, self.count, device)), ("batch",))
        self._whole = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
        self._divided = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("batch"))

    def join(self, model: Any) -> None:
        def on_all(value: Any) -> Any:
            return self._jax.device_put(value, self._whole) if isinstance(value, self._jax.Array) else value

        model.train_on(*self._jax.tree_util.tree_map(on_all, model.state()))
        train = model.train_function

        def step(x: Any, y: Any) -> Any:
            given = mapped(lambda one: self._jax.device_put(one, self._divided), [x, y])
            self.note(given)
            return train(*given)

        model.train_function = step


class GluonContexts(Devices):
    """Gluon's own way: parameters on a list of contexts, among which the twin splits its batch; the KVStore of its
    Trainer adds up their gradients.
    """

    def __init__(self, module: Any) -> None:
        self._module = module

    def start(self, about: Dict[str, Any], device: str) -> None:
        super().start(about, device)
        self._contexts = [getattr(self._module, device)(number) for number in range(self.count)]
        self.of_epoch(frozenset())
        split = self._module.gluon.utils.split_and_load

        @functools.wraps(split)
        def seen(array: Any, *args: Any, **kwargs: Any) -> Any:
            parts = split(array, *args, **kwargs)
            if self._next in self._steps:
                self._seen.setdefault(self._next, []).append(parts)
            return parts

        self._module.gluon.utils.split_and_load = seen

    def join(self, model: Any) -> None:
        net, trainer = model.state()
        model.set_in_file("CONTEXTS", self._contexts)
        net.collect_params().reset_ctx(self._contexts)
        model.train_on(net, self._module.gluon.Trainer(net.collect_params(), trainer.optimizer))

    def of_epoch(self, steps: FrozenSet[int]) -> None:
        self._steps, self._next = steps, -1
        self._seen: Dict[int, List[Any]] = {}

    def step(self, number: int, model: Any) -> None:
        self._next = number

    def parts_seen(self) -> Dict[int, List[Any]]:
        """Inputs and targets, as the twin has split them."""
        return {
            step: [[one.asnumpy() for one in part] for part in zip(*arrays)] for step, arrays in self._seen.items()
        }


class TorchTwin(TorchProcesses):
    """PyTorch without Keras: DistributedDataParallel around the twin's module."""

    def join(self, model: Any) -> None:
        modules = model.inside(self._module.nn.Module)
        if len(modules) != 1:
            raise Refused("unsupported", "DistributedDataParallel takes one module, which this twin is not")
        self.share(modules[0], model, "train_function")
