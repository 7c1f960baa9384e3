"""Which machines of a cluster may measure, and which are of one kind."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping

from kbench.errors import UserError
from kbench.features.cluster.messages import Machine
from kbench.machine.provenance import kind_of
from kbench.planning.tasks import guest_sha256
from kbench.version import __version__

SELECTABLE = ("gpu", "cpu", "cores")


def this_machine() -> Machine:
    """What a worker has to have in common with the client."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return Machine(kbench=__version__, guest_sha256=guest_sha256(), python=version)


def different(machine: Machine, expected: Machine) -> str:
    """Why a worker's measurements would not be comparable with this client's; empty if they are."""
    if machine.kbench != expected.kbench:
        return f"it has kbench {machine.kbench}, and this is {expected.kbench}"
    if machine.guest_sha256 != expected.guest_sha256:
        return f"its kbench {machine.kbench} has other code than this one"
    if machine.python != expected.python:
        return f"it runs kbench with Python {machine.python}, and this is {expected.python}"
    return ""


def selection(text: str) -> dict[str, str]:
    """What --select asks for, such as {"gpu": "H100"}. Raises UserError."""
    found = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = item.partition("=")
        if name not in SELECTABLE or not value:
            raise UserError(
                f"--select {item}: give {', '.join(f'{one}=...' for one in SELECTABLE)}, such as gpu=H100."
            )
        found[name] = value
    return found


def selected(machine: Machine, select: Mapping[str, str]) -> bool:
    """Whether the machine has all of that: cores exactly, names as a part, in capitals or not."""
    has = {"gpu": machine.gpus.lower(), "cpu": machine.processor.lower()}
    return all(
        value == machine.cores if name == "cores" else value.lower() in has[name] for name, value in select.items()
    )


def title(machine: Machine) -> str:
    """The kind of machine in words, such as `AMD EPYC, 2 cores`."""
    return kind_of(machine.processor, machine.cores, machine.gpus)


def slug(machine: Machine) -> str:
    """The kind of machine as a folder's name: machines of one kind share a table."""
    return re.sub(r"[^a-z0-9]+", "-", title(machine).lower()).strip("-")[:80] or "machine"
