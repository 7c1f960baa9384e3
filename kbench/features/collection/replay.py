"""Computes an epoch of some of a run's cells again here, and compares work and loss."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import msgspec

from kbench.errors import Stopped, UserError
from kbench.features.collection import work
from kbench.features.collection.submitted import NotChecked, Submitted, label
from kbench.planning import request
from kbench.planning.request import Request
from kbench.records import axes
from kbench.records.values import OK, SCRIPT, TRAIN, Example, Measured, base
from kbench.selection.known import known_backends
from kbench.session import prepare
from kbench.session.measure import measure, planned

_ORDER = "order_sha256"  # it is of all epochs, and one is computed here


def replay(run: Submitted, count: int, known: Mapping[str, Example], report: Callable[[str], None]) -> Iterator[str]:
    """Whether so many cells, chosen by chance, come to the same here. Raises NotChecked if fewer can be computed."""
    done, reasons = 0, list[str]()
    for one in secrets.SystemRandom().sample(list(run.ok), len(run.ok)):
        if done == count:
            break
        try:
            asked = _asked(run, one, known)
            report(f"replay: {label(one.cell)}, one epoch of {one.cell.samples:,} samples")
            again = _measured(asked, one)
        except UserError as error:
            reasons.append(f"{one.cell.example} on {one.cell.backend}: {error}")
            continue
        done += 1
        yield from compared(one, again)
    if done < count:
        raise NotChecked(
            f"{done} of {count} cells could be computed again here ({'; '.join(dict.fromkeys(reasons))})"
        )


def compared(one: Measured, again: Measured) -> Iterator[str]:
    """How a cell differs from one epoch of it that was computed again."""
    if again.outcome.status != OK:
        yield f"{label(one.cell)}: computed again here, it is {again.outcome.status}: {again.outcome.reason}"
        return
    yield from work.differences(_of_one_epoch(one), _of_one_epoch(again), "what is computed here")


def _of_one_epoch(one: Measured) -> Measured:
    return replace(one, epochs=one.epochs[:1], facts=msgspec.structs.replace(one.facts, **{_ORDER: None}))


def _asked(run: Submitted, one: Measured, examples: Mapping[str, Example]) -> Request:
    """The request for it. Raises UserError if what it needs is not at hand."""
    cell = one.cell
    example = examples.get(cell.example)
    if cell.task == SCRIPT or example is None:
        raise UserError("its file is not at hand")
    if example.sha256 != run.spec(cell).get("example_sha256"):
        raise UserError("this kbench has another file of the example")
    if base(cell.backend) not in known_backends():
        raise UserError("this kbench does not know the backend")
    if cell.timing or cell.task != TRAIN:
        raise UserError("it trains no whole epoch")
    values = {
        axis.name: (cell.values[axis.name],) for axis in axes.every() if axis.asked and axis.name in cell.values
    }
    made = request.read(dict(run.run.request), run.run.folder)
    asked = replace(
        made,
        backends=(cell.backend,), named_backends=(cell.backend,), examples=(str(example.path),), named_examples=(),
        pythons={}, example_settings={}, values=values, repeats=1, processes=1, precision=None,
        budget=None, extra_repeats={}, short={}, asked={}, interleave="off", seed=cell.seed, seeds="same", epochs=1,
        timeout=None, data_sources={}, data_dir=None, pass_env=(), baseline="",
    )  # fmt: skip
    plan = planned(asked)
    if missing := prepare.to_make(plan):
        raise UserError(f"its environment is not made here (`setup {missing[0]}` makes it)")
    (task,) = plan.tasks
    if task.lock_sha256 != run.spec(cell).get("lock_sha256"):
        raise UserError("this kbench has other versions of the backend's packages")
    if task.samples != cell.samples:
        raise UserError("this kbench has another number of samples for it")
    return asked


def _measured(asked: Request, one: Measured) -> Measured:
    """Its epoch, here. Raises UserError."""
    with tempfile.TemporaryDirectory(prefix="kbench-replay-") as folder:
        try:
            (again,) = measure(asked, Path(folder), command="kbench admit --replay").measured
        except Stopped as error:
            raise UserError(str(error)) from error
    if again.facts.data_sha256 != one.facts.data_sha256:
        raise UserError("its data are not at hand here")
    return again
