"""The engines that have a process for each worker: of TensorFlow and PyTorch."""

import datetime
import functools
import json
import os
import socket
from typing import Any, Callable, Dict, FrozenSet, List, Optional

from kbench_guest.arrays import leaves, mapped
from kbench_guest.protocol import Refused
from kbench_workers.devices import MirroredDevices
from kbench_workers.several import Several

# Of a wait for the other workers: processes that take turns are stopped for long, and the host ends one that hangs.
FOREVER = datetime.timedelta(days=7)


class MirroredProcesses(MirroredDevices):
    """The same over processes, by MultiWorkerMirroredStrategy, which divides what each is given whole.

    What one of them computes waits for the others, so all do the same in the same order.
    """

    observes = True

    def start(self, about: Dict[str, Any], device: str) -> None:
        Several.start(self, about, device)
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


class TorchProcesses(Several):
    """Processes that PyTorch's DistributedDataParallel lets share their gradients, through gloo or NCCL."""

    _steps = 0  # of which the time for gradients was told

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
        self._steps = 0
        shared = self._shared = self._module.nn.parallel.DistributedDataParallel(module)
        for value, seed in zip(seeds, own):
            value.data.copy_(seed)
        shared._set_ddp_runtime_logging_sample_rate(1)
        kind, train_step = type(module), getattr(of_step, name)
        stack: List[bool] = []  # whether a call is DistributedDataParallel's own; empty outside a training step

        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            if not stack or stack[-1]:
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

    def mean_of_step(self, loss: float) -> float:
        return self.means({"loss": loss})["loss"]

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

    def of_epoch(self, steps: FrozenSet[int]) -> None:
        self.communication_seconds()  # what a step on trial took is no epoch's

    def communication_seconds(self) -> Optional[float]:
        # The average is of some steps of all epochs, so a total that follows from it may fall.
        about = self._shared._get_ddp_logging_data()
        nanoseconds, last = about.get("avg_backward_comm_time"), about.get("iteration", 0)
        steps = last + 1 if last else 0  # it is 0 before the first one, too
        steps, self._steps = steps - self._steps, steps
        return None if not nanoseconds else nanoseconds / 1e9 * steps
