"""What GPUs are doing, through NVML: clocks, what slows them down, power, temperature."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kbench.values import Device

# Numbers of nvml.h, the same in every release.
_SM_CLOCK, _MEMORY_CLOCK, _GPU_TEMPERATURE = 1, 2, 0
_REASONS = {
    0x001: "idle",
    0x002: "clocks set by an application",
    0x004: "power cap",
    0x008: "slowed down by hardware",
    0x010: "synchronised with other GPUs",
    0x020: "thermal slowdown by the driver",
    0x040: "thermal slowdown by hardware",
    0x080: "power brake",
    0x100: "clocks set for a display",
    0x200: "limit of the board",
    0x400: "reliability limit",
}


def states(devices: Sequence[Device], nvml: Any = None) -> dict[str, dict[str, Any]]:
    """Label of a GPU -> what it tells of itself; empty where nothing answers. Never raises."""
    labels = {device.uuid: device.label for device in devices if device.kind == "gpu"}
    if not labels:
        return {}
    try:
        if nvml is None:
            nvml = importlib.import_module("pynvml")
        nvml.nvmlInit()
    except Exception:  # no package, no driver, no permission: all the same here
        return {}
    found = {}
    try:
        for uuid, label in labels.items():
            handle = nvml.nvmlDeviceGetHandleByUUID(uuid)
            facts = {name: _fact(ask, nvml, handle) for name, ask in _FACTS.items()}
            if known := {name: value for name, value in facts.items() if value is not None}:
                found[label] = known
    except Exception:  # a driver that was updated under the running kernel answers nothing more
        pass
    finally:
        nvml.nvmlShutdown()
    return found


def _fact(ask: Callable[[Any, Any], Any], nvml: Any, handle: Any) -> Any:
    try:
        return ask(nvml, handle)
    except Exception:  # each card and driver leaves out another one
        return None


def _reasons(nvml: Any, handle: Any) -> list[str]:
    bits = nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
    return [reason for bit, reason in _REASONS.items() if bits & bit]


_FACTS: Mapping[str, Callable[[Any, Any], Any]] = {
    "sm_clock_mhz": lambda nvml, handle: nvml.nvmlDeviceGetClockInfo(handle, _SM_CLOCK),
    "memory_clock_mhz": lambda nvml, handle: nvml.nvmlDeviceGetClockInfo(handle, _MEMORY_CLOCK),
    "max_sm_clock_mhz": lambda nvml, handle: nvml.nvmlDeviceGetMaxClockInfo(handle, _SM_CLOCK),
    "max_memory_clock_mhz": lambda nvml, handle: nvml.nvmlDeviceGetMaxClockInfo(handle, _MEMORY_CLOCK),
    "throttled": _reasons,
    "power_watts": lambda nvml, handle: nvml.nvmlDeviceGetPowerUsage(handle) / 1000,
    "power_limit_watts": lambda nvml, handle: nvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000,
    "temperature_celsius": lambda nvml, handle: nvml.nvmlDeviceGetTemperature(handle, _GPU_TEMPERATURE),
}
