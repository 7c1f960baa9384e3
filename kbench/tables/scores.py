"""Whether final scores are worse on one backend than on another, over several seeds: in words."""

from __future__ import annotations

from collections.abc import Sequence

from kbench.records.values import BesideBest, Interval
from kbench.summary import Summary
from kbench.words.text import significant

POINTS = 1.0  # of an accuracy, in per cent; and
RELATIVE = 0.01  # of a loss: a row whose score is not worse by more than this is no worse


def sentences(rows: Sequence[Summary]) -> list[str]:
    """One sentence on the rows of an example; none where they were not trained with several seeds."""
    known = [(row, row.score) for row in rows if row.score]
    if not known:
        return []
    _, first = known[0]
    best = next(score.mean for row, score in known if row.backend == score.best)
    others = [f"{row.backend} is {_how(score, best)}" for row, score in known if row.backend != score.best]
    start = f"Over {first.seeds} seeds {first.name} is best on {first.best}: {significant(best, 4)}"
    return [f"{start}; {'; '.join(others)}."]


def _how(score: BesideBest, best: float) -> str:
    low, high = score.difference.low, score.difference.high
    of_loss = score.name.endswith("loss")
    worse = Interval(low, high) if of_loss else Interval(-high, -low)
    scale, unit, most = (1.0, "", RELATIVE * abs(best)) if of_loss else (100.0, " points", POINTS / 100)
    word = "higher" if of_loss else "lower"
    if worse.low > 0:
        middle = scale * (worse.low + worse.high) / 2
        ends = f"{significant(scale * worse.low, 2)} to {significant(scale * worse.high, 2)}"
        return f"{word} by {significant(middle, 2)}{unit} ({ends})"
    if not of_loss:  # an accuracy is from 0 to 1
        if low <= -best and high >= 1 - best:
            return f"at {significant(score.mean, 4)}, but {score.seeds} seeds are too few to tell"
        low, high = max(low, -best), min(high, 1 - best)
    ends = f"{_signed(scale * low)} to {_signed(scale * high)}{unit}"
    return f"no {word} ({ends})" if worse.high <= most else f"not shown to be {word} ({ends}; more seeds tell)"


def _signed(value: float) -> str:
    return f"{'+' if value > 0 else ''}{significant(value, 2)}"
