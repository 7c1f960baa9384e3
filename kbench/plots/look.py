"""How a row looks in every picture, and how a figure becomes bytes that depend on nothing but its content."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.colors import is_color_like
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D

from kbench.errors import UserError
from kbench.plots.fitting import fit, too_small
from kbench.plots.style import OWN, Style
from kbench.text import plain
from kbench.values import Cell, Summary

_MARKERS = "osD^vPX*<>hpd8"
_SPARE_COLORS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#222222", "#999933")
_LINE_STYLES = {"keras2": "-", "keras3": "--"}
_SIZE = 9.0  # points, of text
_LEAST_SIZE = 6.0  # points: smaller text is not read in print
_USUAL_WIDTH = 6.5  # inches: narrower pictures have smaller text
_MOST_PIXELS = 64e6
_MOST_BYTES = 32 << 20
_STYLE: Any = {  # Any: matplotlib's own type for it lists every key, and differs by version
    "font.family": "DejaVu Sans",  # comes with matplotlib, so every machine draws the same
    "figure.dpi": 150.0,  # of the PNG; an SVG has no use for it
    "font.size": _SIZE,
    "axes.titlesize": 10.0,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "svg.hashsalt": "kbench",
    "svg.fonttype": "path",
}


@dataclass(frozen=True)
class Look:
    """How one row of a table is drawn."""

    label: str  # the backend, and what else tells the row from the others
    color: str
    line_style: str
    marker: str
    filled: bool  # False for further rows of a backend that has been drawn already


Key = tuple[str, str, str]  # backend, image_data_format, device


def key(row: Summary | Cell) -> Key:
    """What tells the rows of one example apart."""
    return row.backend, row.image_data_format, row.device


def looks(rows: Sequence[Summary], colors: Mapping[str, str]) -> dict[Key, Look]:
    """The look of each row's key. Give it all rows of a run, so that all its pictures agree.

    `colors` maps a backend's name to #rrggbb; a backend without one gets a spare colour.
    """
    several_devices = len({row.device for row in rows}) > 1
    # Native formats differ from example to example; only one that runs in both needs them told apart.
    per_example = {(row.example, row.backend, row.device, row.image_data_format) for row in rows}
    several_formats = len({row[:3] for row in per_example}) < len(per_example)
    backends = sorted({row.backend for row in rows})
    variants: dict[str, list[str]] = {name: [] for name in backends}
    chosen: dict[Key, Look] = {}
    for backend, format_, device in sorted({key(row) for row in rows}):
        words = [backend, *([format_] if several_formats else []), *([device] if several_devices else [])]
        label = " ".join(words)
        if label not in variants[backend]:
            variants[backend].append(label)
        place, color = backends.index(backend), colors.get(backend, "")
        chosen[backend, format_, device] = Look(
            label=label,
            color=color if is_color_like(color) else _SPARE_COLORS[place % len(_SPARE_COLORS)],
            line_style=_LINE_STYLES.get(backend.partition("/")[0], "-."),
            marker=_MARKERS[place % len(_MARKERS)],
            filled=variants[backend].index(label) == 0,
        )
    return chosen


def luminance(color: Sequence[float]) -> float:
    """Relative luminance by WCAG 2, 0 for black and 1 for white."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in color[:3]]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def literal(text: str, length: int = 60) -> str:
    """`text` as matplotlib shows it unchanged: one line, shortened, and $ begins no formula."""
    line = plain(text)
    return (line if len(line) <= length else line[: length - 1] + "…").replace("$", r"\$")


def points(size: float) -> float:
    """A size of text, given for the project's own style, in the style at hand."""
    return float(size * mpl.rcParams["font.size"] / _SIZE)


def line_of(look: Look) -> dict[str, Any]:
    """How a row's line is drawn, with its markers."""
    return {
        "color": look.color,
        "linestyle": look.line_style,
        "marker": look.marker,
        "markerfacecolor": look.color if look.filled else mpl.rcParams["axes.facecolor"],
        "markeredgewidth": 1.0,
    }


