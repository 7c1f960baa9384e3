"""`list`: backends and examples, what each is and can do, and whether it is installed or why not."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from tabulate import tabulate

from kbench import datasets, devices, environments, interpreters, paths
from kbench.commands import choices
from kbench.errors import Unavailable, Unsupported, UserError
from kbench.interpreters import Choice
from kbench.values import Backend, Device, Example


def main(options: argparse.Namespace) -> int:
    """Print the tables that were asked for. Raises UserError."""
    known = choices.known_backends()
    if options.what in ("all", "backends"):
        device = devices.choose("auto", devices.gpus())
        pythons = choices.chosen_pythons(options, known)
        rows = [_backend(backend, device, pythons) for backend in known.values()]
        print(tabulate(rows, headers=["backend", "what it is", "can", "Python", "installed"]))
    if options.what == "all":
        print()
    if options.what in ("all", "examples"):
        about = [_example(example) for example in choices.known_examples().values()]
        headers = ["example", "does", "data", "parameters", "full", "what it is"]
        print(tabulate(about, headers=headers, maxcolwidths=[None, None, 28, None, None, 40]))
    return 0


def _backend(backend: Backend, device: Device, pythons: Mapping[str, Choice]) -> list[str]:
    can = " and ".join(task for task in ("train", "infer") if task in backend.can)
    return [backend.name, backend.title, can, ", ".join(backend.python), _installed(backend, device, pythons)]


def _installed(backend: Backend, device: Device, pythons: Mapping[str, Choice]) -> str:
    choice = pythons.get(backend.name)
    try:
        build = devices.pick_build(backend, device, as_is=choice is not None and choice.as_is)
        if environments.find(backend, build, explicit=choice) is not None:
            return f"yes ({build.name})"
        if choice is not None:
            return f"no: from {choice.path}"
        found = interpreters.at_hand(backend, paths.cache_folder())
        return f"no: made on first use with Python {found.version}"
    except (Unavailable, Unsupported, UserError) as error:
        return f"no: {error}"


def _example(example: Example) -> list[object]:
    full = example.profiles["full"]
    unit = "epochs" if example.task == "train" else "passes"
    return [
        example.name,
        "trains" if example.task == "train" else "infers",
        datasets.title(example.data),
        "" if example.parameters is None else f"{example.parameters:,}",
        f"{full.samples:,} x {full.epochs} {unit}",
        example.title,
    ]
