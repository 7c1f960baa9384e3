"""The engines whose workers are devices of one process: of JAX, TensorFlow and MXNet."""

import functools
import os
import sys
from typing import Any, Dict, FrozenSet, List, Optional

import numpy as np

from kbench_guest.arrays import leaves, mapped
from kbench_guest.protocol import Refused
from kbench_workers.several import Devices


class NotedDevices(Devices):
    """Arrays of JAX, in which parts of a batch stand on devices."""

    _steps: FrozenSet[int] = frozenset()
    _next = 0

    def of_epoch(self, steps: FrozenSet[int]) -> None:
        self._steps, self._next = steps, 0
        self._seen: Dict[int, Any] = {}

    def note(self, batch: Any) -> None:
        """Called with the batch of each step."""
        if self._next in self._steps:
            self._seen[self._next] = list(batch)[:2]
        self._next += 1

    def parts_seen(self) -> Dict[int, List[Any]]:
        return {step: parts_of_jax(batch, self.count) for step, batch in self._seen.items()}


class JAXDevices(NotedDevices):
    """Keras's own DataParallel: a batch is divided among devices, and XLA compiles the step for all of them."""

    def start(self, about: Dict[str, Any], device: str) -> None:
        import jax
        import keras

        super().start(about, device)
        devices_of_jax(jax, self.count, device)
        names = keras.distribution.list_devices(device)[: self.count]
        keras.distribution.set_distribution(keras.distribution.DataParallel(devices=names))

    def join(self, model: Any) -> None:
        trainer: Any = sys.modules["keras.src.backend.jax.trainer"]
        distribute = getattr(trainer, "_distribute_data", None)
        if distribute is None:
            return

        @functools.wraps(distribute)
        def seen(data: Any, *args: Any, **kwargs: Any) -> Any:
            given = distribute(data, *args, **kwargs)
            self.note(given)
            return given

        trainer._distribute_data = seen


def devices_of_jax(jax: Any, count: int, device: str) -> List[Any]:
    """So many devices. Raises Refused."""
    if device == "cpu":
        # It has to be said before JAX computes for the first time, and older ones know the flag alone.
        if hasattr(jax.config, "jax_num_cpu_devices"):
            jax.config.update("jax_num_cpu_devices", count)
        else:
            flag = f"--xla_force_host_platform_device_count={count}"
            os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flag}".strip()
    found = jax.devices(device)[:count]
    if len(found) < count:
        raise Refused("device", f"JAX has {len(found)} devices of the kind {device}, where {count} are asked for")
    return list(found)


def parts_of_jax(batch: Any, count: int) -> List[Any]:
    """(inputs, targets) on each device, of arrays that are divided among them."""
    devices = sorted({one for array in leaves(batch) for one in array.devices()}, key=lambda one: int(one.id))

    def on(device: Any) -> Any:
        return mapped(
            lambda array: np.concatenate(
                [np.asarray(one.data) for one in array.addressable_shards if one.device == device]
                or [np.zeros((0,) + array.shape[1:])]
            ),
            batch,
        )

    found = [on(device) for device in devices]
    return found + [mapped(lambda array: np.zeros((0,) + array.shape[1:]), batch)] * (count - len(found))


