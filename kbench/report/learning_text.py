"""Which models did not learn like the others of their example, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from kbench.analysis.learning.training_tables import compared
from kbench.summary import Summary
from kbench.words.sentences import advice, scores_apart

_NAMED = 4  # rows, in the sentence at the top of the page


def learning(summaries: Sequence[Summary]) -> tuple[str, list[str]]:
    """Whether the backends learnt alike, in a sentence; and one for each row whose final score is unlike the others'.

    Both are empty where no example has two trained rows to compare.
    """
    found: dict[str, list[str]] = {_UNLIKE: [], _KNOWN: []}
    lines: list[str] = []
    groups = compared(summaries)
    for row in (row for group in groups for row in group):
        if unlike := row.has("learning"):
            name = f"{row.backend} in {row.example}"
            found[_KNOWN if unlike.explanation else _UNLIKE].append(name)
            lines.append(f"{name}: {scores_apart(unlike)}.{advice(unlike)}")
    sentences = [f"{kind}: {_names(names)}." for kind, names in found.items() if names]
    if groups and not sentences:
        examples, what = (
            len({group[0].example for group in groups}),
            "line" if groups[0][0].work.observed else "example",
        )
        sentences = [f"Final scores are alike{f' in all {examples} {what}s' if examples > 1 else ''}."]
    return " ".join(sentences), lines


_UNLIKE = "Not learning like the others"
_KNOWN = "Not learning like the others, perhaps for a known reason"


def _names(found: Sequence[str]) -> str:
    return ", ".join(found[:_NAMED]) + (f" and {len(found) - _NAMED} more" if len(found) > _NAMED else "")
