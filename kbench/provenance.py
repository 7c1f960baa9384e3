"""What a run ran on, read from the machine and never typed in: system, processor, memory, GPU, versions.

No host, user or home folder name is kept: results are made to be published.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TypeVar

import psutil

import kbench
from kbench import steadiness
from kbench.paths import PACKAGE
from kbench.values import Device

T = TypeVar("T")

_MIB = 1 << 20
_CGROUPS = Path("/sys/fs/cgroup")
_OWN_CGROUP = Path("/proc/self/cgroup")


def read(devices: Sequence[Device], argv: Sequence[str]) -> dict[str, Any]:
    """JSON-able facts about this machine, `devices` and the command line `argv`.

    Never raises: what cannot be read is None, or empty where it is text. Takes a quarter of a second,
    most of it to hear how busy the processor is.
    """
    return {
        "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "command_line": command_line(argv),
        "kbench": {"version": kbench.__version__, **_known(lambda: _checkout(PACKAGE.parent), {})},
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": {
            "name": platform.system(),
            "distribution": _known(lambda: platform.freedesktop_os_release()["PRETTY_NAME"], ""),
            "kernel": platform.release(),
            "machine": platform.machine(),
        },
        "cpu": {
            "model": _known(_cpu_model, ""),
            "cores": _known(lambda: psutil.cpu_count(logical=False), None),
            "threads": _known(os.cpu_count, None),
            "visible": _known(visible_cores, None),
            "quota": _known(lambda: _smallest_limit(_cpu_limits()), None),
            "busy": _known(lambda: round(steadiness.busy_cores(), 2), None),
            "governor": _known(_governor, ""),
        },
        "memory_mib": _known(lambda: psutil.virtual_memory().total // _MIB, None),
        "memory_limit_mib": _known(lambda: _smallest_limit(_memory_limits()), None),
        "load_average": _known(lambda: [round(load, 2) for load in os.getloadavg()], None),
        "gpus": [
            {
                "index": device.index,
                "name": device.name,
                "driver": device.driver,
                "memory_mib": device.memory_mib,
                "compute_capability": device.compute_capability,
            }
            for device in devices
            if device.kind == "gpu"
        ],
    }


def describe(provenance: Mapping[str, Any]) -> str:
    """The machine in a phrase, such as `Intel Xeon @ 2.20GHz, 2 cores, 23 GiB, Linux 6.1, CPU only`."""
    cpu, system = _object(provenance.get("cpu")), _object(provenance.get("system"))
    cores = cpu.get("visible")
    memory = [provenance.get("memory_mib"), provenance.get("memory_limit_mib")]
    known_memory = [mib for mib in memory if isinstance(mib, int | float)]
    kernel = re.match(r"\d+(\.\d+)?", str(system.get("kernel", "")))
    gpus = provenance.get("gpus")
    names = [_gpu(_object(gpu)) for gpu in gpus] if isinstance(gpus, list) else []
    parts = [
        str(cpu.get("model") or system.get("machine") or "unknown processor"),
        f"{cores:g} {'core' if cores == 1 else 'cores'}" if isinstance(cores, int | float) else "",
        f"{min(known_memory) / 1024:.0f} GiB" if known_memory else "",
        f"{system.get('name', '')} {kernel[0] if kernel else ''}".strip(),
        " + ".join(names) if names else "CPU only",
    ]
    return ", ".join(part for part in parts if part)


def differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """In what a machine is another one, and what else is not as it was: phrases such as `2 cores, where it had 4`."""
    hard = {
        "processor": lambda facts: _object(facts.get("cpu")).get("model"),
        "visible cores": lambda facts: _object(facts.get("cpu")).get("visible"),
        "GPUs": lambda facts: ", ".join(str(_object(gpu).get("name")) for gpu in facts.get("gpus") or ()) or "none",
        "system": lambda facts: _object(facts.get("system")).get("name"),
    }
    soft = {
        "kernel": lambda facts: _object(facts.get("system")).get("kernel"),
        "GPU drivers": lambda facts: (
            ", ".join(str(_object(g).get("driver")) for g in facts.get("gpus") or ()) or "none"
        ),
        "memory (MiB)": lambda facts: facts.get("memory_mib"),
        "kbench": lambda facts: " ".join(map(str, _object(facts.get("kbench")).values())),
    }
    return _unlike(hard, then, now), _unlike(soft, then, now)


def _unlike(
    facts: Mapping[str, Callable[[Mapping[str, Any]], object]], then: Mapping[str, Any], now: Mapping[str, Any]
) -> list[str]:
    return [
        f"{name} {fact(now)}, where it was {fact(then)}" for name, fact in facts.items() if fact(then) != fact(now)
    ]


def command_line(argv: Sequence[str]) -> str:
    """`argv` on one line, quoted as a shell wants it, with the home folder as ~."""
    # The folder's name is often the user's; as a word of its own, or at the start of a path within one.
    home = _known(lambda: str(Path.home()), "")
    line = shlex.join(argv)
    return re.sub(re.escape(home) + r"(?=[/\\'\s:]|$)", "~", line) if len(home) > 1 else line


def visible_cores() -> float | None:
    """Cores that this process may use: by affinity, or by its cgroup's quota where that is less."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    quota = _known(lambda: _smallest_limit(_cpu_limits()), None)
    known = [cores for cores in (affinity, quota) if cores]
    return min(known) if known else None


