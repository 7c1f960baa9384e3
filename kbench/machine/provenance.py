"""Records what a run ran on: system, processor, memory, GPUs, versions.

Names of hosts, users and home folders are left out, because results are published.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kbench.base.paths import PACKAGE
from kbench.machine import gpu_state, host
from kbench.machine.host import value_or
from kbench.records.values import Device
from kbench.version import __version__


def read(devices: Sequence[Device], command: str, nvml: Any = None) -> dict[str, Any]:
    """Facts for JSON about this machine, `devices` and the `command` by which they are used.

    Never raises: unknown facts are None, or empty if they are text. Takes a quarter of a second, mostly to measure
    how busy the processor is. `nvml` replaces the module pynvml in tests.
    """
    states = gpu_state.states(devices, nvml)
    return {
        "started": _now(),
        "command_line": without_home(command),
        "kbench": {"version": __version__, **value_or(lambda: _checkout(PACKAGE.parent), {})},
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        **host.read(),
        "gpus": [_gpu_facts(device, states) for device in devices if device.kind == "gpu"],
    }


def _gpu_facts(device: Device, states: Mapping[str, Any]) -> dict[str, Any]:
    names = ("index", "name", "driver", "memory_mib", "compute_capability")  # not the uuid, which identifies the card
    state = {"state": states[device.label]} if device.label in states else {}
    return {**{name: getattr(device, name) for name in names}, **state}


def ended(devices: Sequence[Device], nvml: Any = None) -> dict[str, Any]:
    """The facts that may have changed at the end of a run, for JSON. Never raises."""
    return {"time": _now(), "load_average": host.load_average(), "gpus": gpu_state.states(devices, nvml)}


def describe(provenance: Mapping[str, Any]) -> str:
    """The machine in a phrase, such as `Intel Xeon @ 2.20GHz, 2 cores, 23 GiB, Linux 6.1, CPU only`."""
    cpu, system = _object(provenance.get("cpu")), _object(provenance.get("system"))
    count = cores(provenance)
    memory = [provenance.get("memory_mib"), provenance.get("memory_limit_mib")]
    known_memory = [mib for mib in memory if isinstance(mib, int | float)]
    kernel = re.match(r"\d+(\.\d+)?", str(system.get("kernel", "")))
    gpus = provenance.get("gpus")
    names = [_gpu(_object(gpu)) for gpu in gpus] if isinstance(gpus, list) else []
    parts = [
        str(cpu.get("model") or system.get("machine") or "unknown processor"),
        f"{count} {'core' if count == '1' else 'cores'}" if count else "",
        f"{min(known_memory) / 1024:.0f} GiB" if known_memory else "",
        f"{system.get('name', '')} {kernel[0] if kernel else ''}".strip(),
        " + ".join(names) if names else "CPU only",
    ]
    return ", ".join(part for part in parts if part)


def kind(provenance: Mapping[str, Any]) -> str:
    """The kind of machine, such as `AMD EPYC, 2 cores`: what `machine_differences` compares."""
    return kind_of(processor(provenance), cores(provenance), gpu_names(provenance))


def kind_of(processor: str, cores: str, gpus: str) -> str:
    """The kind of machine with these facts, which are empty if they are unknown."""
    counted = f"{cores} {'core' if cores == '1' else 'cores'}" if cores else ""
    return ", ".join(
        one for one in (processor or "unknown processor", counted, gpus if gpus != "none" else "") if one
    )


def machine_differences(provenance: Mapping[str, Any], other: Mapping[str, Any], with_gpu: bool = True) -> list[str]:
    """How this machine differs from the `other`, in words: processor, cores and, `with_gpu`, the GPUs.

    Memory and kernel are left out: they do not affect steady times, and may change when a virtual machine restarts.
    Facts that are unknown on either machine are not compared.
    """
    facts = {"processor": processor, "cores": cores, **({"GPU": gpu_names} if with_gpu else {})}
    both = [(words, fact(provenance), fact(other)) for words, fact in facts.items()]
    return [f"{words} {own} instead of {theirs}" for words, own, theirs in both if own and theirs and own != theirs]


def other_differences(provenance: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Other changes, possibly on the same machine: kernel, drivers, memory, kbench."""
    facts: dict[str, Callable[[Mapping[str, Any]], object]] = {
        "kernel": lambda of: _object(of.get("system")).get("kernel"),
        "GPU drivers": lambda of: ", ".join(str(_object(one).get("driver")) for one in of.get("gpus") or ()),
        "memory (MiB)": lambda of: of.get("memory_mib"),
        "kbench": lambda of: " ".join(str(one)[:12] for one in [*_object(of.get("kbench")).values()][:2]),
    }
    both = [(words, fact(provenance), fact(other)) for words, fact in facts.items()]
    return [f"{words} {own} instead of {theirs}" for words, own, theirs in both if own != theirs]


def processor(provenance: Mapping[str, Any]) -> str:
    """Its model; empty if it is unknown."""
    return str(_object(provenance.get("cpu")).get("model") or "")


def cores(provenance: Mapping[str, Any]) -> str:
    """How many this process could use; empty if it is unknown."""
    visible = _object(provenance.get("cpu")).get("visible")
    return f"{visible:g}" if isinstance(visible, int | float) else ""


def whole_cores(provenance: Mapping[str, Any]) -> int:
    """How many, and so how many threads a process has where nothing else is asked for; 0 if it is unknown."""
    visible = _object(provenance.get("cpu")).get("visible")
    return max(1, int(visible)) if isinstance(visible, int | float) and 0 < visible < 2**20 else 0


def gpu_names(provenance: Mapping[str, Any]) -> str:
    """Of all GPUs, or "none"; empty if it is unknown."""
    gpus = provenance.get("gpus")
    if not isinstance(gpus, list):
        return ""
    return " + ".join(str(_object(gpu).get("name") or "GPU") for gpu in gpus) or "none"


def without_home(text: str) -> str:
    """`text` with the home folder as ~, whose name is often the user's."""
    home = value_or(lambda: str(Path.home()), "")
    # As a word of its own, or at the start of a path.
    return re.sub(re.escape(home) + r"(?=[/\\'\s:,;]|$)", "~", text) if len(home) > 1 else text


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _checkout(root: Path) -> dict[str, object]:
    """Commit of the checkout at `root`, and whether tracked files differ from it; empty if it is none."""
    if not (root / ".git").exists():
        return {}
    answer = subprocess.run(
        ["git", "-C", str(root), "status", "--porcelain=v2", "--branch", "--untracked-files=no"],
        env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},  # must not disturb the user's own git commands
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


def _gpu(gpu: Mapping[str, Any]) -> str:
    driver = f" (driver {gpu['driver']})" if gpu.get("driver") else ""
    return f"{gpu.get('name') or 'GPU'}{driver}"


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
