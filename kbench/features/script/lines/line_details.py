"""What is known of a line of a program that no column shows; the row keeps it as `of_kind`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from kbench.summary import Summary


@dataclass(frozen=True)
class LikeLine:
    """A line of a program that returned the same as another one before it."""

    line: str  # that one
    apart: float | None = None  # the largest difference of their outputs, in the largest number; None: scores


@dataclass(frozen=True)
class LineDetails:
    """Beside the figures of its row."""

    # of the call's outputs from those of other backends, in the largest number of an output; None unless all agree
    outputs_apart: float | None = None
    scores_agree: bool = False  # those of a call of which no outputs are known
    outputs_not_compared: str = ""  # why nothing is known of that
    like_line: LikeLine | None = None  # that returned the same before it
    afterwards: str = ""  # what was found out when the program had ended
    # of predict_on_batch with the samples of a predict in a loop, where it takes much less
    on_batch_seconds: float | None = None
    # seconds of its second and its last epoch or call, where each takes longer than those before; (): they do not
    time_growth: tuple[float, ...] | None = None
    # of the seconds of its fits, over all processes
    validation_share: float = 0.0
    callback_share: float = 0.0
    first_losses: tuple[float, ...] = ()  # of a line that trains step by step
    compiles: bool = True  # whether its first steps may compile; False: it trains eagerly
    compiled_again: int = 0  # by its epochs or calls after the first


def details(row: Summary) -> LineDetails:
    """Those of the row."""
    return row.of_kind if isinstance(row.of_kind, LineDetails) else LineDetails()


def with_details(row: Summary, **changes: Any) -> Summary:
    """The row with some of them changed."""
    return replace(row, of_kind=replace(details(row), **changes))
