"""`run` and `script`: plan, prepare, measure, print the tables."""

from __future__ import annotations

import argparse
import shlex
from functools import partial

from kbench.cluster import session
from kbench.cluster.session import Cluster
from kbench.commands import choices
from kbench.commands.choices import Options
from kbench.errors import UserError
from kbench.machine import devices
from kbench.screen import finish, terminal
from kbench.screen.listener import Screen
from kbench.selection.known import known_backends
from kbench.session import measure, prepare


def main(options: argparse.Namespace) -> int:
    """Measure the request; returns the exit status. Raises UserError."""
    return _run(vars(options))


def _run(options: Options) -> int:
    if options.get("on"):
        return _on_cluster(options)
    if options.get("spread") or options.get("select"):
        raise UserError("--spread and --select are for a cluster: name it with --on.")
    if options.get("worker_per_machine"):
        raise UserError("--worker-per-machine is for a cluster: name it with --on.")
    request = choices.request(options, known_backends(), devices.gpus())
    wanted = choices.output(options)
    results, name = options["results"], options["name"]
    if options["dry_run"]:
        measure.check_folder(request, results, name)
        plan = measure.planned(request, Screen())
        terminal.print_plan(plan, prepare.to_make(plan))
        return 0
    start = partial(
        measure.measure,
        request,
        results,
        name=name,
        command=choices.command_line(options),
    )
    return finish.measure_and_finish(start, Screen(wanted.detail, wanted.beside, outputs=wanted.outputs), wanted)


def _on_cluster(options: Options) -> int:
    """Measure on the machines of --on; this one measures nothing."""
    if options["explain"] or options["trace"]:
        raise UserError("--explain and --trace are for a run on one machine: leave them out, or --on.")
    if options.get("suite"):
        raise UserError("--suite depends on the cores of one machine: leave out --on.")
    if options["export"]:
        raise UserError("--export is for a run on one machine: each kind's summary files are in its folder.")
    if options["worker_per_machine"] and max(options["workers"] or (1,)) == 1:
        raise UserError("--worker-per-machine is for several workers: ask for them with --workers, such as 1,2.")
    cluster = Cluster(
        on=options["on"],
        device=options["device"],
        threads=options["threads"],
        spread=options["spread"],
        select=options["select"] or "",
    )
    session.check(cluster)
    request = choices.request({**options, "device": "cpu"}, known_backends(), ())
    argv = shlex.split(choices.command_line(options))
    return session.start(
        request,
        cluster,
        options["results"],
        choices.output(options),
        name=options["name"],
        argv=argv,
        dry_run=options["dry_run"],
    )
