"""history.html: the answer, a chart of each line, and the tables. It loads nothing and needs no script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from kbench.features.history import told
from kbench.features.history.values import History, Line
from kbench.report import templates
from kbench.words.text import plain, significant

_FOLDER = Path(__file__).parent
_WIDTH, _HEIGHT, _EDGE = 360.0, 110.0, 8.0  # of a chart, as fits a phone


def page(history: History, home: str = "") -> str:
    """The page. home: the address of the page that it belongs to."""
    css = (templates.FOLDER / "page.css").read_text("utf-8") + (_FOLDER / "history.css").read_text("utf-8")
    charts = [_chart(line, told.records(history, line)) for line in history.lines]
    return templates.template("history.html.j2", _FOLDER).render(
        home=home,
        css=Markup(css),
        policy=templates.policy([]),
        answer=told.answer(history),
        charts=[one for one in charts if one],
        tables=[(name, one) for name, one in told.grids(history).items() if one.rows],
        notes=history.notes,
    )


def _chart(line: Line, records: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """What the template draws of a line's times; None if it has none."""
    points = [one for one in records if one["seconds"] is not None]
    if len(points) < 2:
        return None
    low: float = min(one["seconds_low"] for one in points)
    high: float = max(one["seconds_high"] for one in points)
    wide, tall = _WIDTH - 2 * _EDGE, _HEIGHT - 2 * _EDGE

    def y(value: float) -> float:
        return round(_EDGE + tall * (high - value) / ((high - low) or 1.0), 1)

    dots = []
    for place, one in enumerate(points):
        dot: dict[str, Any] = {"x": round(_EDGE + wide * place / (len(points) - 1), 1)}
        dot |= {"y": y(one["seconds"]), "low": y(one["seconds_low"]), "high": y(one["seconds_high"])}
        title = plain(f"{line.axis} {one['at']}: {significant(one['seconds'])} s")
        dots.append(dot | {"step": one["step"] is not None, "title": title})
    over = f"{line.axis} {points[0]['at']} to {points[-1]['at']}"
    return {
        "title": plain(f"{line.example} on {line.backend}"),
        "about": plain(", ".join(filter(None, (over, line.beside, line.machine.kind)))),
        "ends": f"{significant(low)} to {significant(high)} s/epoch",
        "dots": dots,
        "path": " ".join(f"{one['x']},{one['y']}" for one in dots),
    }
