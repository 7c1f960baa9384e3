"""The times of a run's rows, each among those that it takes turns with, and what their processes show of spreads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from kbench.analysis.times import processes, rounds, spreads
from kbench.analysis.times.levels import Numbers
from kbench.analysis.times.processes import Place, Process, RowTime
from kbench.analysis.times.rounds import TurnTimes
from kbench.analysis.times.spreads import Priors, Processes
from kbench.records import axes
from kbench.records.axes import Point, RowKey
from kbench.records.findings import Finding
from kbench.records.values import INTERRUPTED, OK, Measured

SURE = 0.1  # the standard error of a logarithm


def row_times(
    ok: Mapping[RowKey, Sequence[Measured]], short: Mapping[RowKey, Sequence[Measured]], priors: Priors
) -> dict[RowKey, RowTime]:
    """The time of each row among those that it takes turns with.

    ok: the whole processes of each row that ended well; short: those that only timed some steps. A row's time is that
    of its processes that took turns with others, and of epochs for a row without any.
    """
    found: dict[RowKey, RowTime] = {}
    for table, of_rows, apart in _that_count(ok, short, priors):
        times = processes.row_times(table, of_rows)
        found |= {row: replace(time, of_kinds=apart.get(row)) for row, time in times.items()}
    return found


def of_processes(measured: Sequence[Measured], short: Sequence[Measured], priors: Priors) -> dict[str, Process]:
    """The processes that a row's time is made of, by their cells' ids."""
    found = {
        (row, place): process
        for table, _, _ in _that_count(_ok(measured), _by_row(short), priors)
        for row, its in table.items()
        for place, process in its.items()
    }
    known = ((one.cell.id, found.get((one.cell.key, one.cell.place))) for one in (*measured, *short))
    return {name: process for name, process in known if process is not None}


def _that_count(
    ok: Mapping[RowKey, Sequence[Measured]], short: Mapping[RowKey, Sequence[Measured]], priors: Priors
) -> Iterator[tuple[dict[RowKey, dict[Place, Process]], dict[RowKey, Numbers], dict[RowKey, tuple[float, float]]]]:
    """The processes of rows that take turns with each other, and each row's prior. Where whole and short ones are two
    kinds, only the short ones, and the seconds of both.
    """
    for table in _tables(ok, short):
        of_rows = {row: _prior(priors, ok[row]) for row in table}
        apart = processes.of_kinds(table, of_rows)
        for row in apart:  # the short ones do nothing but what is timed
            table[row] = {place: one for place, one in table[row].items() if place[1]}
        yield table, of_rows, apart


def _by_row(measured: Iterable[Measured]) -> dict[RowKey, list[Measured]]:
    found: dict[RowKey, list[Measured]] = {}
    for one in measured:
        found.setdefault(one.cell.key, []).append(one)
    return found


def _ok(measured: Iterable[Measured]) -> dict[RowKey, list[Measured]]:
    return _by_row(one for one in measured if one.outcome.status == OK)


def _tables(
    ok: Mapping[RowKey, Sequence[Measured]], short: Mapping[RowKey, Sequence[Measured]]
) -> list[dict[RowKey, dict[Place, Process]]]:
    """The processes of the rows that take turns with each other, for each set of these."""
    together: dict[Point, dict[RowKey, Sequence[Measured]]] = {}
    for row, repeats in ok.items():
        together.setdefault(row.side_by_side, {})[row] = repeats
    return [processes_of(rows, short) for rows in together.values()]


def _prior(priors: Priors, repeats: Sequence[Measured]) -> Numbers:
    return spreads.prior(priors, spreads.configuration(repeats[0].cell), kind_of_work(repeats))


def observed(
    measured: Sequence[Measured], short: Sequence[Measured], source: str, usual_threads: int
) -> list[Processes]:
    """The rows of a run with several processes, for `spreads.fit`. source: what the run is called; usual_threads: of
    a process on its machine. Of a row whose whole and short processes are two kinds, only the short ones.
    """
    ok = _ok(measured)
    found = []
    for table, _, _ in _that_count(ok, _by_row(short), spreads.shipped()):
        deviations = processes.deviations_of(table)[2] if table else {}
        found += [
            Processes(
                spreads.configuration(ok[row][0].cell, usual_threads),
                kind_of_work(ok[row]),
                tuple(its.values()),
                tuple(one.error or 0.0 for one in table[row].values()),
                source,
                str(row[axes.EXAMPLE]),
            )
            for row, its in deviations.items()
            if len(its) > 1 and _took_turns(ok[row]) and _are_sure(table[row].values())
        ]
    return found


def _took_turns(repeats: Sequence[Measured]) -> bool:
    """Whether their times are of turns: those of epochs hold what the machine did meanwhile, too."""
    return any(epoch.rounds for one in repeats for epoch in one.epochs)


def _are_sure(found: Iterable[Process]) -> bool:
    """Whether each process's own turns tell its time, so that what is left is how processes differ."""
    return all((one.error or 0.0) <= SURE for one in found)


