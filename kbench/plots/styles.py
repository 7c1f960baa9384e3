"""How a row is drawn in every plot, the user's own style, and a figure as bytes that depend only on its content."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import matplotlib as mpl
from matplotlib import style as sheets
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.colors import is_color_like
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from kbench.base.paths import with_home
from kbench.errors import UserError
from kbench.records import axes
from kbench.records.axes import Axis, RowKey
from kbench.records.values import Cell
from kbench.summary import Summary
from kbench.words.text import listed, nearest, plain

_MARKERS = "osD^vPX*<>hpd8"
_FURTHER_COLORS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#222222", "#999933")
_LINE_STYLES = {"keras2": "-", "keras3": "--", "native": ":"}
_SIZE = 9.0  # points, of text
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

PAPER = "paper"  # a style of kbench's own, for a column of a journal: a PDF, too, and no title and footer
_PAPER: Any = {"font.size": 8.0, "axes.titlesize": 8.0, "lines.linewidth": 1.2, "lines.markersize": 3.5}
_COLUMN, _PAGE = 3.5, 7.16  # inches: the width of one column, and of both


@dataclass(frozen=True)
class Style:
    """The user's choice, where what is empty is the project's own; and what stands below each plot."""

    sheet: str = ""  # PAPER, a style that matplotlib knows, or the path of an .mplstyle file
    size: tuple[float, float] | None = None  # width and height of each plot in inches
    caption: str = field(default="", compare=False)  # where and when it was measured
    synthetic: frozenset[str] = field(default=frozenset(), compare=False)  # examples with such data for real ones

    def fit(self, width: float, height: float = 1.0) -> tuple[float, float]:
        """The size of a plot that has this one, in inches, if nothing else is asked for."""
        if self.sheet == PAPER and self.size is None:
            return _COLUMN if width <= 2 * _COLUMN else _PAGE, height
        return self.size or (width, height)


OWN = Style()
LARGEST_STYLE = 1 << 20  # bytes


def chosen(name: str, size: tuple[float, float] | None) -> Style:
    """The style of that name, or of the .mplstyle file of that path. Raises UserError where there is none."""
    if not name or name in (PAPER, *sheets.available):
        return Style(name, size)
    path = with_home(name)
    if not path.is_file():
        hint = nearest(name, [PAPER, *sheets.available])
        raise UserError(f"--plot-style {plain(name)[:80]!r} is neither a file nor a matplotlib style{hint}")
    if path.stat().st_size > LARGEST_STYLE:
        raise UserError(
            f"--plot-style {plain(name)[:80]!r} is larger than {LARGEST_STYLE >> 20} MiB: it is no style."
        )
    return Style(str(path), size)


@dataclass(frozen=True)
class RowStyle:
    """How one row of a table is drawn."""

    label: str  # the backend, and what else identifies the row
    column: str  # the same without what rows are not ranked along, apart from the device
    color: str
    line_style: str
    marker: str
    filled: bool  # whether its marker is


Key = RowKey  # without the example


def key(row: Summary | Cell) -> Key:
    """What identifies a row of an example."""
    return row.key.named.without(axes.TITLE)


def row_styles(rows: Sequence[Summary], colors: Mapping[str, str]) -> dict[Key, RowStyle]:
    """The style of each row's key. Give it all rows of a run, so that all its plots agree.

    A label names the backend, and what differs between rows of an example.

    `colors` maps a backend's name to #rrggbb; a backend without one gets one of eight further ones.
    """
    named = _in_labels(rows)
    backends = sorted({row.backend for row in rows})
    labels: dict[str, list[str]] = {name: [] for name in backends}
    chosen: dict[Key, RowStyle] = {}
    order = axes.order_of(sorted({key(row) for row in rows}, key=str))
    for row in sorted(rows, key=lambda row: (row.backend, order(key(row)))):
        own, backend = key(row), row.backend
        label, column = (_label(row, inside) for inside in (named, [one for one in named if _in_column(one)]))
        position, color = backends.index(backend), colors.get(backend, "")
        if label not in labels[backend]:
            labels[backend].append(label)
        marker, filled = marker_of(position, labels[backend].index(label), len(backends))
        chosen[own] = RowStyle(
            label=label,
            column=column,
            color=color if is_color_like(color) else _FURTHER_COLORS[position % len(_FURTHER_COLORS)],
            line_style=_LINE_STYLES.get(backend.partition("/")[0], "-."),
            marker=marker,
            filled=filled,
        )
    return chosen


def marker_of(backend: int, number: int, backends: int) -> tuple[str, bool]:
    """The marker of the `number`-th line of the `backend`-th of so many backends, and whether it is filled."""
    return _MARKERS[(backend + number // 2 * backends) % len(_MARKERS)], number % 2 == 0


def _in_labels(rows: Sequence[Summary]) -> list[Axis]:
    """The axes in labels: where rows of an example and backend differ, and the device if there are several.

    Native layouts differ between examples; labels name them only if one example runs in both. Training and inference
    are never in one plot.
    """
    keys = [row.key.without([axes.TASK]) for row in rows]
    inside = axes.within_backends(keys)
    several = [axis for axis in axes.varying(keys) if axis.name == axes.DEVICE]
    return [axis for axis in axes.varying(keys) if axis in (*inside, *several)]


def place_labels(rows: Sequence[Summary]) -> Callable[[Summary], str]:
    """What names the rows that are ranked together: the example, and values on which not all of them agree, as in
    `mnist_mlp, batch 32`.
    """
    varying = axes.varying(row.key for row in rows)
    named = [axis for axis in varying if not _in_column(axis) and axis.name not in axes.TITLE]
    return lambda row: ", ".join([row.example, *_shown(row, named)])


def same_learning(rows: Iterable[Summary]) -> list[Summary]:
    """Without the rows that do the same work as an earlier one of their backend: they learn the same."""
    along = [axis.name for axis in axes.numbers() if axis.same_work]
    return [group[0] for group in axes.group_by_point(rows, lambda row: row.key, along).values()]


def _shown(row: Summary, named: Iterable[Axis]) -> list[str]:
    return [text for axis in named if (text := axes.shown(axis, row.key[axis.name]))]


def _label(row: Summary, named: Sequence[Axis]) -> str:
    return " ".join([row.backend, *_shown(row, named)])


def _in_column(axis: Axis) -> bool:
    return axis.ranked or axis.name == axes.DEVICE


def luminance(color: Sequence[float]) -> float:
    """Relative luminance by WCAG 2, 0 for black and 1 for white."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in color[:3]]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def literal(text: str, length: int = 60) -> str:
    """`text` for matplotlib to show literally: one line, shortened, and $ starts no formula."""
    line = plain(text)
    return (line if len(line) <= length else line[: length - 1] + "…").replace("$", r"\$")


