"""Has a run measured under the user's eyes, then writes and prints its tables, and how to continue."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable

from kbench import store
from kbench.analysis.rows import open_rows
from kbench.analysis.times.settling import Gain
from kbench.errors import Interrupted, Refused, Stopped, UserError
from kbench.outputs.told import ToldRun
from kbench.planning import request as requests
from kbench.planning.plan import is_acceptable
from kbench.screen import output, terminal
from kbench.screen.listener import Screen
from kbench.screen.output import Output
from kbench.session import interrupts
from kbench.session.events import OnEvent
from kbench.store import RunResults


def measure_and_finish(measure: Callable[[OnEvent], RunResults], screen: Screen, wanted: Output) -> int:
    """Have `measure` measure a run, and finish it; returns the exit status. Raises UserError."""
    with interrupts.ended_as_interrupted():
        try:
            results = measure(screen)
        except Interrupted as interrupted:
            with contextlib.suppress(OSError):  # the terminal may be gone
                finish(store.read(interrupted.run), wanted)
                print("kbench: interrupted; what was measured is kept.", file=sys.stderr)
            return interrupts.INTERRUPTED_STATUS
        except Stopped as stopped:
            raise how_to_go_on(stopped) from stopped
        return finish(results, wanted, screen.nothing, screen.gain)


def how_to_go_on(stopped: Stopped) -> UserError:
    """The same error with the command that goes on."""
    command = terminal.resume_command(stopped.run)
    return UserError(f"{str(stopped).rstrip('.')}; once that is fixed, continue with `{command}`.")


def finish(results: RunResults, wanted: Output, instead: str = "", gain: Gain | None = None) -> int:
    """Print and write the tables, and how to continue, or a sentence `instead`; returns the exit status.

    `gain`: what the last processes of open rows brought.
    """
    precision, analysis = results.request.get("precision"), ToldRun(results)
    try:
        output.print_rows(analysis, wanted)  # first: to draw takes seconds
        sys.stdout.flush()
    finally:  # whoever reads that may have gone
        write(analysis, wanted.plots)
    output.print_written(results, wanted)
    if instead:
        terminal.print_sentence(instead, wanted.beside)
    elif precision:  # else nothing is repeated, and what could not be compared says so and why
        said, found = bool(analysis.on_machine), open_rows(analysis.rows, precision)
        terminal.print_open(results, found, precision, wanted.beside, gain, said)
    terminal.print_how_to_resume(results, wanted.beside)
    return status(results)


def status(results: RunResults) -> int:
    """The exit status: 0 where all that was asked for is ok."""
    asked = requests.read(results.request, results.folder)
    return 0 if is_acceptable(asked.named_backends, asked.named_examples, results.measured) else 1


def write(analysis: ToldRun, plots: bool) -> None:
    """Write what is derived from a run. Raises UserError."""
    from kbench.outputs import one_run  # not above: matplotlib takes half a second to load

    try:
        one_run.rebuild(analysis, plots=plots)
    except Refused as error:
        terminal.print_how_to_resume(analysis.run, sys.stderr)
        command = terminal.report_command(analysis.folder)
        raise UserError(
            f"{str(error).rstrip('.')}; once that is fixed, `{command}` writes what is missing."
        ) from error
