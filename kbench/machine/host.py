"""Describes the machine: system, processor and caches, memory, load, and the cgroup's limits."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import psutil

T = TypeVar("T")

LISTEN_SECONDS = 0.2

_MIB = 1 << 20
_CGROUPS = Path("/sys/fs/cgroup")
_OWN_CGROUP = Path("/proc/self/cgroup")
_CPU = Path("/sys/devices/system/cpu/cpu0")


def read() -> dict[str, Any]:
    """Facts for JSON; unknown ones are None, or empty if they are text or a list."""
    return {
        "system": {
            "name": platform.system(),
            "distribution": value_or(lambda: platform.freedesktop_os_release()["PRETTY_NAME"], ""),
            "kernel": platform.release(),
            "machine": platform.machine(),
        },
        "cpu": {
            "model": value_or(_cpu_model, ""),
            "cores": value_or(lambda: psutil.cpu_count(logical=False), None),
            "threads": value_or(os.cpu_count, None),
            "visible": value_or(visible_cores, None),
            "quota": value_or(lambda: min(_cpu_limits(), default=None), None),
            "caches_kib": value_or(caches_kib, dict[str, int]()),
            "busy": value_or(lambda: round(busy_cores(), 2), None),
            "governor": value_or(lambda: (_CPU / "cpufreq" / "scaling_governor").read_text().strip(), ""),
        },
        "memory_mib": value_or(lambda: psutil.virtual_memory().total // _MIB, None),
        "memory_available_mib": value_or(lambda: psutil.virtual_memory().available // _MIB, None),
        "memory_limit_mib": value_or(lambda: min(_memory_limits().values()) // _MIB, None),
        "load_average": load_average(),
    }


def busy_cores() -> float:
    """How many of the cores that this process may use are busy, measured over a fifth of a second."""
    percents = psutil.cpu_percent(LISTEN_SECONDS, percpu=True)
    return sum(percents[number] for number in os.sched_getaffinity(0) if number < len(percents)) / 100


def available_mib() -> float:
    """Memory available to further processes on this machine and in each cgroup above this process."""
    free = [psutil.virtual_memory().available / _MIB]
    for folder, limit in value_or(_memory_limits, dict[Path, int]()).items():
        used = _words(folder / "memory.current") or _words(folder / "memory.usage_in_bytes") or ["0"]
        words = _words(folder / "memory.stat")
        stat = dict(zip(words[::2], words[1::2], strict=False))
        dropped = stat.get("total_inactive_file", stat.get("inactive_file", "0"))  # reclaimed if memory is needed
        free.append((limit - int(used[0]) + int(dropped)) / _MIB)
    return min(free)


def oom_kills() -> int:
    """How many processes the kernel has killed for want of memory so far: on the machine, and in our cgroups."""
    files = [Path("/proc/vmstat")]
    for folder in value_or(lambda: _own_cgroups("memory"), list[Path]()):
        files += [folder / "memory.events", folder / "memory.oom_control"]  # of version 2 and 1
    found = (_words(file) for file in files)
    return sum(int(words[words.index("oom_kill") + 1]) for words in found if "oom_kill" in words)


def load_average() -> list[float] | None:
    """Over 1, 5 and 15 minutes."""
    return value_or(lambda: [round(load, 2) for load in os.getloadavg()], None)


def caches_kib() -> dict[str, int]:
    """The caches of the first core: {"L1d": 32, "L2": 512, "L3": 32768}."""
    found = {}
    for folder in sorted((_CPU / "cache").glob("index*")):
        level, kind, size = ((folder / name).read_text().strip() for name in ("level", "type", "size"))
        letter = {"Data": "d", "Instruction": "i"}.get(kind, "")
        if size.endswith(("K", "M")) and size[:-1].isdigit():
            found[f"L{level}{letter}"] = int(size[:-1]) * (1024 if size.endswith("M") else 1)
    return found


def visible_cores() -> float:
    """Cores that this process may use: by affinity, or by its cgroup's quota if that is less."""
    quota = value_or(lambda: min(_cpu_limits(), default=None), None)
    return min(filter(None, (len(os.sched_getaffinity(0)), quota)))


def value_or(read: Callable[[], T], otherwise: T) -> T:
    """`read()`, or `otherwise` if that fails."""
    try:
        return read()
    except Exception:  # a run must start on any system
        return otherwise


def _cpu_model() -> str:
    """The processor's name without trademarks."""
    cpuinfo = Path("/proc/cpuinfo")
    text = cpuinfo.read_text(errors="replace") if cpuinfo.exists() else ""
    # The key differs by architecture: x86, some ARM boards, POWER.
    found = re.search(r"^(?:model name|Hardware|cpu)\s*:\s*(.+)$", text, re.MULTILINE)
    name = found[1] if found else platform.processor()
    return " ".join(re.sub(r"\((?:R|TM|tm)\)|\bCPU\b|\bProcessor\b", " ", name).split())


def _cpu_limits() -> list[float]:
    """Cores that each cgroup above this process allows; those without a limit are left out."""
    limits = []
    for folder in _own_cgroups("cpu"):
        quota = _words(folder / "cpu.max")  # version 2: quota and period in microseconds, or "max"
        quota = quota or _words(folder / "cpu.cfs_quota_us") + _words(folder / "cpu.cfs_period_us")
        if len(quota) == 2 and quota[0].isdigit():
            limits.append(int(quota[0]) / int(quota[1]))
    return limits


def _memory_limits() -> dict[Path, int]:
    """Bytes that each cgroup above this process allows; those without a limit are left out."""
    limits = {}
    for folder in _own_cgroups("memory"):
        limit = _words(folder / "memory.max") or _words(folder / "memory.limit_in_bytes")
        # Version 1 spells "no limit" as a number close to 2**63.
        if limit and limit[0].isdigit() and int(limit[0]) < 1 << 60:
            limits[folder] = int(limit[0])
    return limits


def _own_cgroups(controller: str) -> list[Path]:
    """The folders of this process's cgroup and of all above it, for version 2 and version 1."""
    folders = []
    for line in _OWN_CGROUP.read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0" or controller in controllers.split(","):
            root = _CGROUPS if number == "0" else _CGROUPS / controllers
            own = root / path.lstrip("/")
            folders += [own, *(folder for folder in own.parents if folder.is_relative_to(root))]
    return folders


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:
        return []