def titled(title: str, example: str, style: Style) -> str:
    """The title of an example's plot; in a paper only that its data are synthetic."""
    parts = [headed(literal(title), style), "(synthetic data)" if example in style.synthetic else ""]
    return " ".join(filter(None, parts))


def headed(title: str, style: Style) -> str:
    """The title, which a paper has in its own caption."""
    return "" if style.sheet == PAPER else title


def points(size: float) -> float:
    """A text size of the project's own style, scaled to the current style."""
    return float(size * mpl.rcParams["font.size"] / _SIZE)


def line_of(row_style: RowStyle) -> dict[str, Any]:
    """How a row's line is drawn, with its markers."""
    return {
        "color": row_style.color,
        "linestyle": row_style.line_style,
        "marker": row_style.marker,
        "markerfacecolor": row_style.color if row_style.filled else mpl.rcParams["axes.facecolor"],
        "markeredgewidth": 1.0,
    }


def legend_columns(labels: Sequence[str], width: float) -> int:
    """How many columns with the longest label fit into `width` inches."""
    return max(1, min(4, len(labels), int(width / (0.08 * max(map(len, labels)) + 0.8))))


def legend(figure: Figure, handles: Sequence[Line2D], width: float) -> None:
    """Below the axes."""
    columns = legend_columns([str(handle.get_label()) for handle in handles], width)
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, handlelength=3.2)


