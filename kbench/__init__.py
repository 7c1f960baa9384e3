"""kbench: the same Keras models, measured on every Keras backend.

From Python: `run` and `script` measure like the commands and return DataFrames, `load` returns those of an earlier
run, and `request` and `measure` are what stands below all of them.
"""

from __future__ import annotations

from kbench.version import __version__

TYPE_CHECKING = False  # without importing typing: run.py imports this before there are any packages
if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from kbench.cli.words import OptionValues
    from kbench.outputs.dataframes import RunData
    from kbench.planning.request import Request
    from kbench.session.events import OnEvent
    from kbench.store import RunResults

__all__ = ["__version__", "load", "measure", "request", "run", "script"]

# Everything is imported when it is called: whoever asks only for the version needs no packages.


def run(
    backends: str | Sequence[str], examples: str | Sequence[str] | None = None, **options: OptionValues
) -> RunData:
    """Measure examples on backends like the command `run`; returns the measurements as pandas DataFrames.

    Without `examples` the core ones. options: those of the command line, with underscores: `profile="smoke",
    repeats=3, no_plots=True`. The run's folder is in `results`, or in `results=`. In a notebook the value shows its
    tables and plots. Raises kbench.errors.UserError, with one sentence, if the request is wrong.
    """
    from kbench.commands import from_python

    return from_python.run_command("run", {"backends": backends, "examples": examples, **options})


def script(
    file: str | PathLike[str],
    backends: str | Sequence[str],
    arguments: Sequence[str] = (),
    **options: OptionValues,
) -> RunData:
    """Measure your own Keras program like the command `script`; `arguments` are passed to the program.

    See `run` for the rest.
    """
    from kbench.commands import from_python

    return from_python.run_command("script", {"file": file, "backends": backends, **options}, arguments)


def load(run: str | PathLike[str] = "latest", results_folder: str | PathLike[str] = "results") -> RunData:
    """A run, by name, folder or packed file, as DataFrames: `.summary`, `.epochs`, `.cells`, and `.provenance`."""
    from kbench.outputs import dataframes

    return dataframes.load(run, results_folder)


def request(
    backends: str | Sequence[str],
    examples: str | Sequence[str] | None = None,
    script: str | PathLike[str] | None = None,
    arguments: Sequence[str] = (),
    **options: OptionValues,
) -> Request:
    """What to measure, for `measure`: a value that says all of it, and can be changed by `dataclasses.replace`.

    With `script`, a program of yours with its `arguments` instead of examples. options: those of the command line
    that say what is measured and how. Raises kbench.errors.UserError.
    """
    from kbench.commands import from_python

    return from_python.request(backends, examples, script, arguments, options)


def measure(
    request: Request,
    folder: str | PathLike[str] = "results",
    on_event: OnEvent | None = None,
    name: str | None = None,
) -> RunResults:
    """Measure a request as a new run below `folder`; returns its measurements. Prints, draws and writes no tables.

    `on_event` is called with each event of kbench.session.events as it happens. `name` is that of the run's own
    folder, the current time if it is not given. Raises kbench.errors.UserError; once cells run, that is a Stopped, or
    an Interrupted (a KeyboardInterrupt) if the user ends the run: their `run` is the folder with what was measured.
    """
    from pathlib import Path

    from kbench.session import events
    from kbench.session.measure import measure

    return measure(request, Path(folder), on_event or events.ignore, name=name, command="kbench.measure(...)")
