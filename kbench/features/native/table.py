"""What Keras costs on each framework: its rows against the same framework without Keras, and where the time goes."""

from __future__ import annotations

from collections.abc import Sequence

from kbench.features.native.comparison import COMPARISON, twin
from kbench.records.values import NATIVE, NOT_COMPARED
from kbench.summary import TO_FASTEST, Summary
from kbench.tables.content import Table, marks
from kbench.tables.entries import of_ratio
from kbench.words.text import MISSING, plain, significant

_REMARK = (
    "extra: Keras's time minus that of its framework: per step (medians), in the first step, which includes "
    "compilation, and before it (import, data, model)."
)


def table(summaries: Sequence[Summary]) -> Table | None:
    """One row for each Keras row whose framework was also measured without Keras; None if there is none."""
    pairs = of_pairs(summaries)
    if not pairs:
        return None
    several_devices = len({row.device for row, _ in pairs}) > 1
    columns = (
        "example", "backend", "without Keras", "s/epoch", "s/epoch without", COMPARISON.heading,
        "extra per step (ms)", "extra first step (s)", "extra before it (s)",
    )  # fmt: skip
    return Table(
        heading="What Keras costs",
        columns=columns,
        rows=tuple(_row(row, native, several_devices) for row, native in pairs),
        text_columns=frozenset({"example", "backend", "without Keras"}),
        remarks=(_REMARK, *marks([NOT_COMPARED] if any(row.ratios[NATIVE].rough for row, _ in pairs) else [], "")),
        optional=("without Keras", "s/epoch without", "s/epoch"),
    )


def of_pairs(summaries: Sequence[Summary]) -> list[tuple[Summary, Summary]]:
    """(row of Keras, the fastest row of its framework without Keras) where there are both."""
    found = []
    for row in summaries:
        if NATIVE not in row.ratios:
            continue
        native = [one for one in summaries if one.ranking == row.ranking and one.backend == twin(row)]
        timed = [one for one in native if TO_FASTEST in one.ratios]
        found.append((row, min(timed, key=lambda one: one.relative_to_fastest or 0.0)))
    return found


def _row(row: Summary, native: Summary, several_devices: bool) -> tuple[str, ...]:
    extra = (
        _more(row.step_seconds_median, native.step_seconds_median, 1000.0),
        _more(row.phases.get("first_step"), native.phases.get("first_step")),
        _more(_before(row), _before(native)),
    )
    return (
        plain(f"{row.title} ({row.device})" if several_devices else row.title),
        plain(row.backend),
        plain(twin(row)),
        significant(row.epoch_seconds),
        significant(native.epoch_seconds),
        of_ratio(NATIVE, row),
        *(MISSING if one == MISSING else "?" if row.ratios[NATIVE].rough else one for one in extra),
    )


def _before(row: Summary) -> float | None:
    """Seconds until the first step, as far as they are known."""
    known = [row.phases[name] for name in ("import", "data", "build") if name in row.phases]
    return sum(known) if known else None


def _more(keras: float | None, native: float | None, scale: float = 1.0) -> str:
    return MISSING if keras is None or native is None else f"{scale * (keras - native):+.2f}"