class MirroredDevices(Devices):
    """TensorFlow's MirroredStrategy: each device has a copy of the model, and the copies add up their gradients."""

    def __init__(self, module: Any, copy_steps: bool) -> None:
        self._module, self.copy_steps = module, copy_steps

    def start(self, about: Dict[str, Any], device: str) -> None:
        super().start(about, device)
        config, kind = self._module.config, device.upper()
        if device == "cpu":
            (cpu,) = config.list_physical_devices("CPU")
            config.set_logical_device_configuration(cpu, [config.LogicalDeviceConfiguration()] * self.count)
        found = [one.name for one in config.list_logical_devices(kind)][: self.count]
        if len(found) < self.count:
            asked = f"where {self.count} are asked for"
            raise Refused("device", f"TensorFlow has {len(found)} devices of the kind {kind}, {asked}")
        self._enter(self._module.distribute.MirroredStrategy(found))

    def _enter(self, strategy: Any) -> None:
        self._strategy = strategy
        distribute = self._strategy.experimental_distribute_dataset

        @functools.wraps(distribute)
        def distributed(dataset: Any, *args: Any, **kwargs: Any) -> Any:
            self._dataset = distribute(dataset, *args, **kwargs)
            return self._dataset

        self._strategy.experimental_distribute_dataset = distributed
        self._scope = self._strategy.scope()
        self._scope.__enter__()  # until the process ends: whatever makes variables has to be in it

    def join(self, model: Any) -> None:
        tf = self._module
        kinds = {"synchronization": tf.VariableSynchronization.ON_READ, "trainable": False}
        self._counter = tf.Variable(0, dtype="int64", aggregation=tf.VariableAggregation.SUM, **kinds)
        train_step = model.train_step

        @functools.wraps(train_step)
        def step(data: Any) -> Any:
            x = data[0] if isinstance(data, (tuple, list)) else data
            if tf.distribute.in_cross_replica_context():
                return train_step(data)
            self._counter.assign_add(tf.shape(leaves(x)[0], out_type="int64")[0])
            return train_step(data)

        vars(model)["train_step"] = step

    def of_epoch(self, steps: FrozenSet[int]) -> None:
        self._steps, self._dataset = steps, None
        self._before = self._counts()

    def _counts(self) -> List[int]:
        return [int(one.numpy()) for one in self._strategy.experimental_local_results(self._counter)]

    def counted(self) -> Optional[List[int]]:
        return [now - before for now, before in zip(self._counts(), self._before)]

    def _on(self, place: int, value: Any) -> Any:
        return self._strategy.experimental_local_results(value)[place].numpy()

    def parts_seen(self) -> Dict[int, List[Any]]:
        """As the strategy hands them out once more, after the epoch; other processes wait for each of the steps."""
        found: Dict[int, List[Any]] = {}
        for number, batch in enumerate(self._dataset or ()):
            if number in self._steps:
                found[number] = [mapped(functools.partial(self._on, at), list(batch)[:2]) for at in range(self.here)]
            if self.here == self.count and number >= max(self._steps, default=0):
                break
        return found


class MXNetContexts(Devices):
    """A list of contexts, each with an executor of the graph; a KVStore adds up their gradients."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def start(self, about: Dict[str, Any], device: str) -> None:
        super().start(about, device)
        self.contexts = [f"{device}({number})" for number in range(self.count)]
        from keras.backend import mxnet_backend

        shipped = mxnet_backend._get_mxnet_context

        def contexts(asked: Any) -> Any:
            """Keras takes every "cpu(1)" for the first one, where all would wait for each other."""
            cpus = asked == self.contexts and device == "cpu"
            return [self._module.cpu(number) for number in range(self.count)] if cpus else shipped(asked)

        mxnet_backend._get_mxnet_context = contexts

    def join(self, model: Any) -> None:
        # Each executor's gradient is a mean over its own part, and the KVStore adds these up.
        model.optimizer.rescale_grad /= self.count

    def of_epoch(self, steps: FrozenSet[int]) -> None:
        self._steps = steps
        self._seen: Dict[int, List[Any]] = {}
        self._model: Any = None
        self._last = -1

    def step(self, number: int, model: Any) -> None:
        self._look()
        self._last, self._model = number, model

    def _look(self) -> None:
        """At what the executors hold of the step that was taken last."""
        if self._last not in self._steps:
            return
        module = self._model._module
        group = getattr(module, "_curr_module", module)._exec_group
        names = [one.name for one in self._model.inputs], list(self._model._label_names)
        targets = names[1][: len(self._model.outputs)]
        self._seen[self._last] = [
            [[exe.arg_dict[name].asnumpy() for name in names[0]], [exe.arg_dict[name].asnumpy() for name in targets]]
            for exe in group.execs
        ]

    def parts_seen(self) -> Dict[int, List[Any]]:
        self._look()
        self._last = -1
        return self._seen
