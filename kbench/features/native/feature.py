"""Says what Keras costs: rows of Keras beside those of the same framework without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kbench import hooks
from kbench.hooks import Plot, Told

if TYPE_CHECKING:
    from kbench.analysis.rows import Analysis
    from kbench.plots.styles import Key, RowStyle, Style
    from kbench.summary import Summary


@hooks.fills
def told(analysis: Analysis) -> Told:
    """What Keras costs, as a table."""
    from kbench.features.native import table

    found = table.table(analysis.rows)
    return Told(tables=(found,) if found else ())


@hooks.fills
def plots() -> Sequence[Plot]:
    """The same as a picture."""
    return (Plot("keras-cost", _keras_cost),)


def _keras_cost(summaries: Sequence[Summary], styles: Mapping[Key, RowStyle], style: Style) -> Mapping[str, bytes]:
    from kbench.features.native.plot import keras_cost

    return keras_cost(summaries, styles, style)
