"""From a command's options to what was asked for: backends, examples, Pythons, the device."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path

from kbench import paths
from kbench.environments import interpreters
from kbench.environments.interpreters import Choice
from kbench.errors import UserError
from kbench.machine import devices
from kbench.planning.request import BUDGET, PRECISION, ChosenPython, Request, Script
from kbench.selection import backends, examples, scripts
from kbench.selection import names as selection
from kbench.values import Backend, Device, Example


def request(options: argparse.Namespace, known: Mapping[str, Backend], gpus: Sequence[Device]) -> Request:
    """What the options of `run` or `parity` ask for. An option has the name of its field. Raises UserError."""
    chosen = selection.select_backends(options.backends, known)
    chosen = selection.in_settings(
        chosen,
        *(getattr(options, name, None) or () for name in ("jit", "precision_policy", "env_set", "keras", "package")),
    )
    script = scripts.load(paths.expanded(options.file)) if getattr(options, "file", None) else None
    if script is None:
        named = selection.select_examples(options.examples, known_examples())
    else:
        named = selection.Chosen((script,), frozenset({script.name}))
    pythons = chosen_pythons(options, known)
    asked = {one.name: value for one in fields(Request) if (value := getattr(options, one.name, None)) is not None}
    mirror = data_folder(options)
    asked |= _how_often(options)
    asked |= {
        "backends": tuple(one.name for one in chosen.chosen),
        "named_backends": tuple(sorted(chosen.named)),
        "examples": tuple(paths.portable(one.path) for one in named.chosen),
        "named_examples": tuple(sorted(named.named)),
        "pythons": {name: ChosenPython(paths.portable(one.path), one.as_is) for name, one in pythons.items()},
        "device": devices.choose(options.device, gpus).label,
        "data_dir": None if mirror is None else paths.portable(mirror),
        "pass_env": passed_variables(options),
        "baseline": chosen_baseline(options, [one.name for one in chosen.chosen]),
    }
    if script is not None:
        how = {one.name: getattr(options, one.name) for one in fields(Script) if hasattr(options, one.name)}
        how["packages"] = (*how["packages"], *scripts.of_its_own(script.path, known))
        asked["script"] = Script(**how)
    return Request(**asked)


def _how_often(options: argparse.Namespace) -> dict[str, float | None]:
    """What lets processes be added to a run: nothing where their number is given. Raises UserError."""
    precision, budget = getattr(options, "precision", None), getattr(options, "budget", None)
    named = precision is not None or budget is not None
    if getattr(options, "repeats", None) is not None and named:
        raise UserError(
            "--repeats says how often each cell is measured, --precision and --budget let kbench choose: give one or "
            "the other."
        )
    small = getattr(options, "profile", "") == "smoke"
    fixed = getattr(options, "repeats", 1) is not None or (small and not named)
    return {} if fixed else {"precision": precision or PRECISION, "budget": budget or BUDGET}


def data_folder(options: argparse.Namespace) -> Path | None:
    """The folder with the published files that the user named, if any."""
    mirror = options.data_dir or os.environ.get("KBENCH_DATA")
    return paths.expanded(str(mirror)).absolute() if mirror else None


def known_backends() -> dict[str, Backend]:
    """Every backend that has a file: kbench's own, then those in the folder KBENCH_BACKENDS. Raises UserError."""
    own = backends.load_all(paths.project_folder("backends"))
    folder = paths.further_backends()
    further = {} if folder is None else backends.load_all(folder)
    for name in further:
        if name in own:
            raise UserError(f"KBENCH_BACKENDS has a {name}, as kbench has itself: give its file another name.")
    return {**own, **further}


def known_examples() -> dict[str, Example]:
    """kbench's own examples. Raises UserError."""
    return examples.load_all(paths.project_folder("examples_models"))


def chosen_baseline(options: argparse.Namespace, names: Iterable[str]) -> str:
    """The one of a run's backends that --baseline means; empty where it is not given. Raises UserError."""
    return "" if getattr(options, "baseline", None) is None else selection.select_baseline(options.baseline, names)


def chosen_pythons(options: argparse.Namespace, known: Mapping[str, Backend]) -> dict[str, Choice]:
    """Backend -> the Python that --python gives it. Raises UserError."""
    chosen: dict[str, Choice] = {}
    for text in options.python:
        names, choice = interpreters.parse_python_option(text, known)
        chosen.update(dict.fromkeys(names, choice))
    return chosen


def passed_variables(options: argparse.Namespace) -> tuple[str, ...]:
    """The names of --pass-env, each once. Raises UserError."""
    named: Sequence[str] = getattr(options, "pass_env", ())
    for name in named:
        if "=" in name:
            raise UserError(
                f"--pass-env takes the name of a variable alone, {name.partition('=')[0]!r}: set its value before, "
                "for the command line is kept with the results"
            )
        if name.upper().startswith("KERAS_"):
            raise UserError(f"--pass-env {name}: every cell has a keras.json of its own, and this would win over it")
        if name not in os.environ:
            raise UserError(f"--pass-env {name}: there is no such environment variable")
    return tuple(dict.fromkeys(named))
