"""A run on a cluster: connects, gives blocks to machines, keeps what they measure, prints the tables."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from kbench import store
from kbench.datasets import REAL
from kbench.errors import Refused
from kbench.features.cluster import addresses, folder, machines, orders
from kbench.features.cluster.folder import ClusterRun
from kbench.features.cluster.messages import Tried
from kbench.features.cluster.orders import Orders
from kbench.features.cluster.schedule import Schedule
from kbench.features.cluster.tables import Rows, machines_csv, table
from kbench.features.coverage import cover
from kbench.features.coverage import finish as finish_coverage
from kbench.machine import devices
from kbench.outputs.told import ToldRun
from kbench.planning.plan import is_acceptable, make_plan
from kbench.planning.request import Request
from kbench.records import axes
from kbench.screen import output, terminal
from kbench.screen.output import Output
from kbench.selection.known import known_backends
from kbench.session import interrupts, measure
from kbench.session.data import AUTO
from kbench.store import RunResults
from kbench.tables import markdown, text


@dataclass(frozen=True)
class Cluster:
    """Where a run is measured, and what its machines choose for themselves."""

    on: str  # its address, hosts or file
    device: str  # as given to --device
    threads: tuple[int, ...] | None  # None: each machine's cores
    spread: bool = False  # whether every kind of machine measures everything
    select: str = ""  # which machines


def check(cluster: Cluster) -> None:
    """Raises UserError if something of it has not the right form, or what it needs is not installed."""
    addresses.check(cluster.on)
    machines.selection(cluster.select)
    for device in cluster.device.split(","):
        devices.parsed(device)


def start(
    request: Request,
    cluster: Cluster,
    results: Path,
    wanted: Output,
    *,
    name: str | None,
    argv: Sequence[str],
    dry_run: bool = False,
) -> int:
    """Measure the request there; returns the exit status. `argv` is kept with the results. Raises UserError."""
    if request.data_source == AUTO:
        # Machines that chose for themselves might give the repeats of a row different data.
        request = replace(request, data_source=REAL)
    parent = measure.check_folder(request, results, name)
    plan = make_plan(request, known_backends(), (), report=terminal.print_note)
    record = ClusterRun(
        on=cluster.on,
        request=orders.sent(request, len(plan.examples), cluster.threads),
        device=cluster.device,
        blocks=orders.blocks(request, plan.examples),
        argv=tuple(argv),
        spread=cluster.spread,
        select=cluster.select,
    )
    _print_plan(record, f", profile {request.profile}", sys.stdout if dry_run else wanted.beside)
    return 0 if dry_run else _begin(parent, record, wanted, name)


def start_coverage(
    request: Request,
    cluster: Cluster,
    results: Path,
    tried: Tried,
    *,
    name: str | None,
    argv: Sequence[str],
    fail_on: Collection[str] = (),
    dry_run: bool = False,
) -> int:
    """Try Keras's public names there; returns the exit status. `argv` is kept with the results. Raises UserError."""
    parent = measure.check_folder(request, results, name)
    cover.planned(request, ())
    record = ClusterRun(
        on=cluster.on,
        request=orders.sent(request, 1, cluster.threads),
        device=cluster.device,
        blocks=orders.blocks_of_coverage(request),
        argv=tuple(argv),
        select=cluster.select,
        tried=tried,
    )
    _print_plan(record, "", sys.stdout)
    return 0 if dry_run else _begin(parent, record, Output(), name, fail_on)


def _begin(parent: Path, record: ClusterRun, wanted: Output, name: str | None, fail_on: Collection[str] = ()) -> int:
    addresses.check_packages(record.on)
    made = Orders(record)
    run = folder.create(parent, record, name)
    with store.filling(run):
        try:
            return _measure(run, record, made, wanted, fail_on)
        except cover.NoSuchName:
            shutil.rmtree(run, ignore_errors=True)  # there is nothing in it to go on with
            raise


def go_on(run: Path, on: str | None, wanted: Output) -> int:
    """Measure the blocks that are missing, at the new address `on`; returns the exit status. Raises UserError."""
    record = folder.read(run)
    record = replace(record, on=on or record.on)
    addresses.check(record.on)
    addresses.check_packages(record.on)
    with store.filling(run):
        return _measure(run, record, Orders(record), wanted)


def _print_plan(record: ClusterRun, profile: str, file: TextIO) -> None:
    """`profile`: in words, behind the number of blocks."""
    examples = list(dict.fromkeys(block.example for block in record.blocks))
    each = ", each on every kind of machine" if record.spread else ""
    lines = [
        f"Plan: {len(record.blocks)} block{'s' * (len(record.blocks) != 1)}{each}{profile}",
        f"  backends   {', '.join(record.request['backends'])}",
        *(_of_coverage(record.tried, examples) if record.tried else _of_examples(examples, record)),
        *_of_workers(record.request["values"].get(axes.WORKERS, ()), orders.machines(record.request)),
        f"  on         {record.on}{f', machines with {record.select}' if record.select else ''}",
    ]
    print("\n".join(lines), file=file, flush=True)


