"""report.html: runs on one page that is complete, opens from disk and loads nothing."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup
from matplotlib.colors import Colormap, LogNorm

from kbench.additions import Section
from kbench.analysis.learning.learning_curves import unrisen
from kbench.analysis.times.overall import profiles, ranked
from kbench.analysis.times.shown_ratios import open_rankings, shown_ratio, sure_ratio
from kbench.analysis.times.shown_ratios import words as matrix_words
from kbench.comparison.scaling import Lines, within
from kbench.plots.overview import scale
from kbench.plots.performance_profile import in_words as profile_in_words
from kbench.plots.performance_profile import of_backends
from kbench.plots.scaling import line_styles
from kbench.plots.styles import Key, RowStyle, key, place_labels, row_styles
from kbench.records import axes
from kbench.records.axes import Point
from kbench.records.values import NOT_COMPARED, OK, Measured
from kbench.report import charts, colors, learning_text, templates
from kbench.summary import Summary
from kbench.tables import configuration, overall
from kbench.tables.answers import headline, over_all
from kbench.tables.content import Table, by_example, of_table, remarks_once, table
from kbench.tables.page import Run, versions
from kbench.words.text import listed, plain

_SCRIPTS = (
    "vendor/vega.min.js",
    "vendor/vega-lite.min.js",
    "vendor/vega-embed.min.js",
    "charts.js",
    "copy.js",
    "page.js",
)

# The plots' markers as SVG paths of radius 1, for Vega and for the page's own swatches.
_CIRCLE = "M1,0A1,1,0,1,1,-1,0A1,1,0,1,1,1,0Z"
_SHAPES = {
    "o": _CIRCLE,
    "s": "M-.9,-.9h1.8v1.8h-1.8Z",
    "D": "M0,-1.2L1.1,0L0,1.2L-1.1,0Z",
    "^": "M0,-1.1L1.1,.9H-1.1Z",
    "v": "M0,1.1L1.1,-.9H-1.1Z",
    "<": "M-1.1,0L.9,-1.1V1.1Z",
    ">": "M1.1,0L-.9,-1.1V1.1Z",
    "P": "M-.4,-1.1h.8v.7h.7v.8h-.7v.7h-.8v-.7h-.7v-.8h.7Z",
    "X": "M-.6,-1L0,-.4L.6,-1L1,-.6L.4,0L1,.6L.6,1L0,.4L-.6,1L-1,.6L-.4,0L-1,-.6Z",
    "*": "M0,-1L.25,-.35L.95,-.31L.4,.13L.59,.81L0,.43L-.59,.81L-.4,.13L-.95,-.31L-.25,-.35Z",
}
NAMED = 3  # so many examples or backends stand in a title
_BY_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(-\d+)?")  # a name that nobody gave
_DASHES = {"-": [1, 0], "--": [6, 3], ":": [1, 3], "-.": [6, 3, 1, 3]}


def html(runs: Sequence[Run], scaling: Sequence[Lines] = (), unscaled: Sequence[str] = (), plots: str = "") -> str:
    """The page. The same runs give the same text.

    `scaling` is drawn below several runs, `unscaled` says why an example has no such lines, and `plots` is the
    folder of their plots.
    """
    # One style a row for all runs, so that a backend is the same everywhere.
    known = {name: str(about.get("color", "")) for run in runs for name, about in run.backends.items()}
    chosen = row_styles([row for run in runs for row in run.summaries], known)
    along = [within([row for row in run.summaries if row.work.compared]) for run in runs]
    of_lines = [row_style for found in (scaling, *along) for one in found for row_style in line_styles(one, chosen)]
    whole = [row_style for run in runs for row_style in of_backends(run.summaries, chosen).values()]
    named = {row_style.label for row_style in (*chosen.values(), *of_lines)}
    styles = _styles([*chosen.values(), *of_lines, *(one for one in whole if one.label not in named)])
    each = charts.points_each(4 * sum(len(run.summaries) for run in runs))
    shown = [
        _run(number, run, chosen, styles, each, sweeps)
        for number, (run, sweeps) in enumerate(zip(runs, along, strict=True))
    ]
    lines = _drawn("scaling", "scaling", _along(scaling, chosen))
    sections = [*(section for run in shown for section in (run["profile"], *run["examples"])), lines]
    drawn = [chart for section in sections for chart in section["charts"]]
    switched = {row for section in sections for row in _rows(section["charts"])}
    data = {"charts": {chart["id"]: chart for chart in drawn}, "styles": list(styles.values())}
    scripts = [templates.script(name) for name in _SCRIPTS]
    return templates.template("page.html.j2").render(
        runs=shown,
        styles=list(styles.values()),
        toggles=[style for label, style in styles.items() if label in switched],
        css=Markup((templates.FOLDER / "page.css").read_text(encoding="utf-8")),
        data=htmlsafe_json_dumps(data, separators=(",", ":"), allow_nan=False),
        scripts=scripts,
        policy=templates.policy(scripts),
        several=len(runs) > 1,
        scaling=lines,
        unscaled=unscaled,
        plots=plots,
    )


def _styles(chosen: Iterable[RowStyle]) -> dict[str, dict[str, Any]]:
    """By label: how charts.js and page.css draw a row."""
    by_label = {row_style.label: row_style for row_style in reversed(list(chosen))}
    by_label = dict(reversed(by_label.items()))
    return {
        label: {
            "id": number,
            "label": label,
            "color": row_style.color,
            "dark": colors.on_dark(row_style.color),
            "shape": _SHAPES.get(row_style.marker, _CIRCLE),
            "dash": _DASHES[row_style.line_style],
            "filled": row_style.filled,
        }
        for number, (label, row_style) in enumerate(by_label.items())
    }


def _title(run: Run) -> str:
    """The run's name, if somebody gave it one; else what was measured."""
    rows = [row for row in run.summaries if row.work.compared]
    if not rows or not _BY_TIME.fullmatch(run.name):
        return run.name
    titles = dict.fromkeys(row.program if row.work.observed else row.example for row in rows)
    backends = dict.fromkeys(row.backend for row in rows)
    what, where = (
        listed(map(plain, names)) if len(names) <= NAMED else f"{len(names)} {several}"
        for names, several in ((titles, "examples"), (backends, "backends"))
    )
    return f"{what} on {where}"


