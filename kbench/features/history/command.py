"""`history`: how times, losses, memory and states went over releases and dates."""

from __future__ import annotations

import argparse
import sys

from kbench.errors import UserError
from kbench.features.history import lines, page, reading, told
from kbench.features.history.values import History
from kbench.screen import terminal
from kbench.store.files import replace


def main(options: argparse.Namespace) -> int:
    """Print the history; returns 1 if --fail-on applies. Raises UserError."""
    found = read(options)
    terminal.print_text(told.printed(found, options.format, terminal.width()))
    if options.page:
        replace(options.page, page.page(found), durable=False)
        print(f"Written: {options.page}", file=sys.stderr)
    return 1 if {step.kind for step in found.steps} & {*options.fail_on} else 0


def read(options: argparse.Namespace) -> History:
    """The history of the runs that are named. Raises UserError."""
    read = reading.readings(reading.runs(options.runs, options.results))
    if not read.readings:
        nothing = f"{', '.join(read.others)} time nothing" if read.others else "none of them has a row that ended ok"
        raise UserError(f"There is nothing to tell of these runs: {nothing}.")
    return lines.history(read.readings, read.failed)
