"""How much of a GPU's memory a cell's processes hold, as the driver reports through NVML."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from typing import Any

from kbench.machine.devices import driver

# Whose memory was read: that of the cell's processes, or the whole device's beyond what was held there before.
PROCESS = "process"
DEVICE = "device"


class DeviceMemory:
    """The most memory on one GPU that some processes held, of all looks at it.

    If the driver does not report it by process, as in a container that has process numbers of its own, it is what
    the whole device holds beyond what it held before: another program's memory counts then, too.
    """

    def __init__(self, index: int, nvml: Any = None) -> None:
        """index: of the GPU, as the driver counts; nvml: the module that answers, pynvml unless another is given."""
        self._nvml: Any = None
        self._open = contextlib.ExitStack()
        self._of_processes = self._of_device = 0
        with contextlib.suppress(Exception):  # no driver: nothing is seen
            self._nvml = nvml = self._open.enter_context(driver(nvml))
            self._handle = nvml.nvmlDeviceGetHandleByIndex(index)
            self._before: int = nvml.nvmlDeviceGetMemoryInfo(self._handle).used

    def look(self, pids: Collection[int]) -> None:
        """Look at what these processes hold now."""
        if self._nvml is None:
            return
        with contextlib.suppress(Exception):  # a driver may know one of the two only
            running = self._nvml.nvmlDeviceGetComputeRunningProcesses(self._handle)
            own = sum(one.usedGpuMemory or 0 for one in running if one.pid in pids)
            self._of_processes = max(self._of_processes, own)
        with contextlib.suppress(Exception):
            used = self._nvml.nvmlDeviceGetMemoryInfo(self._handle).used
            self._of_device = max(self._of_device, used - self._before)

    @property
    def peak_mib(self) -> float | None:
        """None if nothing was seen."""
        return (self._of_processes or self._of_device) / 2**20 or None

    @property
    def source(self) -> str:
        """PROCESS or DEVICE, whose memory `peak_mib` is; empty if nothing was seen."""
        return PROCESS if self._of_processes else DEVICE if self._of_device else ""

    def close(self) -> None:
        """Let go of the driver."""
        self._nvml = None
        with contextlib.suppress(Exception):
            self._open.close()
