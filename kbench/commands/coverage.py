"""`coverage`: what each of Keras's public names does on each backend, and whether it is right."""

from __future__ import annotations

import argparse
import contextlib
import shlex
import sys
from collections.abc import Callable, Sequence
from functools import partial

from kbench import axes, paths, store
from kbench.cluster import session
from kbench.cluster.messages import Tried
from kbench.cluster.session import Cluster
from kbench.commands import choices
from kbench.errors import Interrupted, Stopped, UserError
from kbench.machine import devices
from kbench.planning.request import ChosenPython, Request
from kbench.screen import finish_coverage, terminal
from kbench.screen.finish import how_to_go_on
from kbench.screen.listener import Screen
from kbench.selection import names
from kbench.selection.known import known_backends
from kbench.session import cover, interrupts, prepare
from kbench.session.events import OnEvent
from kbench.store import RunResults
from kbench.values import EXPORT, NATIVE, Device

EXTENT = "coverage: every public name, a process lists them and others try them"  # in the plan, instead of a profile


def main(options: argparse.Namespace) -> int:
    """Try, compare and print; returns the exit status. Raises UserError."""
    if options.on:
        return _on_cluster(vars(options))
    if options.select:
        raise UserError("--select is for a cluster: name it with --on.")
    request = _request(vars(options))
    if options.dry_run:
        plan = cover.planned(request)
        terminal.print_plan(plan, prepare.to_make(plan), EXTENT)
        return 0
    start = partial(
        cover.cover,
        request,
        options.results,
        only=options.only,
        quick=options.quick,
        name=options.name,
        command=choices.command_line(vars(options)),
    )
    return try_and_finish(start, Screen(plan=sys.stdout, extent=EXTENT), options.fail_on)


def _on_cluster(options: choices.Options) -> int:
    """Try the names on the machines of --on; this one tries nothing."""
    cluster = Cluster(options["on"], options["device"], options["threads"] or (1,), select=options["select"] or "")
    session.check(cluster)
    request = _request({**options, "device": "cpu"}, ())
    return session.start_coverage(
        request,
        cluster,
        options["results"],
        Tried(only=options["only"], quick=options["quick"]),
        name=options["name"],
        argv=shlex.split(choices.command_line(options)),
        fail_on=options["fail_on"],
        dry_run=options["dry_run"],
    )


def try_and_finish(start: Callable[[OnEvent], RunResults], screen: Screen, fail_on: Sequence[str] = ()) -> int:
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


def _request(options: choices.Options, gpus: Sequence[Device] | None = None) -> Request:
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
