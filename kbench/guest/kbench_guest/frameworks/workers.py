"""Several workers that train one model together, each on its part of every batch: each framework's own engine for it.

After every step all have the same weights. Either one process holds all of them, each on a device of its own, or each
is a process. Which it is says the backend's file.
"""

import datetime
import functools
import json
import os
import socket
import sys
from typing import Any, Callable, Dict, FrozenSet, List, Optional

import numpy as np

from kbench_guest.arrays import leaves, mapped
from kbench_guest.protocol import Refused

# Of a wait for the other workers: processes that take turns are stopped for long, and the host ends one that hangs.
FOREVER = datetime.timedelta(days=7)


class Workers:
    """As they are in a process that trains alone."""

    count = 1
    rank = 0  # of the first worker in this process
    here = 1  # workers in this process

    @property
    def observes(self) -> bool:
        """Whether this process looks at the model before and after its training: another would see the same."""
        return self.rank == 0

    def start(self, about: Dict[str, Any], device: str) -> None:
        """Called once before the framework computes. about: of the spec; device: 'cpu' or 'gpu'."""
        self.count, self.rank = about["count"], about["rank"]
        self.here = self.count // about["processes"]

    def join(self, model: Any) -> None:
        """Let the model, which is compiled and has its weights, train with the other workers."""

    def leave(self) -> None:
        """The training is over: what the model still computes, it computes alone."""

    def meet(self) -> None:
        """Wait for the other processes."""

    def means(self, values: Dict[str, float]) -> Dict[str, float]:
        """The means of these values over all processes."""
        return values

    def mean_of_step(self, loss: float) -> float:
        """The loss of a step that was taken before the training, as Keras reports it."""
        return loss

    def of_first(self, ask: Callable[[], Any]) -> Any:
        """What ask() returns in the process of the first worker, which alone asks."""
        return ask()

    def of_epoch(self, steps: FrozenSet[int]) -> None:
        """An epoch begins; the parts of these steps' batches are kept, the first is 0."""

    def step(self, number: int, model: Any) -> None:
        """Called before each step of the epoch."""

    def parts_seen(self) -> Dict[int, List[Any]]:
        """{step: [the part of its batch, (inputs, targets), of each worker in this process]} of the steps to be kept,
        as far as the framework shows it."""
        return {}

    def counted(self) -> Optional[List[int]]:
        """How many samples each worker in this process has counted in this epoch; None if none counts."""
        return None

    def communication_seconds(self) -> Optional[float]:
        """What this process has spent on gradients of the others so far; None if the framework does not say."""
        return None

    def cut(self, batch: Any) -> List[Any]:
        """The parts of a batch, that this process was given, for the workers in it."""
        size = len(leaves(batch[0])[0]) // self.here
        return [mapped(lambda one, at=number * size: one[at : at + size], list(batch)) for number in range(self.here)]


class NotHere(Workers):
    """A framework for which nobody knows how."""

    def start(self, about: Dict[str, Any], device: str) -> None:
        raise Refused("unsupported", "kbench does not train with several workers on it")


class Devices(Workers):
    """All workers are in this process."""

    def start(self, about: Dict[str, Any], device: str) -> None:
        super().start(about, device)
        if self.here != self.count:
            raise Refused("unsupported", "its engine holds all workers in one process")


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


class MirroredDevices(Devices):
    """TensorFlow's MirroredStrategy: each device has a copy of the model, and the copies add up their gradients."""

    def __init__(self, module: Any) -> None:
        self._module = module

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


class MirroredProcesses(MirroredDevices):
    """The same over processes, by MultiWorkerMirroredStrategy, which divides what each is given whole.

    What one of them computes waits for the others, so all do the same in the same order.
    """

    observes = True

    def start(self, about: Dict[str, Any], device: str) -> None:
        Workers.start(self, about, device)
        if self.here != 1:
            raise Refused("unsupported", "its engine has a process for each worker")
        task = {"type": "worker", "index": self.rank}
        os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": about["addresses"]}, "task": task})
        self._enter(self._module.distribute.MultiWorkerMirroredStrategy())

    def cut(self, batch: Any) -> List[Any]:
        size = len(leaves(batch[0])[0]) // self.count
        return [mapped(lambda one: one[self.rank * size : (self.rank + 1) * size], list(batch))]

    def mean_of_step(self, loss: float) -> float:
        return loss / self.count  # `train_on_batch` adds up what its processes report

    def meet(self) -> None:
        one = self._module.constant(1.0)
        self._strategy.reduce("SUM", self._strategy.run(lambda: one), axis=None)