def _known(fact: Callable[[], T], otherwise: T) -> T:
    """`fact()`, or `otherwise` where this machine does not tell."""
    try:
        return fact()
    except Exception:  # whatever a system lacks must not keep a run from starting
        return otherwise


def _checkout(root: Path) -> dict[str, object]:
    """Commit of the checkout at `root`, and whether tracked files differ from it; empty where it is none."""
    if not (root / ".git").exists():
        return {}
    answer = subprocess.run(
        ["git", "-C", str(root), "status", "--porcelain=v2", "--branch", "--untracked-files=no"],
        env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},  # only looks: must not disturb a git of the user's
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=2,
        check=True,
    )
    lines = answer.stdout.splitlines()
    commit = next((line.removeprefix("# branch.oid ") for line in lines if line.startswith("# branch.oid ")), "")
    return {
        "commit": "" if commit == "(initial)" else commit,
        "dirty": any(not line.startswith("#") for line in lines),
    }


def _cpu_model() -> str:
    """The processor's name without marks of ownership."""
    cpuinfo = Path("/proc/cpuinfo")
    text = cpuinfo.read_text(errors="replace") if cpuinfo.exists() else ""
    # The key differs by architecture: x86, some ARM boards, POWER.
    found = re.search(r"^(?:model name|Hardware|cpu)\s*:\s*(.+)$", text, re.MULTILINE)
    name = found[1] if found else platform.processor()
    return " ".join(re.sub(r"\((?:R|TM|tm)\)|\bCPU\b|\bProcessor\b", " ", name).split())


def _governor() -> str:
    return Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").read_text().strip()


def _cpu_limits() -> list[float]:
    """Cores that each cgroup above this process allows; those without a limit are left out."""
    limits = []
    for folder in _own_cgroups("cpu"):
        quota = _words(folder / "cpu.max")  # version 2: quota and period in microseconds, or "max"
        quota = quota or _words(folder / "cpu.cfs_quota_us") + _words(folder / "cpu.cfs_period_us")
        if len(quota) == 2 and quota[0].isdigit():
            limits.append(int(quota[0]) / int(quota[1]))
    return limits


def _memory_limits() -> list[int]:
    limits = []
    for folder in _own_cgroups("memory"):
        limit = _words(folder / "memory.max") or _words(folder / "memory.limit_in_bytes")
        # Version 1 spells "no limit" as a number close to 2**63.
        if limit and limit[0].isdigit() and int(limit[0]) < 1 << 60:
            limits.append(int(limit[0]) // _MIB)
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


def _smallest_limit(limits: Sequence[T]) -> T | None:
    return min(limits, default=None)  # type: ignore[type-var]


def _gpu(gpu: Mapping[str, Any]) -> str:
    driver = f" (driver {gpu['driver']})" if gpu.get("driver") else ""
    return f"{gpu.get('name') or 'GPU'}{driver}"


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
