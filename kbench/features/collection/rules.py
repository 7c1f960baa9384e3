"""What the collection asks of rows: enough processes, that agree, steady and undisturbed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kbench.features.collection.collection import Asked, Terms
from kbench.features.collection.submitted import Submitted
from kbench.records.values import OK
from kbench.summary import Summary

_FINDINGS = {
    "not steady": "its epochs keep getting faster or slower",
    "kinds of process": "its two kinds of process differ",
}


def missed(row: Summary, asked: Asked) -> Sequence[str]:
    """What a row misses; it then does not count."""
    reasons = []
    processes = row.repeats + row.short_processes
    if processes < asked.processes:
        reasons.append(f"{processes} of {asked.processes} processes")
    share = row.disturbed_turns / row.turns if row.turns else (row.others or 0.0)
    if share > asked.disturbed:
        what = "of its turns were disturbed" if row.turns else "of the cores' time others used"
        reasons.append(f"{share:.0%} {what}")
    reasons += [words for kind, words in _FINDINGS.items() if row.has(kind)]  # type: ignore[arg-type]
    return reasons


def counted(run: Submitted, asked: Asked) -> Sequence[Summary]:
    """The rows that count."""
    return [row for row in run.rows if row.status == OK and not missed(row, asked)]


def rows(run: Submitted, terms: Terms) -> Iterator[str]:
    """Enough of its rows are as the collection asks."""
    measured, misses = [row for row in run.rows if row.status == OK], left_out(run, terms.asked)
    if not measured:
        yield "none of its rows is ok"
    elif len(measured) - len(misses) < terms.asked.rows * len(measured):
        yield f"{len(misses)} of its {len(measured)} rows miss what is asked; {terms.asked.rows:.0%} must have it"
        yield from misses


def left_out(run: Submitted, asked: Asked) -> list[str]:
    """The rows that do not count, each with the reason."""
    found = ((row, missed(row, asked)) for row in run.rows if row.status == OK)
    return [f"{row.example} on {row.backend}: {', '.join(reasons)}" for row, reasons in found if reasons]
