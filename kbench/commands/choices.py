"""Turns a command's options into a request, and into what is shown. Nothing further down sees options."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from kbench import hooks
from kbench.base import paths
from kbench.base.masking import masked_arguments
from kbench.cli import arguments
from kbench.cli.options import asked_by
from kbench.environments import interpreters
from kbench.environments.interpreters import Choice
from kbench.errors import UserError
from kbench.machine import devices
from kbench.planning.request import BUDGET, ChosenPython, Request
from kbench.records import axes
from kbench.records.values import PRECISION, Backend, Device, Example
from kbench.screen.output import Output
from kbench.screen.terminal import USUAL, VERBOSE
from kbench.selection import examples, variants
from kbench.selection import names as selection
from kbench.selection.known import known_examples
from kbench.tables import columns

Options = Mapping[str, Any]  # of a command, by the names that kbench.cli.options gives them


def request(options: Options, known: Mapping[str, Backend], gpus: Sequence[Device]) -> Request:
    """The request in the options of a command that measures, named like its fields. Raises UserError."""
    chosen = selection.select_backends(options["backends"], known)
    chosen = selection.in_settings(chosen, _variants(options.get("variants") or ()))
    on = tuple(devices.choose(one, gpus) for one in options["device"].split(","))
    program, script = hooks.programs().asked(options, known) if _has_program(options) else (None, None)
    of_feature = hooks.chosen_examples(options, on)
    if of_feature is not None:
        named = selection.Chosen(of_feature.examples, of_feature.named)
    else:
        named = _examples(options) if program is None else selection.Chosen((program,), frozenset({program.name}))
    pythons = chosen_pythons(options, known)
    asked = {one.name: value for one in fields(Request) if (value := options.get(one.name)) is not None}
    mirror = data_folder()
    asked |= _how_often(options)
    for _, of_axis in asked_by(options["command"]):
        if of_axis.one_each and len(options.get(of_axis.dest) or ()) > 1:
            raise UserError(f"{of_axis.option}: {of_axis.one_each}")
    asked |= {
        "backends": tuple(one.name for one in chosen.chosen),
        "named_backends": tuple(sorted(chosen.named)),
        "examples": tuple(paths.portable(one.path) for one in named.chosen),
        "named_examples": tuple(sorted(named.named)),
        "pythons": {name: ChosenPython(paths.portable(one.path), one.as_is) for name, one in pythons.items()},
        "values": values(options) | {axes.DEVICE: tuple(one.label for one in on)},
        "threads_each": options.get("threads") is not None,
        "example_settings": of_feature.settings if of_feature else {},
        "asked": _asked_of_features(options) | dict(of_feature.kept if of_feature else {}),
        "data_dir": None if mirror is None else paths.portable(mirror),
        "pass_env": passed_variables(options),
        "baseline": chosen_baseline(options.get("baseline"), [one.name for one in chosen.chosen]),
    }
    return Request(**asked, script=script)


def _asked_of_features(options: Options) -> dict[str, Any]:
    """The options of features that a request keeps, where they were given."""
    kept = [one for one in hooks.further_options(options["command"]) if one.kept]
    names = [name.lstrip("-").replace("-", "_") for one in kept for name in one.options]
    return {name: options[name] for name in names if options.get(name)}


def values(options: Options) -> dict[str, tuple[axes.Value, ...]]:
    """The values to measure on each axis whose option was given, but for those in a backend's name."""
    asked = {axis.name: options.get(asked.dest) for axis, asked in asked_by(options["command"]) if asked.takes}
    return {name: tuple(given) for name, given in asked.items() if given and name not in axes.of_backends()}


def _has_program(options: Options) -> bool:
    """Whether the command is about a program of the user's: always, or by an option."""
    always = options["command"] == arguments.runs_programs()
    return always or any(options.get(one) is not None for one in ("file", "module"))


def _examples(options: Options) -> selection.Chosen[Example]:
    """The examples of --examples. Raises UserError, with the command for a program that is no example."""
    try:
        return selection.select_examples(_named_examples(options), known_examples())
    except examples.NoModel as error:
        named = (one.strip() for one in _named_examples(options).split(","))
        file = shlex.quote(next((one for one in named if one.endswith(".py")), "FILE.py"))
        takes_it = "--script" in arguments.names_of(options["command"])
        how = f"{options['command']} --script" if takes_it else arguments.runs_programs()
        if not how:
            raise
        command = f"{arguments.program()} {how} {file} --backends {shlex.quote(options['backends'])}"
        raise UserError(f"{error} To run a program as it is: `{command}`.") from None


