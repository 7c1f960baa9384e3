"""summary.md: a run on one page, with what was measured where, the tables and the plots."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kbench import hooks
from kbench.additions import ReferenceLine, Section
from kbench.records.values import Measured
from kbench.summary import Summary
from kbench.tables import at_a_glance, heat_map
from kbench.tables.answers import over_all
from kbench.tables.configuration import configuration
from kbench.tables.content import Table, by_example, tables
from kbench.tables.markdown import body, code, escape, together
from kbench.words.text import plain


@dataclass(frozen=True)
class Run:
    """A run as its pages show it."""

    name: str
    created: str
    machine: str  # one sentence
    provenance: Mapping[str, Any]
    backends: Mapping[str, Mapping[str, Any]]  # of the plan: title, color, notes
    examples: Mapping[str, Mapping[str, Any]]  # of the plan
    summaries: Sequence[Summary]
    measured: Sequence[Measured]
    remarks: Sequence[str] = ()  # on the machine during the run
    failures: Sequence[Measured] = ()
    further: Sequence[Table] = ()  # of features
    repeat_command: str = ""  # the command that repeats what could not be compared
    tuned: Sequence[str] = ()  # backends with variables that only make them faster
    sections: Sequence[Section] = ()  # of features
    references: Mapping[str, ReferenceLine] = field(default_factory=dict)  # by example: a line in its plot

    @property
    def command(self) -> str:
        return str(self.provenance.get("command_line", ""))


def page(run: Run, plots: Mapping[str, Sequence[str]], resumed: Sequence[str] = ()) -> str:
    """The page of a run. `plots`: example, or "" for the whole run -> the paths of its plots, from the page.

    `resumed`: sentences on when that was done.
    """
    summaries = run.summaries
    parts = [
        f"# kbench: {escape(run.name)}",
        *(_answer(run) if summaries else ["Nothing was measured."]),
    ]
    parts += [f"Machine: {escape(run.machine)}."] if run.machine else []
    parts += [f"Command: {code(run.command)}"] if run.command else []
    parts += [f"**Note:** {escape(remark)}" for remark in (*run.remarks, *resumed)]
    if summaries:
        parts.append(
            "Seconds per epoch are those of a typical process, estimated from the turns of steady epochs that no "
            f"other program disturbed; {_ratio(summaries)}."
        )
    if any(row.epoch_interval for row in summaries):
        parts.append(_WORDS)
    for name, column in hooks.columns().items():
        if column.about and any(row.value(name) is not None for row in summaries):
            parts.append(escape(column.about))
    if run.tuned:
        names = escape(", ".join(run.tuned))
        parts.append(f"Variables that kbench sets for speed: {names} (`list backends --variables` prints them).")
    parts += _pictures("all examples", plots.get("", ()))
    for table, rows in zip(tables(summaries, run.repeat_command), by_example(summaries), strict=True):
        example = rows[0].title
        parts += [f"## {escape(table.heading)}", body(table), *_pictures(example, plots.get(example, ()))]
    for section in (one for one in run.sections if one.in_summary and one.tables):
        if section.heading:
            parts += [f"## {escape(section.heading)}", escape(section.lead), together(section.tables)]
        else:
            parts += [part for one in section.tables for part in (f"## {escape(one.heading)}", body(one))]
    for one in run.further:
        parts += [f"## {escape(one.heading)}", body(one)]
    parts += _failures(run.failures)
    if listed := [f"- **{escape(name)}**: {escape(about)}" for name, about in versions(summaries, run.backends)]:
        parts += ["## Backends", "\n".join(listed)]
    parts += configuration(run.provenance, run.examples, run.measured, summaries)
    return "\n\n".join(parts) + "\n"


def _answer(run: Run) -> list[str]:
    """As on the screen: which backend to take, and of several examples a heat map and what is wrong."""
    rows = run.summaries
    found = [escape(one) for one in over_all(rows, run.repeat_command)]
    if at_a_glance.is_enough(rows):
        shown = heat_map.text(rows, _WIDTH)
        # Nothing can be escaped within a fence: names that could end it, or look like HTML, have tables alone.
        found += [f"```text\n{shown}\n```"] if not re.search(r"[`<>&\[\]\\]", shown) else []
        found += [f"- {escape(one)}" for one in at_a_glance.problems(rows, run.repeat_command)]
    return found


_WIDTH = 100

_WORDS = (
    "In 95 % of cases another process would be within the interval, which comes from the row's own processes and "
    "from how much processes differ in earlier runs (docs/measuring.md). The intervals of an example's ratios are "
    "wide enough to hold together in 95 % of tables. The verdict is on the interval of the "
    "ratio: *slower* if all of it is above 1, *faster* if all of it is below, *no difference shown* (~) if it "
    "includes 1, and *not compared* (?) if there is none or it is wider than a factor of 3 each way."
)


def _ratio(summaries: Sequence[Summary]) -> str:
    if comparison := hooks.comparisons().get(summaries[0].baseline):
        return f"x baseline is the ratio to {comparison.baseline} on the same example and device"
    if summaries[0].baseline:
        return (
            f"x baseline is the ratio to {escape(summaries[0].baseline)} (its fastest row) on the same example and "
            "device"
        )
    return "*times slower* is the ratio to the fastest row of the same example and device"


def _pictures(what: str, paths: Sequence[str]) -> list[str]:
    return [f"![{escape(what)}]({path})" for path in paths]


def versions(summaries: Sequence[Summary], backends: Mapping[str, Mapping[str, object]]) -> list[tuple[str, str]]:
    """The name of each backend of the run, and its title, reported versions and notes."""
    found = []
    for name in sorted({row.backend for row in summaries}):
        about = backends.get(name, {})
        title, notes = about.get("title"), about.get("notes")
        texts = [title if isinstance(title, str) else ""]
        texts += dict.fromkeys(
            f"{row.backend_version} with Keras {row.keras_version}"
            for row in summaries
            if row.backend == name and row.keras_version
        )
        texts += [str(note) for note in notes] if isinstance(notes, list | tuple) else []
        found.append((name, "; ".join(part.rstrip(".") for part in texts if part)))
    return found


def _failures(cells: Sequence[Measured]) -> list[str]:
    """Each cell that failed: where it was, and the end of its log."""
    parts = ["## What failed"] if cells else []
    for one in cells:
        cell, outcome = one.cell, one.outcome
        name = f"{cell.example} on {cell.backend} ({cell.image_data_format}, repeat {cell.repeat})"
        texts = [f"{outcome.status}: {outcome.reason}"]
        texts += [f"last event: {outcome.last_event}"] if outcome.last_event else []
        parts.append(f"**{escape(name)}** {escape('; '.join(texts))}")
        if outcome.last_lines:
            lines = "\n".join(map(plain, outcome.last_lines))
            fence = "`" * max(3, 1 + max(map(len, re.findall("`+", lines)), default=0))
            parts.append(f"{fence}text\n{lines}\n{fence}")
    return parts
