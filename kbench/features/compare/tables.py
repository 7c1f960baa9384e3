"""Tables and records of `compare`, which shows runs side by side."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from kbench.analysis.times.intervals import differing_by_chance
from kbench.features.compare import setup_table as setup
from kbench.features.compare.configuration import Difference
from kbench.features.compare.values import EQUAL, HIGHER, LOWER, MACHINE, WITHIN, About, Pair
from kbench.records import axes
from kbench.records.axes import Axis
from kbench.records.values import AS_FAST, FASTER, NO_DIFFERENCE, NOT_COMPARED, SLOWER, Interval
from kbench.summary import Summary
from kbench.tables import markdown as as_markdown
from kbench.tables import text as as_text
from kbench.tables.content import Table, heading, marks
from kbench.tables.entries import accuracy, ends, marked, short_target
from kbench.words.text import MISSING, format_bound, format_ratio, plain, significant

_OPTIONAL = ("s to ", "losses", "val. accuracy")  # what these begin with is left out of a narrow page, in this order
_NUMBERS = ("s/epoch", "s/1,000 samples", "x ", "95 %", *(axis.title for axis in axes.numbers()))


def text(abouts: Sequence[About], pairs: Sequence[Pair], width: int, differing: Sequence[Difference] = ()) -> str:
    """For the terminal: which side is which, a table per example, what differs in the setup, and the conclusion."""
    legend = "\n".join(textwrap.fill(line, width, subsequent_indent="   ") for line in _legend(abouts))
    reported = textwrap.fill(" ".join(conclusion(abouts, pairs)), width)
    body = as_text.together(tables(abouts, pairs), width, "in --format markdown, csv and json")
    one = setup.table(abouts, differing)
    of_setup = as_text.table(one, width) if one else textwrap.fill(setup.SAME, width)
    return "\n\n".join(part for part in (legend, body, of_setup, reported) if part)


def markdown(abouts: Sequence[About], pairs: Sequence[Pair], differing: Sequence[Difference] = ()) -> str:
    """The same as Markdown, to paste."""
    legend = "\n".join(f"- {as_markdown.escape(line)}" for line in _legend(abouts))
    reported = as_markdown.escape(" ".join(conclusion(abouts, pairs)))
    one = setup.table(abouts, differing)
    of_setup = as_markdown.together([one]) if one else setup.SAME
    body = as_markdown.together(tables(abouts, pairs))
    return "\n\n".join(part for part in (legend, body, of_setup, reported) if part)


def conclusion(abouts: Sequence[About], pairs: Sequence[Pair]) -> list[str]:
    """What the comparison shows, one or two sentences for each side."""
    sentences = []
    for about in abouts[1:]:
        of_side = [pair for pair in pairs if pair.side == about.letter and pair.first and pair.other]
        compared = [pair for pair in of_side if pair.ratio is not None]
        words = (FASTER, SLOWER, AS_FAST, NO_DIFFERENCE)
        counts = {word: sum(pair.verdict == word for pair in compared) for word in words}
        counts[NOT_COMPARED] = sum(pair.verdict == NOT_COMPARED for pair in of_side)
        listed = ", ".join(f"{number} {word}" for word, number in counts.items() if number)
        rows = "row" if len(of_side) == 1 else "rows"
        sentences.append(f"{about.letter} against {abouts[0].letter}, {len(of_side)} {rows}: {listed or 'nothing'}.")
        alike = counts[AS_FAST] + counts[NO_DIFFERENCE]
        if compared and alike == len(compared):
            sentences.append("No row differs by more than its interval.")
        sentences += _by_chance(counts[FASTER] + counts[SLOWER], alike)
        with_losses = [pair for pair in of_side if pair.largest_loss_difference is not None]
        if with_losses:
            identical = sum(pair.largest_loss_difference == 0 for pair in with_losses)
            sentences.append(f"Losses are identical in {identical} of {len(with_losses)}.")
        kinds = sorted({kind for pair in of_side if pair.verdict == NOT_COMPARED for kind in pair.kinds})
        if kinds == [MACHINE] and with_losses:
            sentences.append(f"Times of different machines are not compared, or only with `--allow {MACHINE}`.")
        elif kinds:
            sentences.append(f"To compare the others anyway, add `--allow {','.join(kinds)}`.")
        sentences += _in_words(about, abouts[0], compared)
    return [*sentences, *_alone(abouts, pairs)]


def _in_words(about: About, first: About, compared: Sequence[Pair]) -> list[str]:
    """The answer where all rows say the same."""
    ratios = [pair.ratio for pair in compared if pair.ratio]
    verdicts = {pair.verdict for pair in compared}
    if len(verdicts) != 1 or not verdicts <= {FASTER, SLOWER} or not ratios:
        return []
    low, high = format_bound(min(ratios)), format_bound(max(ratios))
    times = low if len(ratios) == 1 else f"{low} to {high}"
    return [f"So {about.letter} ({about.name}) takes {times} times as long as {first.letter} ({first.name})."]


def _by_chance(differing: int, alike: int) -> list[str]:
    """A warning if chance explains that many differences: intervals of 95 % are wrong in 5 % of rows."""
    rows = differing + alike
    if not 0 < differing <= (chance := differing_by_chance(rows)):
        return []
    return [f"Chance alone makes up to {chance} of {rows} rows faster or slower. Use more repeats."]


def _alone(abouts: Sequence[About], pairs: Sequence[Pair]) -> list[str]:
    """The examples that only one side has, which have no table."""
    lone = [
        name for name, group in _by_example(pairs).items() if not any(pair.first and pair.other for pair in group)
    ]
    of_first = [name for name in lone if any(pair.row.example == name and pair.first for pair in pairs)]
    others = [name for name in lone if name not in of_first]
    sentences = [f"Only {abouts[0].letter} has {', '.join(of_first)}."] if of_first else []
    return [*sentences, f"{abouts[0].letter} has no {', '.join(others)}."] if others else sentences


def tables(abouts: Sequence[About], pairs: Sequence[Pair]) -> list[Table]:
    """One table for each example that two sides have."""
    groups = _by_example(pairs).values()
    return [_table(abouts, group) for group in groups if any(pair.first and pair.other for pair in group)]


def _by_example(pairs: Sequence[Pair]) -> dict[str, list[Pair]]:
    groups: dict[str, list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(pair.row.example, []).append(pair)
    return groups


def _legend(abouts: Sequence[About]) -> list[str]:
    return [
        plain(f"{one.letter}: {', '.join(part for part in (one.name, one.created, one.kbench, one.machine) if part)}")
        for one in abouts
    ]


def _table(abouts: Sequence[About], pairs: Sequence[Pair]) -> Table:
    footnotes: list[str] = []
    columns = _columns(abouts, pairs)
    return Table(
        heading=heading([pair.row for pair in pairs]),
        columns=(*columns, "verdict"),
        rows=tuple((*(cell(pair) for cell in columns.values()), _verdict(pair, footnotes)) for pair in pairs),
        text_columns=frozenset(name for name in (*columns, "verdict") if not any(part in name for part in _NUMBERS)),
        footnotes=tuple(footnotes),
        remarks=_remarks(pairs),
        about={_LOSSES: tuple(name for name in columns if name.startswith("losses"))},
        optional=tuple(name for part in _OPTIONAL for name in columns if name.startswith(part)),
    )


def _columns(abouts: Sequence[About], pairs: Sequence[Pair]) -> dict[str, Callable[[Pair], str]]:
    several = len(abouts) > 2
    a, b = abouts[0].letter, "run's" if several else abouts[1].letter
    work = pairs[0].row.work
    # If two backends are compared, the other one, whose ratio is shown; the legend names the first.
    columns: dict[str, Callable[[Pair], str]] = {"backend": lambda pair: plain((pair.other or pair.row).backend)}
    for axis in axes.within_backends(pair.row.key for pair in pairs):
        columns[axis.title] = partial(_on_axis, axis)
    if several:
        columns["run"] = lambda pair: pair.side
    columns[f"{a} {work.column}"] = lambda pair: significant(_seconds(pair.first))
    columns[f"{b} {work.column}"] = lambda pair: significant(_seconds(pair.other))
    columns[f"x {a}"] = lambda pair: format_ratio(pair.ratio, pair.verdict)
    columns["95 % interval (x)"] = lambda pair: ends(pair.interval, format_bound)
    if not work.per_samples:
        columns[f"val. accuracy {a},{b}"] = _accuracies
        columns["losses"] = _losses
    if any(pair.target_ratio is not None for pair in pairs):
        target = next(pair.row.target for pair in pairs if pair.target_ratio is not None)
        columns[f"s to {short_target(target)} {a},{b}"] = _to_target
    return columns


def _on_axis(axis: Axis, pair: Pair) -> str:
    return plain(axes.value_shown(axis, pair.row.key))


def _seconds(row: Summary | None) -> float | None:
    return None if row is None else row.shown_seconds


def _accuracies(pair: Pair) -> str:
    if pair.accuracy == EQUAL:
        return f"{accuracy(pair.first)} in both"
    shown = f"{accuracy(pair.first)}, {accuracy(pair.other)}"
    return MISSING if shown == f"{MISSING}, {MISSING}" else f"{shown} {pair.accuracy}".rstrip()


def _losses(pair: Pair) -> str:
    if pair.largest_loss_difference is None:
        return MISSING
    return "identical" if pair.largest_loss_difference == 0 else f"within {pair.largest_loss_difference:.1e}"


def _to_target(pair: Pair) -> str:
    seconds = [None if row is None else row.seconds_to_target for row in (pair.first, pair.other)]
    shown = ", ".join(significant(value) for value in seconds)
    if pair.target_ratio is None:
        return shown
    return f"{shown}: {format_ratio(pair.target_ratio, pair.target_verdict)} x"


def _verdict(pair: Pair, footnotes: list[str]) -> str:
    if pair.first is None:
        word = f"only in {pair.side}"
    elif pair.other is None:
        word = f"not in {pair.side}"
    else:
        word = pair.verdict or MISSING
    return marked(word, (*pair.refused, *pair.remarks), footnotes)


_LOSSES = "losses: the largest difference over all epochs of repeats with the same seed."


def _remarks(pairs: Sequence[Pair]) -> tuple[str, ...]:
    timed = [pair for pair in pairs if pair.ratio is not None]
    targets = [pair for pair in pairs if pair.target_ratio is not None]
    remarks = marks([*(pair.verdict for pair in timed), *(pair.target_verdict for pair in targets)])
    if any(pair.ratio is not None and pair.interval is None for pair in pairs):
        remarks.append("A ratio of single values has no interval: --epochs 3 or --repeats 2 gives one.")
    if any(pair.accuracy in (HIGHER, LOWER, WITHIN) for pair in pairs):
        remarks.append(
            "An accuracy is higher or lower if the difference exceeds the sum of both standard deviations."
        )
    if any(pair.largest_loss_difference for pair in pairs):
        remarks.append(_LOSSES)
    return tuple(remarks)


def record(abouts: Sequence[About], pair: Pair) -> dict[str, Any]:
    """The pair as an object, in full precision."""
    first, other, row = pair.first, pair.other, pair.row
    names = {about.letter: about.name for about in abouts}

    def both(*names: str) -> dict[str, object]:
        sides = {"first": first, "other": other}
        return {f"{name}_{side}": row and getattr(row, name) for name in names for side, row in sides.items()}

    intervals = {"first": first and first.epoch_interval, "other": other and other.epoch_interval}

    return {
        "example": row.example,
        "backend": row.backend,
        "image_data_format": row.image_data_format,
        "device": row.device,
        "run_first": abouts[0].name,
        "run_other": names[pair.side],
        "backend_other": other and other.backend,
        "verdict": pair.verdict,
        "ratio": pair.ratio,
        **_ends_of("ratio", pair.interval),
        **both("epoch_seconds"),
        **{f"epoch_seconds_low_{side}": one and one.low for side, one in intervals.items()},
        **{f"epoch_seconds_high_{side}": one and one.high for side, one in intervals.items()},
        **both("final_val_accuracy", "final_val_accuracy_sd"),
        "accuracy_verdict": pair.accuracy,
        **both("seconds_to_target"),
        "target_ratio": pair.target_ratio,
        **_ends_of("target_ratio", pair.target_interval),
        "target_verdict": pair.target_verdict,
        "largest_loss_difference": pair.largest_loss_difference,
        "compared_epochs": pair.compared_epochs,
        **both("status", "repeats", "keras_version", "backend_version", "fingerprint"),
        "refused": "; ".join(pair.refused),
        "remarks": "; ".join(pair.remarks),
    }


def _ends_of(name: str, interval: Interval | None) -> dict[str, object]:
    return {f"{name}_low": interval and interval.low, f"{name}_high": interval and interval.high}