def _run(
    number: int,
    run: Run,
    chosen: Mapping[Key, RowStyle],
    styles: Mapping[str, Mapping[str, Any]],
    each: int,
    sweeps: Sequence[Lines],
) -> dict[str, Any]:
    cells: dict[tuple[str, object], list[Measured]] = {}
    for one in run.measured:
        cells.setdefault(of_table(one.cell), []).append(one)
    groups = by_example(run.summaries)
    # Each with footnotes of its own: a reader may go to a section by a link.
    contents = [
        _answer_first(one) for one in remarks_once(table(rows, repeat_command=run.repeat_command) for rows in groups)
    ]
    noted = {
        id(row): f"r{number}e{position}n{mark[1]}"
        for position, (rows, content) in enumerate(zip(groups, contents, strict=True))
        for row, cells in zip(rows, content.rows, strict=True)
        if (mark := re.search(r"\[(\d+)\]", cells[-1]))
    }
    examples = [
        {
            **_drawn(
                f"r{number}e{position}",
                rows[0].title,
                [
                    *charts.of_example(
                        rows, cells[of_table(rows[0])], chosen, each, run.references.get(rows[0].example)
                    ),
                    *_along([one for one in sweeps if one.title == rows[0].title], chosen),
                ],
            ),
            "unrisen": unrisen(cells[of_table(rows[0])]),
            "facts": content.heading.removeprefix(plain(rows[0].example)).strip(" ()"),
            "table": content,
            "marks": [(styles[chosen[key(row)].label], "" if row.status == OK else "missed") for row in rows],
        }
        for position, (rows, content) in enumerate(zip(groups, contents, strict=True))
    ]
    learnt, unlike = learning_text.learning(run.summaries)
    return {
        "id": f"r{number}",
        "name": run.name,
        "title": _title(run),
        "what": "part" if any(row.work.observed for row in run.summaries) else "example",
        "created": run.created[:16].replace("T", " "),
        "machine": run.machine,
        "command": run.command,
        "headline": headline(run.summaries, run.repeat_command) if run.summaries else "Nothing was measured.",
        "learnt": learnt,
        "unlike": unlike,
        "overall": over_all(run.summaries) if overall.sentences(run.summaries) else [],
        "profile": _profile(f"r{number}p", run.summaries),
        "remarks": run.remarks,
        "matrix": _matrix(run.summaries, chosen, styles, noted),
        "examples": examples,
        "sections": [_section(one) for one in run.sections if one.in_report and one.tables],
        "further": run.further,
        "configuration": configuration.tables(run.provenance, run.examples, run.measured, run.summaries),
        "variables": [
            (name, [f"{key}={value}" for key, value in some.items()])
            for name, some in configuration.variables(run.provenance)
        ],
        "versions": versions(run.summaries, run.backends),
        "failures": [(one, Markup("\n").join(map(plain, one.outcome.last_lines))) for one in run.failures],
    }


