"""`coverage`: what each of Keras's public names does on each backend, and whether it is right."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from kbench import store
from kbench.base import paths
from kbench.commands import choices
from kbench.errors import Interrupted, Stopped, UserError
from kbench.features.coverage import cover
from kbench.features.coverage import finish as finish_coverage
from kbench.features.coverage.progress import EXTENT, CoverageScreen, OnCoverageEvent
from kbench.machine import devices
from kbench.planning.request import ChosenPython, Request
from kbench.records import axes
from kbench.records.values import EXPORT, NATIVE, Device
from kbench.screen import terminal
from kbench.screen.finish import how_to_go_on
from kbench.selection import names
from kbench.selection.known import known_backends
from kbench.session import interrupts, prepare
from kbench.store import RunResults


def main(options: argparse.Namespace) -> int:
    """Try, compare and print; returns the exit status. Raises UserError."""
    asked = request(vars(options))
    if options.dry_run:
        plan = cover.planned(asked)
        terminal.print_plan(plan, prepare.to_make(plan), EXTENT)
        return 0
    start = partial(
        cover.cover,
        asked,
        options.results,
        only=options.only,
        quick=options.quick,
        name=options.name,
        command=choices.command_line(vars(options)),
    )
    return _try_and_finish(start, CoverageScreen(sys.stdout), options.fail_on)


def resume(run: Path, options: argparse.Namespace) -> int:
    """Try what is missing of a coverage run. Raises UserError."""
    if options.budget is not None or options.packages or options.arguments:
        raise UserError(f"{run} is a coverage run, of which no row is open: leave out --budget and --with.")
    command = choices.command_line(vars(options))
    start = partial(cover.resume, run, retried=options.retry, command=command)
    return _try_and_finish(start, CoverageScreen(sys.stdout))


def _try_and_finish(
    start: Callable[[OnCoverageEvent], RunResults], screen: CoverageScreen, fail_on: Sequence[str] = ()
) -> int:
    """Have `start` try the cases, and finish the run; returns the exit status. Raises UserError."""
    with interrupts.ended_as_interrupted():
        try:
            read = start(screen)
        except Interrupted as interrupted:
            with contextlib.suppress(OSError):  # the terminal may be gone
                finish_coverage.finish(store.read(interrupted.run))
                print("kbench: interrupted; what was tried is kept.", file=sys.stderr)
            return interrupts.INTERRUPTED_STATUS
        except Stopped as stopped:
            raise how_to_go_on(stopped) from stopped
        return finish_coverage.finish(read, fail_on)


def request(options: choices.Options, gpus: Sequence[Device] | None = None) -> Request:
    """The request in the options. Raises UserError."""
    choices.check_one_value_each(options)
    of_name = known_backends()
    chosen = names.select_backends(options["backends"], of_name)
    without = [one.name for one in chosen.chosen if one.kind in (NATIVE, EXPORT)]
    if without:
        raise UserError(f"{without[0]} does not run Keras, whose public names are tried: leave it out.")
    pythons = choices.chosen_pythons(options, of_name)
    device = devices.choose(options["device"], devices.gpus() if gpus is None else gpus)
    return Request(
        backends=tuple(one.name for one in chosen.chosen),
        examples=(cover.SUBJECT,),
        seed=options["seed"],
        named_backends=tuple(sorted(chosen.named)),
        pythons={name: ChosenPython(paths.portable(one.path), one.as_is) for name, one in pythons.items()},
        values=choices.values(options) | {axes.DEVICE: (device.label,), axes.THREADS: options["threads"] or (1,)},
        timeout=options["timeout"],
        memory_limit_mib=options["memory_limit_mib"],
        pass_env=choices.passed_variables(options),
    )
