"""Reads the state of GPUs through NVML: clocks, throttling, power, temperature."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kbench.machine.devices import driver
from kbench.records.values import Device

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
    """GPU's label -> the facts that its driver reports; empty if there is no driver. Never raises."""
    found: dict[str, dict[str, Any]] = {}
    gpus = [device for device in devices if device.kind == "gpu"]
    with contextlib.suppress(Exception), driver(nvml) if gpus else contextlib.nullcontext() as nvml:
        for gpu in gpus:
            handle = nvml.nvmlDeviceGetHandleByUUID(gpu.uuid)
            facts: dict[str, Any] = {}
            for name, ask in _FACTS.items():
                with contextlib.suppress(Exception):  # no card and driver has all of them
                    facts[name] = ask(nvml, handle)
            found |= {gpu.label: facts} if facts else {}
    return found


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