class MXNetContexts(Devices):
    """A list of contexts, each with an executor of the graph; a KVStore adds up their gradients."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def start(self, about: Dict[str, Any], device: str) -> None:
        super().start(about, device)
        self.names = [f"{device}({number})" for number in range(self.count)]
        from keras.backend import mxnet_backend

        shipped = mxnet_backend._get_mxnet_context

        def contexts(asked: Any) -> Any:
            """Keras takes every "cpu(1)" for the first one, where all would wait for each other."""
            cpus = asked == self.names and device == "cpu"
            return [self._module.cpu(number) for number in range(self.count)] if cpus else shipped(asked)

        mxnet_backend._get_mxnet_context = contexts

    def join(self, model: Any) -> None:
        # Each executor's gradient is a mean over its own part, and the KVStore adds these up.
        self._optimizer, self._scale = model.optimizer, model.optimizer.rescale_grad
        model.optimizer.rescale_grad = self._scale / self.count

    def leave(self) -> None:
        self._optimizer.rescale_grad = self._scale

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


class TorchProcesses(Workers):
    """Processes that PyTorch's DistributedDataParallel lets share their gradients, through gloo or NCCL."""

    _left = False

    def __init__(self, module: Any) -> None:
        self._module = module

    def start(self, about: Dict[str, Any], device: str) -> None:
        super().start(about, device)
        if self.here != 1:
            raise Refused("unsupported", "its engine has a process for each worker")
        host, _, port = about["addresses"][0].rpartition(":")
        if host.startswith("127."):
            os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        elif about.get("interface"):  # or they take that of this machine's name, which others may not reach
            for name in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"):
                os.environ.setdefault(name, about["interface"])
        import torch.distributed as together

        listens: Dict[str, Any] = {}
        if self.rank == 0:  # its own would listen to the whole network
            self._socket = socket.socket()
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind((host, int(port)))
            self._socket.listen(self.count)
            listens = {"is_master": True, "master_listen_fd": self._socket.detach()}
        store = together.TCPStore(host, int(port), self.count, timeout=FOREVER, **listens)
        kind = "nccl" if device == "gpu" else "gloo"
        together.init_process_group(kind, store=store, rank=self.rank, world_size=self.count, timeout=FOREVER)
        self._together = together
        self._device = "cuda" if device == "gpu" else "cpu"

    def join(self, model: Any) -> None:
        self.share(model, model, "train_step")

    def share(self, module: Any, of_step: Any, name: str) -> None:
        """Let the training step, the attribute of this name, call the module through DistributedDataParallel.

        Its gradients are then means over all workers.
        """
        # It gives all workers the first one's parameters, to which Keras counts what dropout is seeded with.
        seeds = [value for value in module.parameters() if not value.is_floating_point()]
        own = [value.detach().clone() for value in seeds]
        shared = self._shared = self._module.nn.parallel.DistributedDataParallel(module)
        for value, seed in zip(seeds, own):
            value.data.copy_(seed)
        shared._set_ddp_runtime_logging_sample_rate(1)
        kind, train_step = type(module), getattr(of_step, name)
        stack: List[bool] = []  # whether a call is DistributedDataParallel's own; empty outside a training step

        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            if not stack or stack[-1] or self._left:
                return kind.__call__(module, *args, **kwargs)
            stack.append(True)
            try:
                return shared(*args, **kwargs)
            finally:
                stack.pop()

        @functools.wraps(train_step)
        def step(*args: Any, **kwargs: Any) -> Any:
            stack.append(False)
            try:
                return train_step(*args, **kwargs)
            finally:
                stack.pop()

        module.__class__ = type(kind.__name__, (kind,), {"__call__": call, "__module__": kind.__module__})
        vars(of_step)[name] = step

    def leave(self) -> None:
        self._left = True

    def meet(self) -> None:
        self._together.barrier()

    def means(self, values: Dict[str, float]) -> Dict[str, float]:
        names = sorted(values)
        numbers = self._module.tensor([float(values[name]) for name in names], dtype=self._module.float64)
        numbers = numbers.to(self._device)
        self._together.all_reduce(numbers)
        return {name: float(number) / self.count for name, number in zip(names, numbers)}

    def of_first(self, ask: Callable[[], Any]) -> Any:
        held = [ask() if self.rank == 0 else None]
        self._together.broadcast_object_list(held, src=0)
        return held[0]

    def communication_seconds(self) -> Optional[float]:
        about = self._shared._get_ddp_logging_data()
        nanoseconds = about.get("avg_backward_comm_time")
        return None if not nanoseconds else nanoseconds / 1e9 * (about.get("iteration", 0) + 1)


class TorchTwin(TorchProcesses):
    """The same without Keras."""

    def join(self, model: Any) -> None:
        modules = model.inside(self._module.nn.Module)
        if len(modules) != 1:
            raise Refused("unsupported", "DistributedDataParallel takes one module, which this twin is not")
        self.share(modules[0], model, "train_function")
