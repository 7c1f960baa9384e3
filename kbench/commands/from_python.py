"""kbench from Python, for notebooks and programs: what `kbench.request`, `kbench.run` and the like do."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from os import PathLike
from typing import Any

from kbench import store
from kbench.base.masking import masked_arguments
from kbench.cli import words
from kbench.cli.words import OptionValues
from kbench.commands import choices
from kbench.errors import Interrupted, Stopped, UserError
from kbench.machine import devices
from kbench.outputs import dataframes
from kbench.outputs.dataframes import RunData
from kbench.outputs.told import ToldRun
from kbench.planning.request import Request
from kbench.screen import finish
from kbench.screen.listener import Screen
from kbench.selection.known import known_backends
from kbench.session import interrupts
from kbench.session.measure import measure

# Options of what is done with a request, which is no part of it.
_NOT_ASKED = (
    "results",
    "name",
    "no_plots",
    "verbose",
    "format",
    "columns",
)


def request(
    backends: str | Sequence[str],
    examples: str | Sequence[str] | None,
    script: str | PathLike[str] | None,
    arguments: Sequence[str],
    given: Mapping[str, OptionValues],
) -> Request:
    """The request for `run` or `script` with these options. Raises UserError."""
    if wrong := [one for one in given if one in _NOT_ASKED]:
        raise UserError(f"{wrong[0]} does not say what is measured: leave it out, or call kbench.run.")
    if script is None:
        return _request(_options("run", {"backends": backends, "examples": examples, **given}, arguments))
    return _request(_options("script", {"file": script, "backends": backends, **given}, arguments))


def run_command(command: str, given: Mapping[str, OptionValues], arguments: Sequence[str] = ()) -> RunData:
    """Do what the command does with these options; returns the measurements. Raises UserError."""
    options = _options(command, given, arguments)
    asked, wanted = _request(options), choices.output(options)
    start = partial(
        measure,
        asked,
        options["results"],
        Screen(wanted.detail, outputs=wanted.outputs),
        name=options["name"],
        command=_as_call(command, given, arguments),
    )
    with interrupts.ended_as_interrupted():
        interrupted = False
        try:
            there = start()
        except Interrupted as ended:
            there, interrupted = store.read(ended.run), True
            print("kbench: interrupted; what was measured is kept.", file=sys.stderr)
        except Stopped as stopped:
            raise finish.how_to_go_on(stopped) from stopped
        analysis = ToldRun(there)
        finish.write(analysis, wanted.plots)
        return dataframes.data(analysis, interrupts.INTERRUPTED_STATUS if interrupted else finish.status(there))


def _options(command: str, given: Mapping[str, OptionValues], arguments: Sequence[str]) -> dict[str, Any]:
    options = words.options(command, given) | {"arguments": tuple(arguments)}
    if options["dry_run"]:
        raise UserError("dry_run measures nothing, so there is nothing to return: leave it out.")
    return options


def _request(options: Mapping[str, Any]) -> Request:
    return choices.request(options, known_backends(), devices.gpus())


def _as_call(command: str, given: Mapping[str, OptionValues], arguments: Sequence[str]) -> str:
    """The call as results keep it, without secrets."""
    values = {**given, **({"arguments": arguments} if arguments else {})}
    return f"kbench.{command}({', '.join(f'{name}={_shown(value)!r}' for name, value in values.items())})"


def _shown(value: OptionValues) -> object:
    if isinstance(value, list | tuple):
        return list(masked_arguments([*map(str, value)]))
    return value if value is None or isinstance(value, int | float) else masked_arguments([str(value)])[0]
