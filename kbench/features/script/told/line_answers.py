"""Sentences on a line of a user's program: what was asked for, what else its calls show, and what was tried out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from kbench.analysis.times.machine_stability import SHARE, disturbs
from kbench.features.script.lines import call_costs
from kbench.features.script.lines.line_details import details
from kbench.records import axes
from kbench.records.values import AS_FAST, FAILED, FASTER, NO_DIFFERENCE, SLOWER, TIMEOUT, UNAVAILABLE, UNSUPPORTED
from kbench.summary import TO_DEFAULT, Ratio, Summary
from kbench.tables.answers import memory_growth
from kbench.words.text import format_bound, listed, plain, significant

MUCH = 0.2  # validation and callbacks that take more of fit are said, and batches that take more of an epoch
LOSSES_AGREE, FIRST_LOSS = 0.01, 1e-3  # relative: later losses that are as near as that, and the first one


def on_rows(rows: Sequence[Summary]) -> list[str]:
    """What the rows show besides who is faster."""
    return [
        *_of_validation(rows),
        *_of_callbacks(rows),
        *_of_data(rows),
        *_of_first_losses(rows),
        *_of_sameness(rows),
        *_of_compilation(rows),
        *_of_growth(rows),
        *_afterwards(rows),
    ]


def failures(rows: Iterable[Summary]) -> list[str]:
    """What went wrong in programs, and on which backends: before all tables."""
    why: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.work.once and row.work.compared and row.status in (FAILED, TIMEOUT, UNAVAILABLE, UNSUPPORTED):
            did = "failed" if row.status in (FAILED, TIMEOUT) else "could not run"
            why.setdefault((f"{row.program} {did}", row.reason.rstrip(".")), []).append(row.backend)
    return [plain(f"{what} on {listed(names)}: {reason}.") for (what, reason), names in why.items()]


def on_arguments(rows: Sequence[Summary]) -> list[str]:
    """What a program's further arguments change on each backend, where there are several."""
    of_each: dict[str, list[str]] = {}
    for row in rows if len({row.key[axes.BACKEND] for row in rows}) > 1 else ():
        given, ratio = row.key[axes.ARGUMENTS], row.ratios.get(TO_DEFAULT)
        if given and ratio is not None:
            of_each.setdefault(str(given), []).append(f"{ratio.reference} {_changes(ratio)}")
    return [f"With {given}, {'; '.join(each)}." for given, each in of_each.items()]


def _changes(ratio: Ratio) -> str:
    interval = ratio.interval
    ends = f" ({format_bound(interval.low)} to {format_bound(interval.high)})" if interval else ""
    if ratio.verdict in (SLOWER, FASTER):
        return f"takes {format_bound(ratio.value)} times as long{ends}"
    if ratio.verdict == AS_FAST:
        return f"is as fast{ends}"
    return f"shows no difference{ends}" if ratio.verdict == NO_DIFFERENCE else "could not be compared"


def _of_validation(rows: Sequence[Summary]) -> list[str]:
    """That validation is much of a program's fit, which the times of its epochs do not hold; those of calls do."""
    each = _of_fit(rows, lambda row: details(row).validation_share)
    apart = "" if rows[0].work.by_call else ", which is not in these times,"
    return [f"Validation{apart} takes {each}."] if each else []


def _of_callbacks(rows: Sequence[Summary]) -> list[str]:
    """That callbacks are much of a program's fit: of those around batches, the times of its epochs hold them."""
    each = _of_fit(rows, lambda row: details(row).callback_share)
    return [f"Its callbacks take {each}."] if each else []


def _of_fit(rows: Sequence[Summary], share_of: Callable[[Summary], float]) -> str:
    """What share of fit it is on each backend, if it is much on any."""
    shares = [(row.backend, share) for row in rows if row.work.repeated and (share := share_of(row))]
    much = any(share > MUCH for _, share in shares)
    return ", ".join(f"{share:.0%} of fit on {name}" for name, share in shares) if much else ""


def _epoch_seconds(row: Summary) -> float | None:
    return row.steady_epoch_seconds if row.work.by_call else row.epoch_seconds


def _of_data(rows: Sequence[Summary]) -> list[str]:
    """That making its batches takes much of the time of an epoch, in which a backend may do it beside training."""
    times = [
        (row.backend, row.batch_making_seconds, epoch)
        for row in rows
        if row.batch_making_seconds and (epoch := _epoch_seconds(row)) and not disturbs(row)
    ]
    if not any(seconds > MUCH * epoch for _, seconds, epoch in times):
        return []
    each = ", ".join(
        f"{f'{significant(own)} s' if own < epoch else 'all'} of an epoch's {significant(epoch)} s on {name}"
        for name, own, epoch in times
    )
    return [f"Making its batches, without training, takes {each}."]


