"""Which models did not learn like the others of their example, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from kbench.analysis.learning.unlike_others import compared, how, single
from kbench.sentences import advice, scores_apart
from kbench.summary import Summary

_NAMED = 4  # rows, in the sentence at the top of the page


def learning(summaries: Sequence[Summary]) -> tuple[str, list[str]]:
    """Whether the backends learnt alike, in a sentence; and one for each row whose final score is unlike the others'.

    Both are empty where no example has three validated rows to compare. Only several trainings can show that a row
    does not learn like the others: from one, nobody knows how much the next would vary.
    """
    found: dict[str, list[str]] = {_UNLIKE: [], _KNOWN: [], _PERHAPS: []}
    lines: list[str] = []
    groups = compared(summaries)
    for group in groups:
        for row in group:
            if unlike := how(row, group):
                name = f"{row.backend} in {row.example}"
                found[_KNOWN if row.learning_cause else _PERHAPS if single(row) else _UNLIKE].append(name)
                lines.append(f"{name}: {scores_apart(unlike)}.{advice(unlike)}")
    sentences = [f"{kind}: {_names(names)}." for kind, names in found.items() if names]
    if groups and not sentences:
        examples = len({group[0].example for group in groups})
        sentences = [
            f"Final scores are alike in {'the one example' if examples == 1 else f'all {examples} examples'}."
        ]
    return " ".join(sentences), lines


_UNLIKE = "Not learning like the others"
_KNOWN = "Not learning like the others, perhaps for a known reason"
_PERHAPS = "Unlike the others in one training, perhaps by chance"


def _names(found: Sequence[str]) -> str:
    return ", ".join(found[:_NAMED]) + (f" and {len(found) - _NAMED} more" if len(found) > _NAMED else "")