def processes_of(
    ok: Mapping[RowKey, Sequence[Measured]], short: Mapping[RowKey, Sequence[Measured]]
) -> dict[RowKey, dict[Place, Process]]:
    """The processes of rows that were measured together."""
    lengths = {
        row: [length for one in whole for length in rounds.of_process(one).epochs] for row, whole in ok.items()
    }
    by_repeat: dict[int, dict[tuple[RowKey, Place], TurnTimes]] = {}
    for row, whole in ok.items():
        for one in (*whole, *(one for one in short.get(row, ()) if one.outcome.status == OK)):
            turns = rounds.of_process(one)
            if one.cell.timing:  # it has no whole epoch
                turns = replace(turns, epochs=tuple(lengths[row]))
            by_repeat.setdefault(one.cell.repeat, {})[row, one.cell.place] = turns
    table: dict[RowKey, dict[Place, Process]] = {row: {} for row in ok}
    for of_repeat in by_repeat.values():
        for (row, place), process in rounds.of_repeat(of_repeat).items():
            table[row][place] = process
    for row, whole in ok.items():
        if not table[row]:
            table[row] = {one.cell.place: found for one in whole if (found := processes.of_epochs(one))}
    return {row: found for row, found in table.items() if found}


def kind_of_work(repeats: Sequence[Measured]) -> str:
    """Whether a row's model has recurrent layers, whose processes differ by more."""
    return spreads.RECURRENT if any(one.facts.form for one in repeats) else spreads.OTHER


def notes(time: RowTime | None, short: Sequence[Measured]) -> list[Finding]:
    """What is to be said of a row's processes: which are odd, and which short ones did not end well."""
    return [*_of_kinds(time), *_odd(time), *_failed(short)]


def _of_kinds(time: RowTime | None) -> list[Finding]:
    """That whole and short processes have two speeds."""
    if time is None or time.of_kinds is None:
        return []
    whole, short = time.of_kinds
    return [Finding(kind="kinds of process", own=whole, other=short, about={"of": len(time.places)})]


def _odd(time: RowTime | None) -> list[Finding]:
    """Each process that is far off the others, and hardly counts."""
    return [
        Finding(kind="odd process", own=factor, about={"repeat": repeat, "number": number})
        for (repeat, number), factor in (sorted(time.odd.items()) if time else [])
    ]


def _failed(short: Sequence[Measured]) -> list[Finding]:
    """Further processes that did not end well; the row's own status is that of its whole ones."""
    failed = [one for one in short if one.outcome.status not in (OK, INTERRUPTED)]
    if not failed:
        return []
    outcome = failed[0].outcome
    about = {"of": len(short), "status": outcome.status, "reason": outcome.reason}
    return [Finding(kind="failed processes", own=len(failed), about=about)]
