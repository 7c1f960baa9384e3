"""A script's cell as rows of tables: one for each line that calls a model, and one for the whole program."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import msgspec

from kbench.analysis import call_outputs
from kbench.epochs import Epoch
from kbench.values import FAILED, OK, SCRIPT, Measured

WHOLE = "whole program"
SEPARATOR = ": "
_SHORT = re.compile("(?<![a-z])acc$")  # Keras 2's name of an accuracy
MATTERS = 0.02  # of the program's time: calls that take less have no table, unless they train or give scores


def program_of(example: str) -> str:
    """The script that a row is part of; the name of an example."""
    return example.partition(SEPARATOR)[0]


def expanded(measured: Sequence[Measured]) -> list[Measured]:
    """The cells, with those of scripts split by line, in the order in which lines were first called."""
    if all(one.facts.get("task") != SCRIPT for one in measured):
        return list(measured)
    found: dict[str, list[Measured]] = {}
    for one in measured:
        for part in _sites(one):
            found.setdefault(part.cell.example, []).append(part)
    whole = [name for name in found if name.endswith(SEPARATOR + WHOLE)]
    parts = [name for name in found if name not in whole]
    unlike = {cell.example for cell, _ in call_outputs.compare(part for name in parts for part in found[name])}
    shown = [name for name in parts if name in unlike or any(map(_matters, found[name]))] or parts
    return [part for name in (*shown, *whole) for part in found[name]]


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
    return bool(one.facts.get("fits")) or any(epoch.metrics for epoch in one.epochs) or site > MATTERS * program


def _sites(one: Measured) -> Iterable[Measured]:
    sites = _mapping(one.facts.get("sites"))
    program = _mapping(one.facts.get("program"))
    seconds = program.get("seconds")
    returned = _mapping(one.facts.get("returned"))
    own = ("sites", "program", "notes", "returned")
    common = {name: value for name, value in one.facts.items() if name not in own}
    # A call that returned is measured, even if the program failed later.
    ended = replace(one.outcome, status=OK, reason="") if program and one.outcome.status == FAILED else one.outcome
    for name, about in sites.items():
        epochs = [epoch for epoch in one.epochs if epoch.site == name]
        # The first epoch of another model compiles again, so it is not steady.
        kept = [epoch for epoch in epochs if epoch.epoch == 1 or not epoch.first]
        if not kept:
            continue
        facts = _mapping(about.get("facts"))
        calls = not name.startswith("fit")
        yield replace(
            one,
            cell=replace(
                one.cell,
                example=f"{one.cell.example}{SEPARATOR}{name}",
                validation_samples=_count(facts.get("validation_samples")),
                samples=int(median(epoch.samples for epoch in kept)),
                epochs=len(kept),
                batch_size=_count(facts.get("batch_size")),
            ),
            epochs=tuple(_numbered(epoch, number) for number, epoch in enumerate(kept, 1)),
            phases={},
            outcome=one.outcome if name == program.get("broken") else ended,
            facts={
                **common,
                **facts,
                "task": about.get("task", "train"),
                "unit": "call" if calls else "epoch",
                "fits": not calls,
                "returned": returned.get(name),
                "site_seconds": float(sum(epoch.seconds * max(1, epoch.calls or 0) for epoch in epochs)),
                "program_seconds": seconds,
            },
        )
    taken = one.outcome.seconds if seconds is None else seconds
    # Numbered as a steady one: the program ran once, and all of it counts.
    all_of_it = (Epoch(2, float(taken), 0),) if isinstance(taken, int | float) else ()
    looped = (
        all(name.startswith("call,") for name in sites) and bool(program.get("keras")) and one.outcome.status == OK
    )
    reported = one.facts.get("notes")
    notes = list(reported) if isinstance(reported, list) else []
    notes += ["it has its own training loop: timed as a whole"] if looped else []
    yield replace(
        one,
        cell=replace(one.cell, example=f"{one.cell.example}{SEPARATOR}{WHOLE}"),
        epochs=all_of_it,
        # Nothing but the program itself has to be equal: two versions of it may be compared.
        facts={**common, "unit": "run", "notes": notes, "layers": [[WHOLE, {}, []]]},
    )


def _numbered(epoch: Epoch, number: int) -> Epoch:
    scores = {_SHORT.sub("accuracy", name): score for name, score in (epoch.metrics or {}).items()}
    return msgspec.structs.replace(epoch, epoch=number, metrics=scores or None)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
