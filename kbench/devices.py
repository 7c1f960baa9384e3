"""The GPUs of this machine (through NVML), the one asked for, and the build of a backend that can use it."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

from packaging.version import InvalidVersion, Version

from kbench.errors import Unsupported, UserError
from kbench.values import Backend, Build, Device

CPU = Device("cpu")


def gpus(nvml: Any = None, environ: Mapping[str, str] | None = None) -> tuple[Device, ...]:
    """NVIDIA's GPUs in the order of the PCI bus, without those that CUDA_VISIBLE_DEVICES hides.

    Empty where there is no driver. `nvml` is the module that answers: pynvml unless another is given.
    """
    environ = os.environ if environ is None else environ
    try:
        if nvml is None:
            nvml = importlib.import_module("pynvml")
        nvml.nvmlInit()
    except Exception:  # no package, no driver, no permission: all the same here
        return ()
    try:
        driver = _text(nvml.nvmlSystemGetDriverVersion())
        found = [_device(nvml, index, driver) for index in range(nvml.nvmlDeviceGetCount())]
    except Exception:  # a driver that was updated under the running kernel answers nothing more
        return ()
    finally:
        nvml.nvmlShutdown()
    return _visible(found, environ.get("CUDA_VISIBLE_DEVICES"))


def choose(request: str, found: Sequence[Device]) -> Device:
    """The device that `--device` means: `auto` (the first GPU, else the CPU), `cpu`, `gpu` or `gpu:N`.

    N counts as `nvidia-smi` does. Raises UserError, also where a GPU is asked for and there is none.
    """
    kind, colon, number = request.strip().lower().partition(":")
    if kind not in ("auto", "cpu", "gpu") or (colon and (kind != "gpu" or not number.isdecimal())):
        raise UserError(f"--device {request} is not a device: use auto, cpu, gpu or gpu:N, such as gpu:0")
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


def pick_build(backend: Backend, device: Device, *, as_is: bool = False) -> Build:
    """The backend's first build for the device; for a GPU, the first that knows it and its driver can run.

    With `as_is` the environment is the user's own: its limits are not those of the build, so none is checked.
    Raises Unsupported with one sentence.
    """
    builds = [build for build in backend.builds if build.device == device.kind]
    if not builds:
        hint = "" if device.kind == "cpu" else ": use --device cpu"
        raise Unsupported(f"{backend.name} has no build for a {device.kind.upper()}{hint}")
    if as_is:
        return builds[0]
    fitting = [build for build in builds if _knows(build, device)]
    if not fitting:
        raise Unsupported(_unknown_gpu(builds, device))
    for build in fitting:
        if _runs(build, device):
            return build
    lowest = min((build.driver for build in fitting), key=Version)
    raise Unsupported(
        f"its builds for {device.name} need an NVIDIA driver from {lowest}; this machine has {device.driver}"
    )


def pin_variables(device: Device) -> dict[str, str]:
    """Environment variables that show a process this device and no other GPU."""
    visible = "-1" if device.kind == "cpu" else device.uuid or str(device.index)
    return {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": visible}


def _device(nvml: Any, index: int, driver: str) -> Device:
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    major, minor = nvml.nvmlDeviceGetCudaComputeCapability(handle)
    return Device(
        kind="gpu",
        index=index,
        uuid=_text(nvml.nvmlDeviceGetUUID(handle)),
        name=_text(nvml.nvmlDeviceGetName(handle)),
        compute_capability=float(f"{major}.{minor}"),
        driver=driver,
        memory_mib=nvml.nvmlDeviceGetMemoryInfo(handle).total // 2**20,
    )


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value  # older releases of the package give bytes


def _visible(found: Sequence[Device], shown: str | None) -> tuple[Device, ...]:
    """As CUDA reads the variable: numbers or beginnings of UUIDs, up to the first that names none."""
    if shown is None:
        return tuple(found)
    visible: list[Device] = []
    for item in (part.strip() for part in shown.split(",")):
        named = [
            device
            for device in found
            if item == str(device.index) or (item.startswith("GPU-") and device.uuid.startswith(item))
        ]
        if not named:
            break
        visible.append(named[0])
    return tuple(visible)


def _knows(build: Build, device: Device) -> bool:
    if build.compute_capability is None or device.compute_capability is None:
        return True
    lowest, highest = build.compute_capability
    return lowest <= device.compute_capability <= highest


def _runs(build: Build, device: Device) -> bool:
    try:
        return not build.driver or not device.driver or Version(device.driver) >= Version(build.driver)
    except InvalidVersion:
        return True


def _unknown_gpu(builds: Sequence[Build], device: Device) -> str:
    ranges = [build.compute_capability for build in builds if build.compute_capability is not None]
    highest = max(high for _, high in ranges)
    lowest = min(low for low, _ in ranges)
    has = f"{device.name} has {device.compute_capability}"
    if device.compute_capability is not None and device.compute_capability > highest:
        return f"its newest build knows GPUs up to compute capability {highest}; {has}"
    return f"its builds know GPUs from compute capability {lowest} to {highest}; {has}"
