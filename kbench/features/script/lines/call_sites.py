"""A script's cell as rows of tables: one for each line that calls a model, one for all else, one for the program."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import msgspec

from kbench.analysis.sameness import not_finite
from kbench.features.script import events
from kbench.features.script.lines import call_costs, call_outputs, sums
from kbench.features.script.lines.asked_lines import numbers
from kbench.features.script.lines.call_costs import CallCost
from kbench.features.script.lines.finding_kinds import NO_CALLS
from kbench.features.script.lines.units import CALL, EPOCH, REST, RUN, STEP
from kbench.records.axes import EXAMPLE, Value
from kbench.records.epochs import Epoch
from kbench.records.findings import Finding
from kbench.records.reported import Described, parse_facts
from kbench.records.values import FAILED, OK, SCRIPT, UNSUPPORTED, Measured
from kbench.words.text import listed

WHOLE = "whole program"
OUTSIDE = "outside Keras"  # all that is in no row of a line
LOOP = "loop, "  # how a line of the program is named that ends a step of a loop of its own
Line = tuple[Value, str]  # a program, and where it calls a model
MATTERS = 0.02  # of the program's time: calls that take less have no table, unless they train or give scores
LATER = (FAILED, UNSUPPORTED)  # how a program may end after calls that returned: these count


def is_fit(site: str) -> bool:
    """Whether a line of a program fits."""
    return site.startswith("fit")


def by_line(
    measured: Sequence[Measured], by_call: bool = True, asked: Collection[int] = frozenset(), says_why: str = ""
) -> list[Measured]:
    """The cells, with those of scripts split by line, in the order in which lines were first called.

    A line that fits often is timed by its calls, or without `by_call` by its epochs. asked: lines that the user wants
    to see, whatever part of the time they take. says_why: the option that finds out why they differ, if any is left.
    """
    if all(one.facts.task != SCRIPT for one in measured):
        return list(measured)
    often = _often(measured) if by_call else frozenset[str]()
    found: dict[Line, list[Measured]] = {}
    for one in measured:
        for part in _sites(one, often, says_why):
            found.setdefault(_line(part), []).append(part)
    found = _one_loop(found)
    small = [name for name in found if not (any(map(_matters, found[name])) or numbers(name[1]) & {*asked})]
    parts = [part for name in small for part in found[name]]
    unlike = {(cell.values[EXAMPLE], cell.site) for cell, _ in call_outputs.compare(parts)}
    shown = [name for name in found if name in unlike or name not in small] or [*found]
    loops = {program for program, site in found if site.startswith(LOOP)}
    parts = [_in_loops(part, loops) for name in shown for part in found[name]]
    taken: dict[str, list[float]] = {}  # by the lines of each cell
    for part in parts:
        taken.setdefault(part.cell.at(site="").id, []).append(part.facts.site_seconds or 0.0)
    shown_of = {part.cell.at(site="").id for part in parts}
    outside = [rest for one in measured for rest in _outside(one, taken.get(one.cell.id, ()))]
    lost: dict[str, Finding] = {}  # by the lines of each cell
    for part in (part for name in found for part in found[name]):
        if (how := not_finite.finding(part)) is not None:
            lost.setdefault(part.cell.at(site="").id, how)
    return [
        *parts,
        *outside,
        *(
            _whole(one, lost.get(one.cell.id), one.cell.id in shown_of, taken.get(one.cell.id, ()))
            for one in measured
        ),
    ]


def _line(part: Measured) -> Line:
    return part.cell.values[EXAMPLE], part.cell.site


def _in_loops(part: Measured, loops: Collection[Value]) -> Measured:
    """The part of a program; of those with loops of their own, steps hold the calls of the model itself."""
    held = part.cell.values[EXAMPLE] in loops and part.cell.site.startswith("call,")
    return with_facts(part, site_seconds=None) if held else part


def _one_loop(lines: dict[Line, list[Measured]]) -> dict[Line, list[Measured]]:
    """The lines of programs whose only loop ends in another line on each backend are one line."""
    loops: dict[Line, list[Line]] = {}
    for program, site in lines:
        if site.startswith(LOOP):  # of the same file or cell of a notebook
            loops.setdefault((program, site.rpartition("line ")[0]), []).append((program, site))
    for (program, before), names in loops.items():
        parts = [part for name in names for part in lines[name]]
        cells = {part.cell.at(site="").id for part in parts}
        if len(names) < 2 or len(cells) < len(parts):
            continue
        ends = [site.rpartition(" ")[2] for _, site in names]
        shown = program, f"{before}lines {listed(sorted(ends, key=int))}"
        merged = [replace(part, cell=part.cell.at(site=shown[1])) for part in parts]
        lines = {shown if name == names[0] else name: lines[name] for name in lines if name not in names[1:]}
        lines[shown] = merged
    return lines


def _often(measured: Sequence[Measured]) -> frozenset[str]:
    """The lines that fit often, on any backend."""
    return frozenset(
        name
        for one in measured
        for name in events.sites(one.facts)
        if len(events.fits(one.facts, name)) >= call_costs.OFTEN
    )


def with_facts(one: Measured, **facts: Any) -> Measured:
    """The process with these facts in place of its own."""
    return replace(one, facts=msgspec.structs.replace(one.facts, **facts))


def _matters(one: Measured) -> bool:
    site, program = one.facts.site_seconds, one.facts.program_seconds
    if site is None or program is None:  # an example, or a program that did not end
        return True
    scored = any(epoch.metrics for epoch in one.epochs)
    return is_fit(one.cell.site) or scored or site > MATTERS * program


def _part(one: Measured, name: str, facts: Mapping[str, Any], **changes: Any) -> Measured:
    """A row of the program, with `facts` in place of those of the whole."""
    cell = replace(one.cell.at(site=name), **changes.pop("of_cell", {}))
    program = one.facts.program
    others = {kind: kept for kind, kept in one.facts.of.items() if kind not in events.OF_LINES}
    whole: dict[str, Any] = {"of": others, "program": None, "notes": ()}
    seconds = None if program is None else program.seconds
    return with_facts(replace(one, cell=cell, **changes), **{**whole, "program_seconds": seconds, **facts})


def _sites(one: Measured, often: frozenset[str], says_why: str) -> Iterable[Measured]:
    program = one.facts.program
    # A call that returned is measured, even if the program failed later.
    ended = replace(one.outcome, status=OK, reason="") if program and one.outcome.status in LATER else one.outcome
    for name, about in events.sites(one.facts).items():
        fits = name.startswith("fit")
        epochs = [epoch for epoch in one.epochs if epoch.site == name]
        calls = call_costs.of_fits(epochs, events.fits(one.facts, name)) if fits else call_costs.of_others(epochs)
        by_call = name in often or not fits
        kept = call_costs.as_epochs(calls, fits) if by_call else _epochs(epochs)
        if not (kept and epochs):  # a fit may end before its first epoch does
            continue
        facts, returned = parse_facts(about.facts), events.returned(one.facts, name)
        in_fits = _in_fits(calls, epochs) if fits else events.InFits()
        yield _part(
            one,
            name,
            {
                **facts,
                "task": about.task,
                "unit": STEP if name.startswith(LOOP) else CALL if by_call else EPOCH,
                "of_kind": events.OfLine(returned, in_fits, says_why),
                "probe_scales": returned.scales if returned else one.facts.probe_scales,
                "site_seconds": in_fits.seconds if fits else call_costs.total(calls),
                "losses": _losses(one, name, epochs),
                "resident": memory_at_ends(one, name, by_call),
                **(call_costs.figures(calls) if calls else {}),
            },
            of_cell={
                "validation_samples": facts.get("validation_samples") or 0,
                "epochs": len(epochs) if fits else call_costs.number(calls),
                "counted": {
                    "samples": int(median(epoch.samples for epoch in epochs)),
                    "batch_size": facts.get("batch_size") or 0,
                },
            },
            epochs=tuple(map(_with_long_names, kept)),
            phases={},
            outcome=one.outcome if program and name == program.broken else ended,
        )


def _losses(one: Measured, name: str, epochs: Sequence[Epoch]) -> tuple[tuple[float | None, float | None], ...]:
    """In training and validation: of all epochs of a fit; of the first and last of other calls: not all are told."""
    if is_fit(name):
        return tuple((epoch.loss, epoch.val_loss) for epoch in epochs)
    told = events.returned(one.facts, name)
    return (*((loss, None) for loss in (told.first_losses if told else ())), (epochs[-1].loss, None))


def memory_at_ends(one: Measured, line: str, by_call: bool) -> tuple[tuple[float, float], ...]:
    """(number, MiB that were held) at the ends of the calls of a line, or of its epochs."""
    epochs = [epoch for epoch in one.epochs if epoch.site == line]
    fits = events.fits(one.facts, line)
    if by_call and fits:
        numbered = [*enumerate((fit.resident_mib for fit in fits), 1)]
    else:
        counts = itertools.accumulate(epoch.calls or 1 for epoch in epochs)
        numbered = [*zip(counts, (epoch.resident_mib for epoch in epochs), strict=True)]
    return tuple((float(number), mib) for number, mib in numbered if mib is not None)


def _epochs(epochs: Sequence[Epoch]) -> list[Epoch]:
    """Those that are shown: the first epoch of another model compiles again, so it is not steady."""
    kept = [epoch for epoch in epochs if epoch.epoch == 1 or not epoch.first]
    return [msgspec.structs.replace(epoch, epoch=number) for number, epoch in enumerate(kept, 1)]


def _in_fits(calls: Sequence[CallCost], epochs: Sequence[Epoch]) -> events.InFits:
    returned = sum(len(one.epochs) for one in calls)
    return call_costs.in_fits(calls, epochs[returned:])


def _outside(one: Measured, taken: Sequence[float]) -> Iterable[Measured]:
    """The row of what the program did outside of the calls that have rows, which took this; none if unknown."""
    if one.facts.program is None or not taken or sums.of_lines(taken, one.facts.program.seconds):
        return
    rest = max(0.0, one.facts.program.seconds - sum(taken))
    facts = {"unit": REST, "site_seconds": rest, "layers": (Described(OUTSIDE, {}, []),)}
    yield _part(one, OUTSIDE, facts, epochs=(Epoch(2, rest, 0),))


def _whole(one: Measured, lost: Finding | None, has_lines: bool, taken: Sequence[float]) -> Measured:
    """lost: what is no finite number in one of its lines; has_lines: whether some have rows; taken: their seconds."""
    program = one.facts.program
    seconds = None if program is None else program.seconds
    ran = one.outcome.seconds if seconds is None else seconds
    # Numbered as a steady one: the program ran once, and all of it counts.
    all_of_it = () if ran is None else (Epoch(2, ran, 0, **_scores(events.figures(one.facts))),)
    alone = program is not None and program.keras and not has_lines and one.outcome.status == OK
    sum_fails = sums.of_lines(taken, seconds) if seconds is not None else ()
    remark = (*((lost,) if lost else ()), *((Finding(kind=NO_CALLS),) if alone else ()), *sum_fails)
    # Nothing but the program itself has to be equal: two versions of it may be compared.
    facts = {"unit": RUN, "site_seconds": seconds, "layers": (Described(WHOLE, {}, []),)}
    return _part(one, WHOLE, {**facts, "notes": one.facts.notes}, epochs=all_of_it, findings=remark)


def _scores(figures: Mapping[str, float]) -> dict[str, Any]:
    """Figures that the program computes itself in the place of scores: those called like one are compared so, too."""
    usual = ("loss", "accuracy", "val_loss", "val_accuracy")
    return {"metrics": dict(figures), **{name: figures[name] for name in usual if name in figures}} if figures else {}


def _with_long_names(epoch: Epoch) -> Epoch:
    return msgspec.structs.replace(epoch, metrics=call_outputs.with_long_names(epoch.metrics or {}) or None)