def _of_first_losses(rows: Sequence[Summary]) -> list[str]:
    """Whether a line that trains step by step has the same first losses on all backends."""
    known = [(row.backend, losses) for row in rows if (losses := details(row).first_losses)]
    steps = min((len(losses) for _, losses in known), default=0)
    if len(known) < 2 or not steps:
        return []
    apart = [_apart([losses[step] for _, losses in known]) for step in range(steps)]
    if not apart[0] <= FIRST_LOSS:
        each = ", ".join(f"{losses[0]:.4g} on {backend}" for backend, losses in known)
        return [f"The first loss is {each}: weights or data are not the same."]
    unlike = next((step for step in range(steps) if not apart[step] <= LOSSES_AGREE), None)
    if unlike is None:
        return [f"The first {steps} losses agree, {how_near(max(apart))}."]
    each = ", ".join(f"{losses[unlike]:.4g} on {backend}" for backend, losses in known)
    return [f"The first loss agrees, and that of step {unlike + 1} does not: {each}."]


def how_near(apart: float, of: str = "") -> str:
    """What ends a sentence that numbers agree."""
    return f"to {apart:.0e}{of}" if apart else "to the last bit"


def _apart(values: Sequence[float]) -> float:
    if any(map(math.isnan, values)):
        return 0.0 if all(map(math.isnan, values)) else math.inf
    largest = max(map(abs, values))
    return (max(values) - min(values)) / largest if largest else 0.0


def on_compilation(rows: Sequence[Summary]) -> list[str]:
    """That each call compiles, of comparable rows, fastest first."""
    compiling = [row for row in rows if _compiles_each(row)]
    if not compiling:
        return []
    times = ", ".join(f"{significant(row.compile_seconds)} s on {row.backend}" for row in compiling)
    often = f"{compiling[0].first_calls:,} of {compiling[0].calls:,} calls"
    return [f"{often} are a model's first, and compilation and warm-up take {times} each time."]


def _compiles_each(row: Summary) -> bool:
    """Whether compilation is a good part of each call."""
    each = call_costs.each_compiles(row.calls or 0, row.first_calls or 0)
    return each and details(row).compiles and (row.compile_seconds or 0.0) > SHARE * (row.epoch_seconds or math.inf)


def _of_compilation(rows: Sequence[Summary]) -> list[str]:
    """That calls compile again, as for each new shape; of fits and calls of new models, other sentences say it."""
    each = any(call_costs.each_compiles(row.calls or 0, row.first_calls or 0) for row in rows)
    rows = [row for row in rows if details(row).compiled_again and row.work.by_call and not each]
    again = [f"{details(row).compiled_again:,} times on {row.backend}" for row in rows]
    return [f"Its calls after the first compile again {', '.join(again)}."] if again else []


def _of_like_lines(rows: Sequence[Summary]) -> list[str]:
    """Which line before this one returned the same, on the same backend."""
    like: dict[str, dict[str, float | None]] = {}
    for row in rows:
        if earlier := details(row).like_line:
            like.setdefault(earlier.line, {})[row.backend] = earlier.apart
    said = []
    for line, found in like.items():
        known = [apart for apart in found.values() if apart is not None]
        near = f", {how_near(max(known), ' of the largest number')}" if known else ""
        where = f" on {listed(list(found))}" if len(found) < len(rows) else ""
        said.append(f"It returns the same{'' if known else ' scores'} as {line}{where}{near}.")
    return said


def _of_sameness(rows: Sequence[Summary]) -> list[str]:
    """Of a program's line: that its outputs agree, and that repeats of its training give the same losses."""
    said, alike = [], [apart for row in rows if (apart := details(row).outputs_apart) is not None]
    if rows[0].work.repeated and len(alike) > 1 and not math.isnan(max(alike)):
        said.append(f"Outputs agree, {how_near(max(alike), ' of the largest number')}.")
    elif rows[0].work.repeated and len(rows) > 1 and all(details(row).scores_agree for row in rows):
        said.append("Scores agree.")
    said += _of_like_lines(rows)
    repeated = [row for row in rows if row.deterministic is not None and row.work.repeated and row.seeds == 1]
    if repeated and all(row.deterministic and row.final_loss for row in repeated):  # 0 says nothing
        said.append(f"Repeats give the same losses on {listed([row.backend for row in repeated])}.")
    return said


def _of_growth(rows: Sequence[Summary]) -> list[str]:
    """What grows from one epoch or call to the next; of a program's calls also that nothing does."""
    unit, said = rows[0].work.unit, memory_growth(rows)
    if slower := {row.backend: growth for row in rows if (growth := details(row).time_growth)}:
        times = (
            f"{name} ({significant(ends[0])} s the second, {significant(ends[1])} s the last)"
            for name, ends in slower.items()
        )
        said.append(f"Each {unit} takes longer than those before on {', '.join(times)}.")
    if not said and rows[0].work.by_call and all(row.memory_growth_mib == 0 for row in rows):
        flat = all(details(row).time_growth == () for row in rows)
        said.append(f"Memory does not grow from {unit} to {unit}{', and neither does time' if flat else ''}.")
    return said


def _afterwards(rows: Sequence[Summary]) -> list[str]:
    """What was tried out when the program had ended."""
    loops = [(row, seconds) for row in rows if (seconds := details(row).on_batch_seconds)]
    times = (f"{'less' if disturbs(row) else f'{significant(seconds)} s'} on {row.backend}" for row, seconds in loops)
    return [f"For so few samples predict_on_batch takes {', '.join(times)}."] if loops else []
