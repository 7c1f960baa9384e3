"""A script's cell as rows of tables: one for each line that calls a model, one for all else, one for the program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import msgspec

from kbench.analysis import call_costs, call_outputs
from kbench.analysis.call_costs import Call
from kbench.epochs import Epoch
from kbench.values import CALL, EPOCH, FAILED, OK, REST, RUN, SCRIPT, Measured

WHOLE = "whole program"
OUTSIDE = "outside Keras"  # all that is in no row of a line
SEPARATOR = ": "
MATTERS = 0.02  # of the program's time: calls that take less have no table, unless they train or give scores


def program_of(example: str) -> str:
    """The script that a row is part of; the name of an example."""
    return example.partition(SEPARATOR)[0]


def is_fit(example: str) -> bool:
    """Whether a row is of a line that fits."""
    return example.partition(SEPARATOR)[2].startswith("fit")


def expanded(measured: Sequence[Measured], by_call: bool = True) -> list[Measured]:
    """The cells, with those of scripts split by line, in the order in which lines were first called.

    A line that fits often is timed by its calls, or without `by_call` by its epochs.
    """
    if all(one.facts.get("task") != SCRIPT for one in measured):
        return list(measured)
    often = _often(measured) if by_call else frozenset[str]()
    found: dict[str, list[Measured]] = {}
    for one in measured:
        for part in _sites(one, often):
            found.setdefault(part.cell.example, []).append(part)
    small = [name for name in found if not any(map(_matters, found[name]))]
    unlike = {cell.example for cell, _ in call_outputs.compare(part for name in small for part in found[name])}
    shown = [name for name in found if name in unlike or name not in small] or [*found]
    parts = [part for name in shown for part in found[name]]
    taken: dict[str, list[float]] = {}  # by the lines of each cell
    for part in parts:
        whole = replace(part.cell, example=program_of(part.cell.example)).id
        taken.setdefault(whole, []).append(float(str(part.facts["site_seconds"])))
    outside = [rest for one in measured for rest in _outside(one, taken.get(one.cell.id, ()))]
    return [*parts, *outside, *map(_whole, measured)]


def _often(measured: Sequence[Measured]) -> frozenset[str]:
    """The lines that fit often, on any backend."""
    told = [calls for one in measured for calls in _mapping(one.facts.get("fits")).items()]
    return frozenset(name for name, calls in told if len(calls) >= call_costs.OFTEN)


def of_parity(measured: Sequence[Measured]) -> list[Measured]:
    """The cells of a parity run, with those of programs that train nothing split by the line that runs a model."""
    lines = dict.fromkeys(
        (one.cell.example, str(about["site"])) for one in measured for about in _calls(one) if about.get("site")
    )
    whole = {program for program, _ in lines}
    found = [one for one in measured if one.cell.example not in whole]
    for program, line in lines:
        split = [_of_line(one, line) for one in measured if one.cell.example == program]
        carried = any(one.facts["carried"] for one in split)  # of two it is not known which has to convert them
        found += [replace(one, facts={**one.facts, "carried": carried}) for one in split]
    return found


def _calls(one: Measured) -> list[Mapping[str, Any]]:
    return [about for about in _mapping(one.facts.get("parity")).values() if isinstance(about, dict)]


def _of_line(one: Measured, line: str) -> Measured:
    about = next((about for about in _calls(one) if about.get("site") == line), {})
    cell = replace(one.cell, example=f"{one.cell.example}{SEPARATOR}{line}")
    notes = [*_listed(one.facts.get("notes")), *_listed(about.get("notes"))]
    facts = {**one.facts, **_mapping(about.get("described")), "notes": notes, "carried": bool(about.get("carried"))}
    outcome = one.outcome
    if refused := about.get("refused"):
        outcome = replace(outcome, status=FAILED, reason=str(refused))
        facts["error_kind"] = "model"
    elif not about and outcome.status == OK:
        outcome = replace(outcome, status=FAILED, reason="the program did not get there, or its inputs are unknown")
    facts |= {"parity": {"forward": about}, "stage": about.get("stage", "")}
    return replace(one, cell=cell, outcome=outcome, facts=facts)


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _matters(one: Measured) -> bool:
    site, program = one.facts.get("site_seconds"), one.facts.get("program_seconds")
    if not isinstance(site, float) or not isinstance(program, float):  # an example, or a program that did not end
        return True
    scored = any(epoch.metrics for epoch in one.epochs)
    return is_fit(one.cell.example) or scored or site > MATTERS * program


def _common(one: Measured) -> dict[str, object]:
    own = ("sites", "program", "notes", "fits", "returned")
    return {
        **{name: value for name, value in one.facts.items() if name not in own},
        "program_seconds": _mapping(one.facts.get("program")).get("seconds"),
    }


def _sites(one: Measured, often: frozenset[str]) -> Iterable[Measured]:
    program = _mapping(one.facts.get("program"))
    returned = _mapping(one.facts.get("returned"))
    # A call that returned is measured, even if the program failed later.
    ended = replace(one.outcome, status=OK, reason="") if program and one.outcome.status == FAILED else one.outcome
    for name, about in _mapping(one.facts.get("sites")).items():
        fits = name.startswith("fit")
        epochs = [epoch for epoch in one.epochs if epoch.site == name]
        told = _mapping(one.facts.get("fits")).get(name) or []
        calls = call_costs.of_fits(epochs, told) if fits else call_costs.of_others(epochs)
        by_call = name in often or not fits
        kept = call_costs.as_epochs(calls, fits) if by_call else _epochs(epochs)
        if not kept:
            continue
        facts = _mapping(about.get("facts"))
        yield replace(
            one,
            cell=replace(
                one.cell,
                example=f"{one.cell.example}{SEPARATOR}{name}",
                validation_samples=_count(facts.get("validation_samples")),
                samples=int(median(epoch.samples for epoch in epochs)),
                epochs=len(epochs) if fits else call_costs.number(calls),
                batch_size=_count(facts.get("batch_size")),
            ),
            epochs=tuple(map(_with_long_names, kept)),
            phases={},
            outcome=one.outcome if name == program.get("broken") else ended,
            facts={
                **_common(one),
                **facts,
                "task": about.get("task", "train"),
                "unit": CALL if by_call else EPOCH,
                "returned": returned.get(name),
                "site_seconds": _seconds(calls, epochs),
                **(call_costs.figures(calls) if calls else {}),
            },
        )


def _epochs(epochs: Sequence[Epoch]) -> list[Epoch]:
    """Those that are shown: the first epoch of another model compiles again, so it is not steady."""
    kept = [epoch for epoch in epochs if epoch.epoch == 1 or not epoch.first]
    return [msgspec.structs.replace(epoch, epoch=number) for number, epoch in enumerate(kept, 1)]


def _seconds(calls: Sequence[Call], epochs: Sequence[Epoch]) -> float:
    """Of all calls of a line; of one that has not returned its epochs."""
    returned = sum(len(one.epochs) for one in calls)
    return call_costs.total(calls) + float(sum(epoch.seconds for epoch in epochs[returned:]))


def _outside(one: Measured, taken: Sequence[float]) -> Iterable[Measured]:
    """The row of what the program did outside of the calls that have rows, which took this; none if it is unknown."""
    seconds = _mapping(one.facts.get("program")).get("seconds")
    if not isinstance(seconds, int | float) or not taken:
        return
    rest = max(0.0, seconds - sum(taken))
    yield replace(
        one,
        cell=replace(one.cell, example=f"{one.cell.example}{SEPARATOR}{OUTSIDE}"),
        epochs=(Epoch(2, rest, 0),),
        facts={**_common(one), "unit": REST, "site_seconds": rest, "layers": [[OUTSIDE, {}, []]]},
    )


def _whole(one: Measured) -> Measured:
    sites, program = _mapping(one.facts.get("sites")), _mapping(one.facts.get("program"))
    seconds = program.get("seconds")
    taken = one.outcome.seconds if seconds is None else seconds
    # Numbered as a steady one: the program ran once, and all of it counts.
    all_of_it = (Epoch(2, float(taken), 0),) if isinstance(taken, int | float) else ()
    looped = (
        all(name.startswith("call,") for name in sites) and bool(program.get("keras")) and one.outcome.status == OK
    )
    remark = ["it calls no fit, evaluate or predict: timed as a whole"] if looped else []
    notes = [*_listed(one.facts.get("notes")), *remark]
    return replace(
        one,
        cell=replace(one.cell, example=f"{one.cell.example}{SEPARATOR}{WHOLE}"),
        epochs=all_of_it,
        # Nothing but the program itself has to be equal: two versions of it may be compared.
        facts={**_common(one), "unit": RUN, "site_seconds": seconds, "notes": notes, "layers": [[WHOLE, {}, []]]},
    )


def _with_long_names(epoch: Epoch) -> Epoch:
    return msgspec.structs.replace(epoch, metrics=call_outputs.with_long_names(epoch.metrics or {}) or None)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