def _section(section: Section) -> dict[str, Any]:
    """A feature's section; a folded table by what stands before the brackets of its heading, and what in them."""
    tables = []
    for one in section.tables:
        name, _, facts = one.heading.rpartition(" (")
        marks = [(None, "own" if number in one.own else "") for number in range(len(one.rows))] if one.own else None
        tables.append((name, facts.removesuffix(")"), one, marks))
    return {**vars(section), "tables": tables}


_RATIOS = ("times slower", "x baseline", "verdict")


def _answer_first(content: Table) -> Table:
    """The backend, how many times slower, the verdict and the time lead, as a phone shows only the first columns;
    behind them other numbers, then words. What tells two rows of a backend apart stays beside it.
    """
    twice = len({row[0] for row in content.rows}) < len(content.rows)
    of_rows = {axis.title for axis in axes.every()}

    def place(column: str) -> int:
        if column == content.columns[0] or (twice and column in of_rows):
            return 0
        return 1 if column in _RATIOS else 3 if column in content.text_columns else 2

    order = sorted(range(len(content.columns)), key=lambda number: place(content.columns[number]))
    return replace(
        content,
        columns=tuple(content.columns[number] for number in order),
        rows=tuple(tuple(row[number] for number in order) for row in content.rows),
    )


def _along(found: Iterable[Lines], chosen: Mapping[Key, RowStyle]) -> list[charts.Chart]:
    """What changes along each axis: throughput and memory."""
    drawn = [chart for one in found for chart in (charts.of_scaling(one, chosen), charts.of_memory(one, chosen))]
    return [chart for chart in drawn if chart]


def _profile(name: str, summaries: Sequence[Summary]) -> dict[str, Any]:
    """The performance profiles of a run, one a device and task."""
    found = profiles(summaries)
    drawn = [charts.of_profile(one, profile_in_words(one, found)) for one in found]
    return _drawn(name, "all examples", drawn)


def _rows(found: Sequence[charts.Chart]) -> set[str]:
    """The rows of a section's charts that may be hidden: lines along an axis only where nothing else is drawn."""
    of_rows = [chart for chart in found if chart["kind"] != "scaling"] or found
    return {row for chart in of_rows if chart["columns"] for row in chart["columns"]["row"]}


def _drawn(name: str, title: str, found: Sequence[charts.Chart]) -> dict[str, Any]:
    """The charts of one section."""
    return {
        "id": name,
        "name": title,
        "charts": [
            {**chart, "id": f"{name}c{position}", "example": name, "alternative": charts.alternative(chart)}
            for position, chart in enumerate(found)
        ],
    }


def _matrix(
    summaries: Sequence[Summary],
    chosen: Mapping[Key, RowStyle],
    styles: Mapping[str, Mapping[str, Any]],
    noted: Mapping[int, str],
) -> dict[str, Any]:
    """Examples by rows of the run, the fastest backend first: text, colours, and where there is no ratio the reason
    or a link to its note.
    """
    label_of = place_labels(summaries)
    first = {chosen[key(row)].column: styles[chosen[key(row)].label] for row in reversed(summaries)}
    fastest_first = ranked(summaries)
    of_backend = {chosen[key(row)].column: fastest_first.index(row.backend) for row in summaries}
    by_speed = sorted(first, key=lambda name: (of_backend[name], first[name]["id"]))
    columns = {name: {**first[name], "label": name} for name in by_speed}
    examples = list(dict.fromkeys(row.example for row in summaries))
    labels = {label_of(row): examples.index(row.example) for row in summaries}
    by_label = {(label_of(row), chosen[key(row)].column): row for row in summaries}
    baseline = next((row.baseline for row in summaries if row.baseline), "")
    ratios = [ratio for row in summaries if (ratio := sure_ratio(row)) is not None]
    shades = scale(ratios, bool(baseline))
    not_shown = open_rankings(summaries)
    return {
        "columns": list(columns.values()),
        "rows": [
            (number, name, [_heat(by_label.get((name, column)), shades, not_shown, noted) for column in columns])
            for name, number in labels.items()
        ],
        "timed": any(shown_ratio(row) is not None for row in summaries),
        "unsure": any(row.verdict == NOT_COMPARED for row in summaries),
        "baseline": baseline,
    }


def _heat(
    row: Summary | None, shades: tuple[LogNorm, Colormap], not_shown: Collection[Point], noted: Mapping[int, str]
) -> dict[str, Any]:
    ratio = sure_ratio(row) if row else None
    ground, ink = ("", "") if ratio is None else colors.heat(ratio, shades)
    return {
        "text": matrix_words(row) if row else "",
        "why": row.reason if row and ratio is None else "",
        "note": noted.get(id(row), "") if ratio is None else "",
        "ground": ground,
        "ink": ink,
        "best": bool(row and ratio is not None and row.relative_to_fastest == 1 and row.ranking not in not_shown),
    }
