"""The user's style of pictures: a style sheet over the project's own, and a size."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from matplotlib import style as sheets

from kbench.errors import UserError
from kbench.paths import expanded
from kbench.text import plain


@dataclass(frozen=True)
class Style:
    """The user's choice; what is empty is the project's own."""

    sheet: str = ""  # a style that matplotlib knows, or the path of an .mplstyle file
    size: tuple[float, float] | None = None  # width and height of each picture in inches


OWN = Style()


def chosen(name: str, size: tuple[float, float] | None) -> Style:
    """The style of that name, or of the .mplstyle file of that path. Raises UserError where there is none."""
    if not name or name in sheets.available:
        return Style(name, size)
    path = Path(expanded(name))
    if not path.is_file():
        near = get_close_matches(name, sheets.available)
        advice = f"did you mean {near[0]}?" if near else f"it knows {', '.join(sheets.available)}."
        raise UserError(f"--plot-style {plain(name)[:80]!r} is neither a file nor a matplotlib style: {advice}")
    return Style(str(path), size)
