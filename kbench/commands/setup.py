"""`setup`: the backends' environments, made and not used."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from kbench import paths
from kbench.cache import folder
from kbench.environments import ensure
from kbench.environments.interpreters import Choice
from kbench.errors import Unavailable, Unsupported
from kbench.selection.builds import pick_build
from kbench.selection.names import Backends
from kbench.session import choices, terminal
from kbench.values import Device


def main(options: argparse.Namespace) -> int:
    """Make each environment or find it; 1 where one that was named cannot be made."""
    known = choices.known_backends()
    selected = choices.chosen_backends(options, known)
    pythons = choices.chosen_pythons(options, known)
    device, _ = choices.chosen_device(options)
    with folder.in_use(paths.cache_folder()):
        return _make(selected, pythons, device)


def _make(selected: Backends, pythons: Mapping[str, Choice], device: Device) -> int:
    status = 0
    for backend in selected.chosen:
        choice = pythons.get(backend.name)
        try:
            build = pick_build(backend, device, as_is=choice is not None and choice.as_is)
            environment = ensure.ensure(backend, build, explicit=choice, report=terminal.say)
            print(f"{backend.name}: ready ({build.name}, {environment.python})")
        except (Unavailable, Unsupported) as error:
            print(f"{backend.name}: {error}")
            status = 1 if backend.name in selected.named else status
    return status
