"""`kbench.run(...)` and `kbench.script(...)`: the commands from Python, for notebooks and programs."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping, Sequence
from os import PathLike

from kbench import store
from kbench.cli import arguments
from kbench.commands import run
from kbench.errors import UserError
from kbench.exports import dataframes
from kbench.exports.dataframes import RunData

Word = str | int | float | bool | PathLike[str] | None


def measured(
    command: str, place: Sequence[str], behind: Sequence[str], words: Mapping[str, Word | Sequence[Word]]
) -> RunData:
    """Run the command with these options, named as on the command line; returns its results. Raises UserError."""
    argv = [command, *place]
    for name, value in words.items():
        argv += _option(f"--{name.replace('_', '-')}", value)
    options = arguments.parse([*argv, *(["--", *behind] if behind else [])])
    if options.dry_run:
        raise UserError("dry_run measures nothing, so there is nothing to return: leave it out.")
    if getattr(options, "on", None):
        raise UserError("on=... gives a run for each kind of machine: use the command line, then kbench.load(...).")
    results = options.results.absolute()
    before = {path.parent for path in results.glob("*/run.json")}
    with contextlib.redirect_stdout(io.StringIO()):  # tables come as DataFrames
        status = run.main(options)
    made = {path.parent for path in results.glob("*/run.json")} - before
    return dataframes.data(store.read(results / options.name if options.name else max(made)), status)


def _option(name: str, value: Word | Sequence[Word]) -> list[str]:
    """The option as the command line has it: True is a flag, a list one with commas."""
    if value is None or isinstance(value, bool):
        return [name] if value else []
    return [name, ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)]
