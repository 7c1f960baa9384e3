"""Entries of tables: a time, a ratio, an accuracy, each with how sure it is, and the marks of notes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kbench.analysis.times.machine_stability import disturbs
from kbench.analysis.times.shown_ratios import is_rough
from kbench.records.values import Interval
from kbench.summary import TO_BASELINE, TO_FASTEST, Summary
from kbench.words.text import MISSING, format_bound, format_ratio, plain, significant

OFF_MIDDLE = 0.25  # of half of an interval: a number further off its middle has no ±
UNKNOWN = 1000  # an interval whose ends are more than so many times apart is not shown


def with_half(value: float | None, interval: Interval | None) -> str:
    """A number and half of its 95 % interval: `0.479 ± 0.024`. Both ends where the number is not in its middle, or
    where half of it is half of the number or more.
    """
    if value is None or interval is None:
        return significant(value)
    half, middle = (interval.high - interval.low) / 2, (interval.high + interval.low) / 2
    if half < value / 2 and abs(middle - value) <= OFF_MIDDLE * half:
        return f"{significant(value)} ± {significant(half, 2)}"
    shown = ends(interval)
    return significant(value) if shown == MISSING else f"{significant(value)} ({shown})"


def is_time(heading: str) -> bool:
    """Whether the column with this heading has times, or what is computed of a row's time alone."""
    return heading in ("seconds", "% of limit") or heading.endswith(("(s)", "/s")) or heading.startswith(("s/", "s "))


def timed(heading: str, column: Callable[[Summary], str], row: Summary) -> str:
    """The entry of a column, marked if it is a time that other programs disturbed."""
    shown = column(row)
    return f"?{shown}" if is_time(heading) and disturbs(row) and shown != MISSING else shown


def of_ratio(kind: str, row: Summary) -> str:
    """A ratio with the mark of its own verdict and its 95 % interval: `~1.06 (0.941-1.17)`. That of the row's own
    comparison has the row's verdict, which the fastest has, too.
    """
    one = row.ratios.get(kind)
    if one is None:
        return MISSING
    shown = ends(one.interval, format_bound)
    verdict = row.verdict if kind in (TO_FASTEST, TO_BASELINE) else one.verdict
    rough = is_rough(row) if kind == (TO_BASELINE if row.baseline else TO_FASTEST) else one.rough
    return format_ratio(one.value, verdict, rough) + ("" if shown == MISSING else f" ({shown})")


def ends(interval: Interval | None, shown: Callable[[float], str] = significant) -> str:
    """An interval as tables show it; none where it says nothing."""
    if interval is None or 0 < UNKNOWN * interval.low < interval.high:
        return MISSING
    return f"{shown(interval.low)}-{shown(interval.high)}"


def accuracy(row: Summary | None) -> str:
    """The final validation accuracy, with its spread over the repeats."""
    if row is None or row.final_val_accuracy is None:
        return MISSING
    spread = f" ± {row.final_val_accuracy_sd:.4f}" if shows_spread(row) else ""
    return f"{row.final_val_accuracy:.4f}{spread}"


def shows_spread(row: Summary) -> bool:
    """Whether the spread of the accuracy is more than 0 in the figures that are shown."""
    return f"{row.final_val_accuracy_sd or 0.0:.4f}" != "0.0000"


def short_target(target: str) -> str:
    """A target as columns show it: of the validation accuracy, the number alone."""
    return target.removeprefix("val_accuracy >= ")


def marked(entry: str, notes: Iterable[str], footnotes: list[str]) -> str:
    """An entry of a table with the marks of its notes; new ones are added to `footnotes`."""
    marks: dict[str, None] = {}  # as a set that keeps its order
    for note in map(plain, notes):
        if note not in footnotes:
            footnotes.append(note)
        marks[f"[{footnotes.index(note) + 1}]"] = None
    return " ".join([entry, *marks])
