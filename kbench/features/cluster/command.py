"""What becomes of `run`, `coverage`, `resume` and `report` on a cluster."""

from __future__ import annotations

import argparse
import shlex

from kbench import hooks, store
from kbench.commands import choices
from kbench.commands.choices import Options
from kbench.errors import UserError
from kbench.features.cluster import session
from kbench.features.cluster.messages import Tried
from kbench.features.cluster.session import Cluster
from kbench.features.coverage import command as coverage
from kbench.planning.request import Request
from kbench.selection.known import known_backends


def instead(options: argparse.Namespace) -> int | None:
    """The exit status of the command; None if it is not about a cluster. Raises UserError."""
    given = vars(options)
    if options.command in ("run", "coverage"):
        if options.on:
            return _measure(given) if options.command == "run" else _cover(given)
        if given.get("spread") or given.get("select"):
            are = "--spread and --select are" if "spread" in given else "--select is"
            raise UserError(f"{are} for a cluster: name it with --on.")
        if given.get("worker_per_machine"):
            raise UserError("--worker-per-machine is for a cluster: name it with --on.")
        return None
    return _resume(options) if options.command == "resume" else _report(options)


def _measure(options: Options) -> int:
    """Measure on the machines of --on; this one measures nothing."""
    kept = [name for one in hooks.further_options("run") if one.kept for name in one.options]
    if given := [name for name in kept if options.get(name.lstrip("-"))]:
        are, them = ("are", "them") if given[1:] else ("is", "it")
        raise UserError(f"{' and '.join(given)} {are} for a run on one machine: leave {them} out, or --on.")
    if options.get("worker_per_machine"):
        options = _one_worker_each(options)
    cluster = Cluster(
        on=options["on"],
        device=options["device"],
        threads=options["threads"],
        spread=options["spread"],
        select=options["select"] or "",
    )
    session.check(cluster)
    request = choices.request({**options, "device": "cpu"}, known_backends(), ())
    return session.start(
        request,
        cluster,
        options["results"],
        choices.output(options),
        name=options["name"],
        argv=shlex.split(choices.command_line(options)),
        dry_run=options["dry_run"],
    )


def _one_worker_each(options: Options) -> Options:
    """The options where each worker has a machine of its own: all measure the same cells. Raises UserError."""
    if max(options["workers"] or (1,)) == 1:
        raise UserError("--worker-per-machine is for several workers: ask for them with --workers, such as 1,2.")
    if options["precision"] or options["budget"]:
        raise UserError(
            "--worker-per-machine: all machines measure a cell as often as --repeats says: leave out --precision "
            "and --budget."
        )
    return {**options, "repeats": options["repeats"] or Request.repeats, "interleave": "off"}


def _cover(options: Options) -> int:
    """Try the names on the machines of --on; this one tries nothing."""
    cluster = Cluster(options["on"], options["device"], options["threads"] or (1,), select=options["select"] or "")
    session.check(cluster)
    request = coverage.request({**options, "device": "cpu"}, ())
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


def _resume(options: argparse.Namespace) -> int | None:
    """Measure the blocks that are missing."""
    wanted = choices.output(vars(options))
    resumed = [name for name, kind in hooks.run_kinds().items() if kind.is_resumed]
    run = store.find(options.run, options.results, timed=True, kinds=resumed).absolute()
    if not store.is_cluster(run):
        if options.on:
            raise UserError(f"{run} was measured on one machine: leave out --on.")
        return None
    if options.budget is not None or options.retry:
        raise UserError("A run on a cluster is resumed by its blocks: leave out --budget and --retry.")
    return session.go_on(run, options.on, wanted)


def _report(options: argparse.Namespace) -> int | None:
    """Write and print the tables of all kinds of machines."""
    wanted = choices.output(vars(options))
    names = list(dict.fromkeys(options.runs)) or ["latest"]
    run = store.find(names[0], options.results)
    if len(names) > 1 or options.output or not store.is_cluster(run):
        return None
    if options.baseline or options.plot_style is not None or options.plot_size is not None:
        raise UserError(f"{run} is of several machines: --baseline and the look of plots are for one of them.")
    session.finish(run, wanted)
    return 0
