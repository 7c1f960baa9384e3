"""Completes commands, options and names in the shell, with argcomplete."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable

from kbench import hooks, store
from kbench.base import paths
from kbench.cli import arguments
from kbench.errors import UserError
from kbench.records.values import bare
from kbench.selection import backends, examples

ASKED = "_ARGCOMPLETE"  # set by the shell if it asks


def answer() -> None:
    """Answer the shell and exit, if it asks; otherwise do nothing."""
    if ASKED not in os.environ:
        return
    import argcomplete

    argcomplete.autocomplete(_parser())


def _parser() -> argparse.ArgumentParser:
    """All commands at once; without one, the options are those of `run`."""
    parser = argparse.ArgumentParser()
    _add(parser, "run")
    commands = parser.add_subparsers()
    for command, one in arguments.commands().items():
        _add(commands.add_parser(command, help=one.about), command)
    return parser


def _add(parser: argparse.ArgumentParser, command: str) -> None:
    arguments.add_options(parser, command)
    known = [*_NAMES.items()]
    known += [((name,), names) for one in hooks.further_options(command) for name, names in one.completions.items()]
    for action in parser._actions:
        for destinations, names in known:
            if action.dest in destinations:
                action.completer = _last_of_list(names)  # type: ignore[attr-defined]


def _last_of_list(names: Callable[[], Iterable[str]]) -> Callable[..., list[str]]:
    """Completes the last entry of a list with commas."""

    def complete(prefix: str, **_: object) -> list[str]:
        before, comma, _last = prefix.rpartition(",")
        try:
            return [f"{before}{comma}{name}" for name in names()]
        except UserError:
            return []

    return complete


def _backends() -> list[str]:
    known = list(backends.load_all(paths.project_folder("backends")))
    generations = dict.fromkeys(name.partition("/")[0] for name in known)
    return ["all", *generations, *known, *dict.fromkeys(filter(None, map(bare, known)))]


_NAMES: dict[tuple[str, ...], Callable[[], list[str]]] = {
    ("backends", "backend", "baseline"): _backends,
    ("examples", "example"): lambda: ["core", "all", *examples.load_all(paths.project_folder("examples_models"))],
    ("like",): lambda: [path.stem for path in examples.files()],
    ("run", "runs"): lambda: ["latest", *store.names(paths.with_home("results"))],
}
