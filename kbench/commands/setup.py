"""`setup`: creates the backends' environments."""

from __future__ import annotations

import argparse

from kbench.commands import choices
from kbench.environments import ensure, locks
from kbench.errors import Unavailable, Unsupported
from kbench.machine import devices
from kbench.records.values import base
from kbench.screen.listener import Screen
from kbench.selection import names
from kbench.selection.builds import pick_build
from kbench.selection.known import known_backends
from kbench.session import making, prepare
from kbench.session.events import notes


def main(options: argparse.Namespace) -> int:
    """Create each environment if missing; 1 if one that was named cannot be created."""
    known = known_backends()
    selected = names.select_backends(options.backends, known)
    pythons = choices.chosen_pythons(vars(options), known)
    device = devices.choose(options.device, devices.gpus())
    status, screen = 0, Screen()
    names_of_all = [one.name for one in selected.chosen]
    with prepare.reserved():
        for backend in selected.chosen:
            choice = pythons.get(base(backend.name))
            try:
                backend = locks.locked(backend, device.kind, notes(screen))
                build = pick_build(backend, device, as_is=choice is not None and choice.as_is)
                with making.telling(backend.name, names_of_all, screen):
                    environment = ensure.ensure(backend, build, explicit=choice, report=notes(screen))
                print(f"{backend.name}: ready ({build.name}, {environment.python})")
            except (Unavailable, Unsupported) as error:
                print(f"{backend.name}: {error}")
                status = 1 if backend.name in selected.named else status
    return status
