"""A run of several examples in a few lines: which backend to take, a heat map, and what is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kbench.records.values import FAILED, INTERRUPTED, TIMEOUT, UNAVAILABLE
from kbench.summary import Summary
from kbench.tables import answers, data, heat_map, sweeps
from kbench.tables.content import by_example
from kbench.tables.heat_map import Paint, unpainted
from kbench.words.sentences import sentence
from kbench.words.text import at_blanks, listed, plain

FEWEST = 3  # tables: of fewer, each is read
_MOST = 6  # sentences on what is wrong


def is_enough(rows: Sequence[Summary]) -> bool:
    """Whether these rows are told better so than by their tables: several examples, and no observed work."""
    return len(by_example(rows)) >= FEWEST and not any(row.work.observed for row in rows)


def text(rows: Sequence[Summary], width: int, repeat_command: str = "", paint: Paint = unpainted) -> str:
    """The lines. `repeat_command` repeats what could not be compared; `paint` colours the heat map."""
    answer = answers.over_all(rows, repeat_command)
    wrong = problems(rows, repeat_command)
    left = len(wrong) - _MOST
    shown = [*wrong[:_MOST], *([f"{left} more are in summary.md."] if left > 0 else [])]
    gains = [
        f"{group[0].example}: {sentence}"
        for group in by_example(rows)
        for sentences in sweeps.of_features(group).values()
        for sentence in sentences
    ]
    parts = [*(at_blanks(one, width) for one in answer), heat_map.text(rows, width, paint)]
    parts += ["\n".join(at_blanks(one, width, "  ") for one in gains)] if gains else []
    parts += ["\n".join(at_blanks(one, width, "  ") for one in shown)] if shown else []
    return "\n\n".join(parts)


def problems(rows: Sequence[Summary], repeat_command: str = "") -> list[str]:
    """What is wrong, a sentence each, worst first: failures, rows that are not like the others, what is not known."""
    found = [
        *_grouped(
            (row, f"{row.status}: {row.reason}") for row in rows if row.status in (FAILED, TIMEOUT, INTERRUPTED)
        ),
        *_grouped((row, f"unavailable: {row.reason}") for row in rows if row.status == UNAVAILABLE),
        *_grouped((row, f"not compared: {row.differs[0]}") for row in rows if row.unranked == "differs"),
        *_grouped((row, sentence(found)) for row in rows if (found := row.has("learning"))),
        *(f"{row.example}: {sentence(found)}." for row in rows if (found := row.has("no progress"))),
    ]
    if missing := answers.not_compared(rows, repeat_command):
        found.append(missing)
    if synthetic := list(dict.fromkeys(row.example for row in rows if data.is_synthetic(row))):
        found.append(f"On synthetic data, whose scores mean nothing: {listed(synthetic)}.")
    return list(dict.fromkeys(map(plain, found)))


def _grouped(whys: Iterable[tuple[Summary, str]]) -> list[str]:
    """What is said of rows: once for all examples of a backend."""
    found: dict[tuple[str, str], list[str]] = {}
    for row, why in whys:
        found.setdefault((row.backend, why.rstrip(".")), []).append(row.example)
    return [f"{backend} in {listed(names)}: {why}." for (backend, why), names in found.items()]
