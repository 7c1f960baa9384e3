"""Finds this machine's GPUs through NVML, and the device that the user asked for."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kbench.errors import UserError
from kbench.records.values import Device

CPU = Device("cpu")


def gpus(nvml: Any = None, environ: Mapping[str, str] | None = None) -> tuple[Device, ...]:
    """NVIDIA's GPUs in the order of the PCI bus, without those that CUDA_VISIBLE_DEVICES hides.

    Empty if there is no driver. `nvml` replaces the module pynvml in tests.
    """
    environ = os.environ if environ is None else environ
    found: list[Device] = []
    with contextlib.suppress(Exception), driver(nvml) as nvml:
        version = nvml.nvmlSystemGetDriverVersion()
        found = [_device(nvml, index, version) for index in range(nvml.nvmlDeviceGetCount())]
    return _visible(found, environ.get("CUDA_VISIBLE_DEVICES"))


@contextlib.contextmanager
def driver(nvml: Any = None) -> Iterator[Any]:
    """A session with NVIDIA's driver. Raises any exception if there is no package, driver or permission."""
    if nvml is None:
        nvml = importlib.import_module("pynvml")
    nvml.nvmlInit()
    try:
        yield nvml
    finally:
        nvml.nvmlShutdown()


def choose(request: str, found: Sequence[Device]) -> Device:
    """The device for `--device`; N of `gpu:N` counts as `nvidia-smi` does. Raises UserError, also without a GPU."""
    kind, colon, number = parsed(request)
    if kind == "cpu" or (kind == "auto" and not found):
        return CPU
    if not found:
        raise UserError(f"--device {request}: no NVIDIA GPU was found on this machine; use --device cpu")
    if not colon:
        return found[0]
    for device in found:
        if device.index == int(number):
            return device
    there = ", ".join(device.label for device in found)
    raise UserError(f"--device {request}: there is no such GPU; this machine has {there}")


def parsed(request: str) -> tuple[str, str, str]:
    """Kind, colon and number of `--device`. Raises UserError if it is of another form."""
    kind, colon, number = request.strip().lower().partition(":")
    if kind not in ("auto", "cpu", "gpu") or (colon and (kind != "gpu" or not number.isdecimal())):
        raise UserError(f"--device {request} is not a device: use auto, cpu, gpu or gpu:N, such as gpu:0")
    return kind, colon, number


def pin_variables(*shown: Device) -> dict[str, str]:
    """Environment variables that hide all other GPUs from a process."""
    of_gpus = ",".join(one.uuid or str(one.index) for one in shown if one.kind != "cpu")
    visible = of_gpus or "-1"
    return {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": visible}


def _device(nvml: Any, index: int, driver: str) -> Device:
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    major, minor = nvml.nvmlDeviceGetCudaComputeCapability(handle)
    return Device(
        kind="gpu",
        index=index,
        uuid=nvml.nvmlDeviceGetUUID(handle),
        name=nvml.nvmlDeviceGetName(handle),
        compute_capability=float(f"{major}.{minor}"),
        driver=driver,
        memory_mib=nvml.nvmlDeviceGetMemoryInfo(handle).total // 2**20,
    )


def _visible(found: Sequence[Device], shown: str | None) -> tuple[Device, ...]:
    """Reads the variable like CUDA: numbers or prefixes of UUIDs, up to the first invalid one."""
    if shown is None:
        return tuple(found)
    visible: list[Device] = []
    for item in (part.strip() for part in shown.split(",")):
        by_uuid = item.startswith("GPU-")
        named = [one for one in found if (one.uuid.startswith(item) if by_uuid else str(one.index) == item)]
        if not named:
            break
        visible.append(named[0])
    return tuple(visible)
