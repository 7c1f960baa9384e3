"""`list`: prints backends and examples, what each can do, and whether it is installed."""

from __future__ import annotations

import argparse
import re
import shlex
import textwrap
from collections.abc import Mapping

from kbench import datasets, hooks
from kbench.base import paths
from kbench.commands import choices, list_runs
from kbench.environments import costs, ensure, interpreters
from kbench.environments.interpreters import Choice
from kbench.errors import Unavailable, Unsupported, UserError
from kbench.machine import devices
from kbench.records import workloads
from kbench.records.values import Backend, Device, Example
from kbench.screen import terminal
from kbench.selection.builds import pick_build
from kbench.selection.known import known_backends, known_examples
from kbench.tables import grid

_BACKENDS = ["backend", "what it is", "can", "Python", "installed"]
_COSTS = ["install (s)", "size (MiB)", "packages", "Python used", "compilers"]  # of data: a table has no room
_VARIABLES = ["backend", "variable", "value"]
_EXAMPLES = ["example", "does", "data", "parameters", "full", "what it is"]
_FEATURES = ["feature", "what it does"]


def main(options: argparse.Namespace) -> int:
    """Print the requested tables. Raises UserError."""
    if options.what == "runs":
        list_runs.print_runs(options.results, options.format)
        return 0
    if options.variables and options.what in ("examples", "features"):
        raise UserError("--variables are those of backends: `list backends --variables`.")
    if options.what == "features":
        shown = {"features": grid.Grid(_FEATURES, [[*one] for one in hooks.of_features().items()])}
        terminal.print_text(grid.printed(shown, options.format, terminal.width()))
        return 0
    known = known_backends()
    if options.variables:
        _print_variables(known, choices.chosen_pythons(vars(options), known), options.format)
        return 0
    shown = _tables(options, known)
    if options.format == "csv" and len(shown) > 1:
        raise UserError("One CSV holds one table: `list backends --format csv` or `list examples --format csv`.")
    terminal.print_text(grid.printed(shown, options.format, terminal.width()))
    if "examples" in shown and options.format == "table":
        core = ", ".join(one.name for one in known_examples().values() if one.core)
        said = f"Without --examples, and as core, these are measured: {core}."
        terminal.print_text(textwrap.fill(said, terminal.width(), initial_indent="\n"))
    return 0


def _tables(options: argparse.Namespace, known: Mapping[str, Backend]) -> dict[str, grid.Grid]:
    """Those of backends and examples."""
    shown = {}
    if options.what in ("all", "backends"):
        device = devices.choose("auto", devices.gpus())
        pythons = choices.chosen_pythons(vars(options), known)
        rows = [_backend(one, device, pythons) for one in known.values()]
        heads = _BACKENDS
        if options.format in ("csv", "json"):
            heads = [*_BACKENDS, *_COSTS]
            rows = [[*row, *_cost(one, device, pythons)] for row, one in zip(rows, known.values(), strict=True)]
        shown["backends"] = grid.Grid(heads, rows)
    if options.what in ("all", "examples"):
        rows = [_example(example) for example in known_examples().values()]
        shown["examples"] = grid.Grid(_EXAMPLES, rows)
    return shown


def _print_variables(known: Mapping[str, Backend], pythons: Mapping[str, Choice], form: str) -> None:
    """What makes backends faster, as a shell takes it."""
    device = devices.choose("auto", devices.gpus())
    found = {one.name: _variables(one, device, pythons) for one in known.values()}
    if form == "table":
        lines = [
            "\n".join([f"# {name}", *(f"export {key}={shlex.quote(value)}" for key, value in some.items())])
            for name, some in found.items()
            if some
        ]
        terminal.print_text("\n\n".join(lines))
    else:
        rows = [[name, key, value] for name, some in found.items() for key, value in some.items()]
        terminal.print_text(grid.printed({"variables": grid.Grid(_VARIABLES, rows)}, form, terminal.width()))


def _variables(backend: Backend, device: Device, pythons: Mapping[str, Choice]) -> dict[str, str]:
    """Those of the backend that make it faster, without the parts that name folders of kbench's own."""
    choice = pythons.get(backend.name)
    try:
        build = pick_build(backend, device, as_is=choice is not None and choice.as_is)
        environment = ensure.find(backend, build, explicit=choice)
    except (Unavailable, Unsupported, UserError):
        return {}
    given = {**backend.variables, **build.variables, **build.locked_variables}
    if environment is not None and environment.folder is not None:
        given = {name: text.replace("{env}", str(environment.folder)) for name, text in given.items()}
    found = {}
    for name in backend.tuned:
        parts = re.split(r"(?<!\\),", given.get(name, ""))
        kept = [part for part in parts if part and not re.search(r"\{(cache|example|compiled|env)\}", part)]
        found.update({name: ",".join(kept)} if kept else {})
    return found


def _backend(backend: Backend, device: Device, pythons: Mapping[str, Choice]) -> list[str]:
    can = " and ".join(task for task in ("train", "infer") if task in backend.can)
    python = ", ".join(backend.python)
    how = [can, python] if backend.builds else ["", ""]  # without a build it never runs
    return [backend.name, backend.title, *how, _installed(backend, device, pythons)]


def _installed(backend: Backend, device: Device, pythons: Mapping[str, Choice]) -> str:
    choice = pythons.get(backend.name)
    try:
        build = pick_build(backend, device, as_is=choice is not None and choice.as_is)
        if ensure.find(backend, build, explicit=choice) is not None:
            return f"yes ({build.name})"
        if choice is not None:
            return f"no: from {choice.path}"
        found = interpreters.at_hand(backend, paths.cache_folder())
        return f"no: made on first use with Python {found.version}"
    except (Unavailable, Unsupported, UserError) as error:
        return f"no: {error}"


def _cost(backend: Backend, device: Device, pythons: Mapping[str, Choice]) -> list[str]:
    """What installing it took here, as far as that is known; the compilers that it needs, installed or not."""
    compilers = " and ".join(ensure.programs(backend))
    choice = pythons.get(backend.name)
    try:
        build = pick_build(backend, device, as_is=choice is not None and choice.as_is)
        made = ensure.find(backend, build, explicit=choice)
    except (Unavailable, Unsupported, UserError):
        made = None
    cost = costs.of(made) if made else None
    if cost is None:
        return ["", "", "", "", compilers]
    python = f"{cost.python}, made by kbench" if cost.python_made else cost.python
    took = cost.recorded
    return [f"{took.seconds:.0f}", f"{took.mib:.0f}", str(took.packages), python, compilers]


def _example(example: Example) -> list[str]:
    full = example.profiles["full"]
    return [
        example.name,
        workloads.workload_for(example.task).does,
        "made by the example" if example.own_data else datasets.title(example.data).partition(":")[0],
        "" if example.parameters is None else f"{example.parameters:,}",
        f"{full.samples:,} x {full.epochs} {workloads.workload_for(example.task).units}",
        example.title,
    ]
