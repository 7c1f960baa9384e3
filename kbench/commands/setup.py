"""`setup`: creates the backends' environments."""

from __future__ import annotations

import argparse

from kbench.environments import ensure, locks
from kbench.errors import Unavailable, Unsupported
from kbench.machine import devices
from kbench.selection import names
from kbench.selection.builds import pick_build
from kbench.session import choices, making, prepare, terminal
from kbench.values import base


def main(options: argparse.Namespace) -> int:
    """Create each environment if missing; 1 if one that was named cannot be created."""
    known = choices.known_backends()
    selected = names.select_backends(options.backends, known)
    pythons = choices.chosen_pythons(options, known)
    device = devices.choose(options.device, devices.gpus())
    status = 0
    with prepare.reserved(), making.Line([one.name for one in selected.chosen]) as line:
        for backend in selected.chosen:
            choice = pythons.get(base(backend.name))
            try:
                backend = locks.locked(backend, device.kind, terminal.say)
                build = pick_build(backend, device, as_is=choice is not None and choice.as_is)
                with line.of(backend.name):
                    environment = ensure.ensure(backend, build, explicit=choice, report=terminal.say)
                print(f"{backend.name}: ready ({build.name}, {environment.python})")
            except (Unavailable, Unsupported) as error:
                print(f"{backend.name}: {error}")
                status = 1 if backend.name in selected.named else status
    return status
