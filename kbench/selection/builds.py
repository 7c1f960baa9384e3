"""Picks the build of a backend that fits the device: the CPU, or a GPU and its driver."""

from __future__ import annotations

from collections.abc import Sequence

from packaging.version import InvalidVersion, Version

from kbench.errors import Unavailable, Unsupported
from kbench.records.values import Backend, Build, Device


def pick_build(backend: Backend, device: Device, *, as_is: bool = False) -> Build:
    """The backend's first build for the device; for a GPU, the first that supports it and its driver.

    With `as_is` the environment is the user's, and the build's limits do not apply.
    Raises Unsupported, or Unavailable for a backend that kbench cannot install, with one sentence.
    """
    if backend.unavailable and not (as_is and backend.builds):
        raise Unavailable(backend.unavailable)
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
