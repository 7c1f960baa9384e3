"""A run on a cluster: connects, gives blocks to machines, keeps what they measure, prints the tables."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from kbench import store
from kbench.cli import arguments
from kbench.cluster import addresses, folder, machines, orders
from kbench.cluster.folder import ClusterRun
from kbench.cluster.orders import Orders
from kbench.cluster.schedule import Schedule
from kbench.datasets import REAL
from kbench.errors import Refused, UserError
from kbench.machine import devices
from kbench.planning import plan
from kbench.session import choices, interrupts, measure, output, terminal
from kbench.session.data import AUTO
from kbench.tables import markdown, text
from kbench.tables.machines import Rows, machines_csv, table


def start(options: argparse.Namespace) -> int:
    """Measure the request of `run --on`; returns the exit status. Raises UserError."""
    if options.export:
        raise UserError("--export is for a run on one machine: each kind's summary files are in its folder.")
    addresses.check(options.on)
    selected = options.select or ""
    machines.selection(selected)
    for device in options.device.split(","):
        devices.parsed(device)
    on_cpu = argparse.Namespace(**{**vars(options), "device": "cpu"})  # this machine measures nothing
    request = choices.request(on_cpu, choices.known_backends(), ())
    if request.data_source == AUTO:
        # Machines that chose for themselves might give the repeats of a row different data.
        request = replace(request, data_source=REAL)
    parent = measure.place(options, request)
    the_plan = plan.make(request, choices.known_backends(), (), report=terminal.say)
    record = ClusterRun(
        on=options.on,
        request=orders.sent(request, the_plan.examples, options.threads),
        device=options.device,
        blocks=orders.blocks(request, the_plan.examples),
        argv=(*arguments.program().split(), *options.argv),
        spread=options.spread,
        select=selected,
    )
    _print_plan(record, options)
    if options.dry_run:
        return 0
    addresses.check_packages(options.on)
    made = Orders(record)
    run = folder.create(parent, record, options.name)
    with store.filling(run):
        return _measure(run, record, made, options)


def go_on(run: Path, options: argparse.Namespace) -> int:
    """Measure the blocks that are missing; returns the exit status. Raises UserError."""
    if options.budget is not None or options.retry:
        raise UserError("A run on a cluster is resumed by its blocks: leave out --budget and --retry.")
    record = folder.read(run)
    record = replace(record, on=options.on or record.on)
    addresses.check(record.on)
    addresses.check_packages(record.on)
    with store.filling(run):
        return _measure(run, record, Orders(record), options)


def _print_plan(record: ClusterRun, options: argparse.Namespace) -> None:
    if options.detail == terminal.QUIET and not options.dry_run:
        return
    examples = list(dict.fromkeys(block.example for block in record.blocks))
    each = ", each on every kind of machine" if record.spread else ""
    lines = [
        f"Plan: {len(record.blocks)} block{'s' * (len(record.blocks) != 1)}{each}, profile {options.profile}",
        f"  backends   {', '.join(record.request['backends'])}",
        f"  examples   {', '.join(examples)}",
        f"  repeats    {record.request['repeats']}",
        f"  on         {record.on}{f', machines with {record.select}' if record.select else ''}",
    ]
    alone = options.dry_run or options.format == terminal.TABLE
    print("\n".join(lines), file=sys.stdout if alone else sys.stderr, flush=True)


def _measure(run: Path, record: ClusterRun, made: Orders, options: argparse.Namespace) -> int:
    quiet = options.detail == terminal.QUIET
    say: Callable[[str], None] = (lambda line: None) if quiet else terminal.say
    schedule = Schedule(record.blocks, record.spread, folder.measured(run))
    status = 0
    with interrupts.ended_as_interrupted():
        try:
            if schedule.open or record.spread:
                _on_cluster(run, record, made, schedule, say)
        except KeyboardInterrupt:
            print("kbench: interrupted; the blocks that were measured are kept.", file=sys.stderr)
            status = interrupts.INTERRUPTED_STATUS
        except ConnectionError as error:
            print(f"kbench: error: {error}; the blocks that were measured are kept.", file=sys.stderr)
            status = 1
        for block in schedule.given_up:
            print(f"kbench: {block.title}: given up; {run / folder.ATTEMPTS} says why.", file=sys.stderr)
        ended = finish(run, options)
        return status or ended


def _on_cluster(run: Path, record: ClusterRun, made: Orders, schedule: Schedule, say: Callable[[str], None]) -> None:
    """Have all open blocks measured. Raises ConnectionError if the scheduler is gone, or UserError."""
    from kbench.cluster.fleet import Fleet  # which needs Dask
    from kbench.cluster.loop import Loop

    client, cluster = addresses.connect(record.on, say)
    try:
        if "dashboard" in client.scheduler_info(n_workers=0)["services"]:
            say(f"Dask's dashboard: {client.dashboard_link}")
        fleet = Fleet(client, machines.this_machine(), machines.selection(record.select), say)
        Loop(run, fleet, made, schedule, say).run()
    finally:
        with contextlib.suppress(Exception):  # it may be gone
            client.close()
        if cluster is not None:
            cluster.close()


def finish(run: Path, options: argparse.Namespace) -> int:
    """Write and print the tables of each kind of machine, and of all; returns the exit status. Raises UserError."""
    from kbench.outputs import several_machines  # which needs matplotlib

    record = folder.read(run)
    for kind in folder.kinds(run):
        folder.join(run, kind)
    there = [store.read(kind) for kind in store.machines(run)]
    try:
        rows = several_machines.write(run, there, options.plots)
    except Refused:  # they can be shown all the same
        _show(run, there, several_machines.rows_of(there), options)
        raise
    _show(run, there, rows, options)
    missing = len(record.blocks) * max(1, len(there) * record.spread) - len(folder.measured(run))
    if missing:
        print(f"Not measured: {missing} block{'s' * (missing != 1)}; {terminal.resuming(run)}", file=sys.stderr)
    named = record.request["named_backends"], record.request["named_examples"]
    return int(bool(missing) or not all(plan.acceptable(*named, one.measured) for one in there))


def _show(run: Path, there: Sequence[store.RunResults], rows: Rows, options: argparse.Namespace) -> None:
    """Print the tables of each kind of machine; several kinds are also printed side by side."""
    wanted = replace(output.asked(options), files=())
    if options.format == "csv":
        terminal.show(machines_csv(rows).rstrip())
        return
    for one, (name, found) in zip(there, rows.items(), strict=True):
        if options.format != "json" and len(there) > 1:
            terminal.show(f"\n=== {name}")
        output.print_rows(one, found, wanted)
    if len(there) > 1 and options.format != "json":
        together = [table(rows)]
        as_text = options.format == terminal.TABLE
        terminal.show(
            f"\n{text.together(together, terminal.width(), '')}" if as_text else markdown.together(together)
        )
    beside = None if options.format == terminal.TABLE else sys.stderr
    terminal.print_folder(run, "Tables, plots and raw measurements", "report.html", beside)