def legend_columns(labels: Sequence[str], width: float) -> int:
    """So many columns as the longest label leaves room for in `width` inches: of each letter, and of the line."""
    size = FontProperties(size=mpl.rcParams["legend.fontsize"]).get_size_in_points() / _SIZE
    return max(1, min(4, len(labels), int(width / (size * (0.08 * max(map(len, labels)) + 0.8)))))


def legend(figure: Figure, handles: Sequence[Line2D], width: float, style: Style) -> None:
    """Below the axes, closer together where the user gave a size."""
    labels = [str(handle.get_label()) for handle in handles]
    close: Any = {"handlelength": 3.2}
    columns = legend_columns(labels, width)
    if style.size:
        close = {"handlelength": 2.6, "columnspacing": 1.0}
        columns = legend_columns(labels, 1.2 * width)
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, **close)


def render(draw: Callable[[], Figure], style: Style = OWN) -> dict[str, bytes]:
    """The figure as {"png": ..., "svg": ...}: in the project's style, whatever the user's is, with `style` over it.

    Raises UserError where that style or its size cannot be drawn.
    """
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # a name may be in any script
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        if style.own:
            return _written(draw())
        warnings.filterwarnings("error", message="constrained_layout not applied")
        try:
            mpl.rcParams.update(_laid_over(style))
            figure = draw()
            _check_pixels(figure)
            fit(figure)
            if too_small(figure):
                raise UserError(_no_room(style))
            files = _written(figure)
        except UserError:
            raise
        except Exception as error:  # there are many ways to write a style, and as many in which matplotlib ends
            raise UserError(_undrawable(style, error)) from error
    if (most := max(map(len, files.values()))) > _MOST_BYTES:
        raise UserError(f"With that --plot-style a picture takes {most >> 20} MiB: simplify it.")
    return files


def _laid_over(style: Style) -> Any:
    """Its settings, with text and lines as small as a narrow picture asks for, but for what a file says itself."""
    narrow = min(1.0, (style.size[0] / _USUAL_WIDTH) ** 0.5) if style.size else 1.0
    size = style.settings.get("font.size", _SIZE)
    own = {"font.size": size, "axes.titlesize": _STYLE["axes.titlesize"] * size / _SIZE}
    own |= {name: _STYLE[name] for name in ("lines.linewidth", "lines.markersize")}
    settings = {**own, **style.settings}
    for name, value in settings.items():
        if isinstance(value, int | float) and not (style.exact and name in style.settings):
            if name == "font.size" or name.endswith(("labelsize", "titlesize", "fontsize")):
                settings[name] = max(min(_LEAST_SIZE, value), value * narrow)
            elif name in ("lines.linewidth", "lines.markersize"):
                settings[name] = value * narrow
    return settings


def _check_pixels(figure: Figure) -> None:
    width, height = figure.get_size_inches()
    if width * height * figure.dpi**2 > _MOST_PIXELS:
        raise UserError(
            f"A picture of {width:.3g} x {height:.3g} inches with {figure.dpi:g} dots an inch has more than "
            f"{_MOST_PIXELS / 1e6:.0f} million pixels: give a smaller --plot-size, or a smaller dpi in --plot-style."
        )


def _undrawable(style: Style, error: Exception) -> str:
    if "constrained_layout" in str(error):
        return _no_room(style)
    return f"No picture can be drawn with that --plot-style: {plain(str(error))[:200].rstrip('.')}."


def _no_room(style: Style) -> str:
    size = f"{style.size[0]:g}x{style.size[1]:g} inches" if style.size else "a picture of the usual size"
    return f"Text of {mpl.rcParams['font.size']:.3g} points does not fit into {size}: give a larger --plot-size."


def _written(figure: Figure) -> dict[str, bytes]:
    png, svg = BytesIO(), BytesIO()
    agg: Any = FigureCanvasAgg(figure)  # Any: their print methods have no types
    # Laid out once, and printed without savefig, which lays out and draws each format twice.
    if engine := figure.get_layout_engine():
        engine.execute(figure)
        figure.set_layout_engine("none")
    agg.print_png(png, metadata={"Software": None})
    as_svg: Any = FigureCanvasSVG(figure)
    as_svg.print_svg(svg, metadata={"Date": None, "Creator": None})
    return {"png": png.getvalue(), "svg": svg.getvalue()}