def _of_examples(examples: Sequence[str], record: ClusterRun) -> list[str]:
    return [f"  examples   {', '.join(examples)}", f"  repeats    {record.request['repeats']}"]


def _of_coverage(tried: Tried, generations: Sequence[str]) -> list[str]:
    return [
        f"  names      {tried.only or 'all public ones'}{', a case of each' if tried.quick else ''}",
        f"  blocks     {', '.join(generations)}: all backends of a generation of Keras on one machine",
    ]


def _of_workers(counts: Sequence[int], machines_each: int) -> list[str]:
    """Where several workers are."""
    if max(counts, default=1) == 1:
        return []
    where = (
        f"each on a machine of its own, of {machines_each}" if machines_each > 1 else "all of a cell on one machine"
    )
    return [f"  workers    {', '.join(map(str, counts))}: {where}"]


def _measure(run: Path, record: ClusterRun, made: Orders, wanted: Output, fail_on: Collection[str] = ()) -> int:
    machines_each = orders.machines(record.request)
    schedule = Schedule(record.blocks, record.spread, folder.finished_blocks(run), machines_each)
    status = 0
    with interrupts.ended_as_interrupted():
        try:
            if schedule.open or record.spread:
                _on_cluster(run, record, made, schedule, terminal.print_note)
        except KeyboardInterrupt:
            print("kbench: interrupted; the blocks that were measured are kept.", file=sys.stderr)
            status = interrupts.INTERRUPTED_STATUS
        except ConnectionError as error:
            print(f"kbench: error: {error}; the blocks that were measured are kept.", file=sys.stderr)
            status = 1
        for block in schedule.given_up:
            print(f"kbench: {block.title}: given up; {run / folder.ATTEMPTS} says why.", file=sys.stderr)
        ended = finish(run, wanted, fail_on)
        return status or ended


def _on_cluster(run: Path, record: ClusterRun, made: Orders, schedule: Schedule, say: Callable[[str], None]) -> None:
    """Have all open blocks measured. Raises ConnectionError if the scheduler is gone, or UserError."""
    from kbench.features.cluster.fleet import Fleet  # which needs Dask
    from kbench.features.cluster.loop import Loop

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


def finish(run: Path, wanted: Output, fail_on: Collection[str] = ()) -> int:
    """Write and print the tables of each kind of machine, and of all; returns the exit status. Raises UserError."""
    record = folder.read(run)
    for kind in folder.kinds(run):
        folder.join(run, kind)
    there = [store.read(kind) for kind in store.machines(run)]
    missing = len(record.blocks) * max(1, len(there) * record.spread) - len(folder.finished_blocks(run))
    if record.tried:
        if not missing:
            cover.check_names([one for of in there for one in of.measured], record.tried.only)
        statuses = [finish_coverage.finish(one, fail_on, of_cluster=True) for one in there]
    else:
        _show(run, there, wanted)
        named = record.request["named_backends"], record.request["named_examples"]
        statuses = [int(not is_acceptable(*named, one.measured)) for one in there]
    if missing:
        blocks, command = f"{missing} block{'s' * (missing != 1)}", terminal.resume_command(run)
        print(f"Not measured: {blocks}; continue with `{command}`.", file=sys.stderr)
    return int(bool(missing) or any(statuses))


def _show(run: Path, there: Sequence[RunResults], wanted: Output) -> None:
    """Write and print the tables of runs that time something."""
    from kbench.features.cluster import outputs  # which needs matplotlib

    kinds = outputs.by_kind(there)
    rows = outputs.rows_of(kinds)
    try:
        outputs.write(run, kinds, wanted.plots)
    except Refused:  # they can be shown all the same
        _print_tables(run, kinds, rows, wanted)
        raise
    _print_tables(run, kinds, rows, wanted)


def _print_tables(run: Path, kinds: Mapping[str, ToldRun], rows: Rows, wanted: Output) -> None:
    """Print the tables of each kind of machine; several kinds are also printed side by side."""
    if wanted.form == "csv":
        terminal.print_text(machines_csv(rows).rstrip())
        return
    for name, one in kinds.items():
        if wanted.form != "json" and len(kinds) > 1:
            terminal.print_text(f"\n=== {name}")
        output.print_rows(one, wanted)
    if len(kinds) > 1 and wanted.form != "json":
        together = [table(rows)]
        as_text = wanted.form == terminal.TABLE
        terminal.print_text(
            f"\n{text.together(together, terminal.width(), '')}" if as_text else markdown.together(together)
        )
    terminal.print_folder(run, "Tables, plots and raw measurements", "report.html", wanted.beside)
