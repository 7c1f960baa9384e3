"""Measures the GPU memory of a cell's processes through NVML."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from typing import Any

from kbench.machine.devices import driver

# Whose memory was read: that of the cell's processes, or the increase on the whole device.
PROCESS = "process"
DEVICE = "device"


class DeviceMemory:
    """The peak memory of some processes on one GPU, over all calls of `sample`.

    If the driver does not report memory by process, as in a container, it is the increase on the whole device, which
    includes other programs.
    """

    def __init__(self, index: int, nvml: Any = None) -> None:
        """index: of the GPU, as the driver counts; nvml replaces the module pynvml in tests."""
        self._nvml: Any = None
        self._open = contextlib.ExitStack()
        self._of_processes = self._of_device = 0
        with contextlib.suppress(Exception):  # no driver: nothing is measured
            self._nvml = nvml = self._open.enter_context(driver(nvml))
            self._handle = nvml.nvmlDeviceGetHandleByIndex(index)
            self._before: int = nvml.nvmlDeviceGetMemoryInfo(self._handle).used

    def sample(self, pids: Collection[int]) -> None:
        """What these processes hold now."""
        if self._nvml is None:
            return
        with contextlib.suppress(Exception):  # a driver may report only one of the two
            running = self._nvml.nvmlDeviceGetComputeRunningProcesses(self._handle)
            own = sum(one.usedGpuMemory or 0 for one in running if one.pid in pids)
            self._of_processes = max(self._of_processes, own)
        with contextlib.suppress(Exception):
            used = self._nvml.nvmlDeviceGetMemoryInfo(self._handle).used
            self._of_device = max(self._of_device, used - self._before)

    @property
    def peak_mib(self) -> float | None:
        """None if nothing was measured."""
        return (self._of_processes or self._of_device) / 2**20 or None

    @property
    def source(self) -> str:
        """PROCESS or DEVICE: whose memory `peak_mib` is; empty if nothing was measured."""
        return PROCESS if self._of_processes else DEVICE if self._of_device else ""

    def close(self) -> None:
        """Let go of the driver."""
        self._nvml = None
        with contextlib.suppress(Exception):
            self._open.close()