def render(draw: Callable[[], Figure], style: Style = OWN) -> dict[str, bytes]:
    """The figure as {"png": ..., "svg": ...}, in a paper "pdf", too, in the user's style over the project's own.

    Raises UserError.
    """
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # a name may be in any script
        warnings.filterwarnings("ignore", message="Style includes a parameter")  # such as `backend`: not used here
        warnings.filterwarnings("error", message="constrained_layout not applied")  # no room for the axes
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        try:
            if style.sheet == PAPER:
                mpl.rcParams.update(_PAPER)
            elif style.sheet:
                sheets.use(style.sheet)
                mpl.rcParams["svg.hashsalt"] = _STYLE["svg.hashsalt"]  # so that the same run gives the same bytes
            return _written(draw(), style)
        except Exception as error:  # a wrong style can fail in many ways
            if style == OWN:
                raise
            reason = plain(str(error))[:200].rstrip(".")
            raise UserError(f"No plot can be drawn in that --plot-style and --plot-size: {reason}.") from error


def caption(
    machines: Iterable[str], rows: Iterable[Summary], created: Iterable[str], synthetic: Iterable[str] = ()
) -> str:
    """Such as `AMD EPYC, 2 cores, CPU only; profile quick; cpu; 2026-11-23; kbench`; `synthetic`: as in a style."""
    rows = list(rows)
    profiles = dict.fromkeys(row.profile for row in rows if row.profile and not row.work.observed)
    parts = [
        " / ".join(one for one in dict.fromkeys(machines) if one),
        f"profile {', '.join(profiles)}" if profiles else "",
        f"synthetic data in {listed(names)}" if (names := sorted(synthetic)) else "",
        ", ".join(dict.fromkeys(row.device for row in rows)),
        " / ".join(dict.fromkeys(one[:10] for one in created if one)),
        "kbench",
    ]
    return "; ".join(part for part in parts if part)


def _written(figure: Figure, style: Style) -> dict[str, bytes]:
    png, svg, pdf = BytesIO(), BytesIO(), BytesIO()
    agg: Any = FigureCanvasAgg(figure)  # Any: their print methods have no types
    size = points(6)
    letters = int(figure.get_figwidth() * 72 / (0.56 * size))  # DejaVu's are about as wide
    lines = textwrap.wrap(plain(headed(style.caption, style)), max(20, letters))
    below = (1.3 * size * len(lines) + 4) / 72 if lines else 0.0  # inches
    if style.size and below:
        figure.set_figheight(max(figure.get_figheight() - below, 0.5))
    # Laid out once and printed without savefig, which would lay out and draw each format twice.
    if engine := figure.get_layout_engine():
        engine.execute(figure)
        figure.set_layout_engine("none")
    if below:
        _sign(figure, "\n".join(literal(line, 400) for line in lines), size, below)
    agg.print_png(png, metadata={"Software": None})
    as_svg: Any = FigureCanvasSVG(figure)
    as_svg.print_svg(svg, metadata={"Date": None, "Creator": None})
    written = {"png": png.getvalue(), "svg": svg.getvalue()}
    if style.sheet == PAPER:
        as_pdf: Any = FigureCanvasPdf(figure)
        as_pdf.print_pdf(pdf, metadata=dict.fromkeys(("CreationDate", "Creator", "Producer")))
        written["pdf"] = pdf.getvalue()
    return written


def _sign(figure: Figure, text: str, size: float, below: float) -> None:
    """Add a text below a plot that is laid out, which becomes higher by so many inches."""
    height = figure.get_figheight() + below
    share = below / height
    for drawn in figure.axes:
        box = drawn.get_position()
        drawn.set_position((box.x0, share + (1 - share) * box.y0, box.width, (1 - share) * box.height))
    for one in figure.texts:  # the title of the whole
        one.set_y(share + (1 - share) * one.get_position()[1])
    for legend_ in figure.legends:
        legend_.set_bbox_to_anchor((0.0, share, 1.0, 1 - share), transform=figure.transFigure)
    figure.set_figheight(height)
    figure.text(0.01, 0.2 * share, text, fontsize=size, color="#666666", va="bottom", linespacing=1.2)