def _named_examples(options: Options) -> str:
    return selection.CORE if options["examples"] is None else str(options["examples"])


def _variants(texts: Sequence[str]) -> list[str]:
    """The settings of the backends that --variant asks for, beside none. Raises UserError."""
    found = [""]
    for text in texts:
        try:
            given = shlex.split(text)
        except ValueError as error:
            raise UserError(f"--variant {text[:100]!r} is not a list of arguments ({error}).") from None
        if masked_arguments(given) != tuple(given):
            raise UserError(
                "--variant: its arguments have a secret, which would be in the row's name: use --pass-env."
            )
        found += [f"{axes.ARGUMENTS}={variants.named_arguments(text)}"] if given else []
    if len({*found}) < len(found):
        raise UserError("--variant: two of them are the same: leave one out.")
    return found


def _how_often(options: Options) -> dict[str, Any]:
    """When cells are repeated: never if --repeats fixes it, nor in a smoke run. Raises UserError."""
    repeats, precision, budget = (options.get(name) for name in ("repeats", "precision", "budget"))
    if isinstance(count := options.get("seeds"), int):
        if repeats or precision or budget:
            raise UserError("--seeds with a number says how often: leave out --repeats, --precision and --budget.")
        return {"repeats": count, "seeds": "different"}
    if repeats and (precision or budget):
        raise UserError("--repeats fixes how often cells are measured: leave it out, or --precision and --budget.")
    small = options.get("profile") == "smoke" and not (precision or budget)
    if repeats or small or "repeats" not in options:
        return {}
    usual = [
        seconds
        for further in hooks.further_options(options["command"])
        for name, seconds in further.budget.items()
        if options.get(name)
    ]
    return {"precision": precision or PRECISION, "budget": budget or min(usual, default=BUDGET)}


def data_folder() -> Path | None:
    """The folder with the published files that the user named, if any."""
    mirror = os.environ.get("KBENCH_DATA")
    return paths.with_home(mirror).absolute() if mirror else None


def chosen_baseline(baseline: str | None, names: Iterable[str]) -> str:
    """The backend of --baseline, one of a run's; empty if it is not given. Raises UserError."""
    return "" if baseline is None else selection.select_baseline(baseline, names)


def check_one_value_each(options: Options) -> None:
    """Raises UserError if an option has several values, of a command that measures one of each."""
    for _, asked in asked_by(options["command"]):
        value = options.get(asked.dest) or ()
        if options["command"] in asked.single and len(value.split(",") if isinstance(value, str) else value) > 1:
            raise UserError(f"{asked.option}: `{options['command']}` takes one value; `run` takes several.")


def chosen_pythons(options: Options, known: Mapping[str, Backend]) -> dict[str, Choice]:
    """Backend -> its Python by --python. Raises UserError."""
    chosen: dict[str, Choice] = {}
    for text in options["python"]:
        names, choice = interpreters.parse_python_option(text, known)
        chosen.update(dict.fromkeys(names, choice))
    return chosen


def passed_variables(options: Options) -> tuple[str, ...]:
    """The names of --pass-env, each once. Raises UserError."""
    named: Sequence[str] = options.get("pass_env", ())
    for name in named:
        if "=" in name:
            raise UserError(
                f"--pass-env takes only the name of a variable, {name.partition('=')[0]!r}: set its value before, "
                "because the command line is kept with the results"
            )
        if name.upper().startswith("KERAS_"):
            raise UserError(f"--pass-env {name}: every cell has its own keras.json, which this would override")
        if name not in os.environ:
            raise UserError(f"--pass-env {name}: there is no such environment variable")
    return tuple(dict.fromkeys(named))


def output(options: Options) -> Output:
    """What is shown. Raises UserError, before anything is measured."""
    return Output(
        form=options["format"],
        shown=columns.named(options.get("columns", ())),
        plots=options.get("plots", True),
        detail=VERBOSE if options.get("verbose") else USUAL,
        outputs=options.get("show_output", False),
    )


def command_line(options: Options) -> str:
    """What the user typed, as results keep it."""
    return shlex.join([*arguments.program().split(), *options["argv"]])
