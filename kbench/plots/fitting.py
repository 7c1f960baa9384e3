"""Makes the text of a picture fit into a size, or a style, that the picture was not made for."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

_MOST_LINES = 3
_LEAST = 0.22  # of a picture's width and height, for each of its axes
_ROUNDS = 3  # of wrapping and shrinking: each is laid out anew


def fit(figure: Figure) -> None:
    """Wrap titles and the labels of axes, and shrink them where that is not enough. Lays the figure out."""
    for _ in range(_ROUNDS):
        lay_out(figure)
        width, height = figure.get_size_inches() * figure.dpi
        changed = [_fit_one(text, (height if upright else width) * 0.98, upright) for text, upright in _texts(figure)]
        if not any(changed):
            return


def too_small(figure: Figure) -> bool:
    """Whether text has left the axes next to nothing, of what was laid out."""
    whole = figure.bbox
    parts = [axes.get_window_extent() for axes in figure.axes]
    return any(part.width < _LEAST * whole.width or part.height < _LEAST * whole.height for part in parts)


def lay_out(figure: Figure) -> None:
    """Give axes and text their places, so that they can be measured."""
    FigureCanvasAgg(figure)
    if engine := figure.get_layout_engine():
        engine.execute(figure)


def width_of(texts: Iterable[Text]) -> float:
    """Pixels that the widest of them takes, once they have a place."""
    return max((text.get_window_extent().width for text in texts), default=0.0)


def _texts(figure: Figure) -> list[tuple[Text, bool]]:
    """The titles and labels, and whether each stands upright."""
    title: Any = getattr(figure, "_suptitle", None)
    found = [(title, False)] if title is not None else []
    for axes in figure.axes:
        found += [(axes.title, False), (axes.xaxis.label, False), (axes.yaxis.label, True)]
    return [(text, upright) for text, upright in found if text.get_text()]


def _fit_one(text: Text, room: float, upright: bool) -> bool:
    """Whether it had to be changed."""
    box = text.get_window_extent()
    # A label is centred on its axes and not on the picture: what hangs out on one side counts twice.
    ends = (box.y0, box.y1) if upright else (box.x0, box.x1)
    figure = text.get_figure()
    assert figure is not None
    whole = figure.bbox.height if upright else figure.bbox.width
    out = max(0.0, -ends[0], ends[1] - whole)
    length = ends[1] - ends[0]
    if length <= room and out < 1:
        return False
    fitting = min(room, length - 2 * out) / length
    said = text.get_text()
    lines = said.split("\n")
    wrapped = textwrap.wrap(said.replace("\n", " "), max(8, int(max(map(len, lines)) * fitting)))
    if len(wrapped) <= max(_MOST_LINES, len(lines)) and len(wrapped) > len(lines):
        text.set_text("\n".join(wrapped))
    else:
        text.set_fontsize(max(1.0, text.get_fontsize() * max(0.5, fitting) * 0.98))
    return True
