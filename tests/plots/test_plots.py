"""Pictures: there, readable as what they are, the same every time, and unmoved by what names hold."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import pytest
from fake_runs import COLORS, cell, measured, replace, summary
from matplotlib.collections import LineCollection
from matplotlib.markers import CARETRIGHTBASE

from kbench.analysis.summaries import summarise
from kbench.analysis.times.shown_ratios import sure_ratio
from kbench.plots.bars import _figure as draw_bars
from kbench.plots.bars import bars
from kbench.plots.convergence import _figure as draw_curves
from kbench.plots.convergence import convergence
from kbench.plots.memory import memory
from kbench.plots.overview import _figure as draw_overview
from kbench.plots.overview import overview
from kbench.plots.styles import OWN, Style, caption, literal, row_styles
from kbench.records.values import FAILED, NO_DIFFERENCE, NOT_COMPARED, SLOWER, TIMEOUT, Measured


def trained(backend: str, seconds: float, epochs: int = 3, **changes: Any) -> Measured:
    accuracy = [1 - 0.5**number for number in range(1, epochs + 1)]
    return measured(cell(backend=backend, epochs=epochs, **changes), *[seconds] * epochs, val_accuracy=accuracy)


def all_of(cells: list[Measured]) -> list[Mapping[str, bytes]]:
    rows = summarise(cells)
    chosen = row_styles(rows, COLORS)
    return [convergence(cells, chosen), bars(rows, chosen), overview({"": rows}, chosen)]


def assert_are_pictures(picture: Mapping[str, bytes]) -> None:
    assert set(picture) == {"png", "svg"}
    assert picture["png"].startswith(b"\x89PNG")
    assert len(picture["png"]) > 2000
    assert ElementTree.fromstring(picture["svg"]).tag.endswith("svg")


@pytest.mark.parametrize("backends", [1, 3, 8])
def test_any_number_of_backends_can_be_drawn(backends: int) -> None:
    cells = [trained(name, seconds) for seconds, name in enumerate(list(COLORS)[:backends], 1)]
    for picture in all_of(cells):
        assert_are_pictures(picture)


def test_fifty_epochs_repeats_formats_devices_and_failed_cells_can_be_drawn() -> None:
    cells = [
        trained("keras2/cntk", 0.001, 50, repeat=1),
        trained("keras2/cntk", 0.001, 49, repeat=2),
        trained("keras2/cntk", 100.0, 50, image_data_format="channels_first"),
        trained("keras3/jax", 1.0, 50, device="gpu:0"),
        measured(cell(backend="keras3/torch"), 1.0, 2.0, val_accuracy=[0.1, 0.2], status=TIMEOUT),
        measured(cell(backend="keras3/openvino"), status=FAILED),
    ]
    for picture in all_of(cells):
        assert_are_pictures(picture)


def test_bars_carry_their_intervals_and_leave_their_labels_readable() -> None:
    cells = [
        measured(cell(backend="keras2/cntk"), 9.0, *[1.0, 3.0] * 3),
        measured(cell(backend="keras3/jax"), 9.0, 4.0),
        measured(cell(backend="keras3/openvino"), status=FAILED),
    ]
    rows = summarise(cells)
    axes: Any = draw_bars(rows, row_styles(rows, COLORS)).axes[0]
    line = axes.collections[-1].get_segments()
    interval = rows[0].epoch_interval
    assert interval is not None and interval.low < 2.0 < interval.high
    assert [[tuple(point) for point in segment] for segment in line] == [[(interval.low, 0.0), (interval.high, 0.0)]]
    label = next(text for text in axes.texts if text.get_text().startswith("2.00 s"))
    assert label.get_position()[0] > interval.high
    assert axes.get_xlabel() == "seconds per epoch (estimate, 95 % interval)"


def test_an_interval_that_goes_on_for_ever_does_not_press_the_bars_down() -> None:
    cells = [
        measured(cell(backend="keras2/cntk"), 9.0, 1.0, 3.0),
        measured(cell(backend="keras3/jax"), 9.0, 4.0, 4.1),
    ]
    rows = summarise(cells)
    assert next(row for row in rows if row.backend == "keras2/cntk").epoch_interval.high > 50
    axes: Any = draw_bars(rows, row_styles(rows, COLORS)).axes[0]
    assert axes.get_xlim()[1] < 2 * 4.1
    (sure, cut) = sorted(segment[:, 0].tolist() for segment in axes.collections[-1].get_segments())[::-1]
    whole = next(row for row in rows if row.backend == "keras3/jax").epoch_interval
    assert cut[1] == pytest.approx(1.5 * 4.05, rel=0.03) and sure[1] == whole.high < cut[1]
    arrows = [line for line in axes.lines if line.get_marker() == CARETRIGHTBASE]
    assert [list(line.get_xdata()) for line in arrows][-1] == [pytest.approx(1.5 * 4.05, rel=0.03)]


def test_bars_give_the_ratio_to_the_baseline_where_there_is_one() -> None:
    cells = [trained("keras2/cntk", 1.0), trained("keras3/jax", 2.0)]
    rows = summarise(cells, "keras3/jax")
    axes: Any = draw_bars(rows, row_styles(rows, COLORS)).axes[0]
    assert [text.get_text() for text in axes.texts] == ["1.00 s  (0.500x)", "2.00 s  (1.00x)"]
    assert axes.get_xlabel().endswith("(x: to keras3/jax)")


def test_repeats_are_drawn_with_their_mean_and_their_spread() -> None:
    cells = [
        measured(cell(repeat=number), 1.0, 1.0, val_accuracy=values)
        for number, values in ((1, [0.4, 0.7]), (2, [0.6, 0.9]))
    ]
    by_epoch: Any
    by_epoch, _ = draw_curves(cells, row_styles(summarise(cells), COLORS), "val_accuracy").axes
    repeats: list[Any] = [lines for lines in by_epoch.collections if isinstance(lines, LineCollection)]
    assert [path.vertices.tolist() for lines in repeats for path in lines.get_paths()] == [
        [[1.0, 0.4], [2.0, 0.7]],
        [[1.0, 0.6], [2.0, 0.9]],
    ]
    assert [list(map(float, line.get_ydata())) for line in by_epoch.lines] == [pytest.approx([0.5, 0.8])]
    (band,) = (one for one in by_epoch.collections if one not in repeats)
    edges = sorted({round(float(y), 6) for _, y in band.get_paths()[0].vertices})
    sd = 0.1 * math.sqrt(2)
    assert edges == pytest.approx([0.5 - sd, 0.5 + sd, 0.8 - sd, 0.8 + sd], abs=1e-5)


def test_losses_too_large_to_square_have_no_spread() -> None:
    cells = [measured(cell(repeat=number), 1.0, 1.0, val_loss=loss) for number, loss in ((1, 1e200), (2, -1e300))]
    by_epoch, _ = draw_curves(cells, row_styles(summarise(cells), COLORS), "val_loss").axes
    assert all(isinstance(one, LineCollection) for one in by_epoch.collections) and len(by_epoch.lines) == 1


@pytest.mark.parametrize(("repeats", "lines"), [(20, 20), (21, 0)])
def test_many_repeats_are_a_band_around_their_mean_and_no_blot_of_lines(repeats: int, lines: int) -> None:
    cells = [measured(cell(repeat=one), 1.0, 1.0, val_accuracy=one / 50) for one in range(1, repeats + 1)]
    by_epoch, _ = draw_curves(cells, row_styles(summarise(cells), COLORS), "val_accuracy").axes
    drawn = [one for one in by_epoch.collections if isinstance(one, LineCollection)]
    assert sum(len(one.get_paths()) for one in drawn) == lines
    assert len(by_epoch.collections) == len(drawn) + 1, "and a band"


def test_one_epoch_has_curves_and_first_epochs_and_nothing_to_compare() -> None:
    curves, times, matrix = all_of([trained("keras2/cntk", 1.0, 1), trained("keras3/jax", 2.0, 1)])
    assert_are_pictures(curves)
    assert_are_pictures(times)
    assert matrix == {}


def test_what_has_nothing_to_draw_gives_no_picture() -> None:
    failed = [measured(cell(), status=FAILED)]
    assert all_of(failed) == [{}, {}, {}]
    assert convergence([measured(cell(), 1.0, val_accuracy=math.nan)], row_styles(summarise(failed), {})) == {}


def test_the_next_best_metric_is_drawn_where_nothing_was_validated() -> None:
    cells = [measured(cell(), 1.0, 1.0, loss=[2.0, math.nan])]
    assert_are_pictures(convergence(cells, row_styles(summarise(cells), {})))


def test_the_same_run_gives_the_same_bytes_whatever_the_users_style() -> None:
    cells = [trained("keras2/cntk", 1.0), trained("keras3/jax", 2.0)]
    first = all_of(cells)
    with mpl.rc_context({"font.size": 30, "svg.hashsalt": "other", "axes.facecolor": "red"}):
        before = {name: mpl.rcParams[name] for name in mpl.rcParams if name != "backend"}
        assert all_of(cells) == first
        assert {name: mpl.rcParams[name] for name in before} == before


@pytest.mark.parametrize("name", ["<script>", "$x$", r"\$\frac{$", "$", "a_b^c", "é漢字", "x" * 300, "\x00\x1b[1m"])
def test_names_stay_text(name: str) -> None:
    cells = [trained(f"keras2/{name}", 1.0, example=name), trained(name, 2.0, example=name)]
    for picture in all_of(cells):
        assert_are_pictures(picture)
        assert b"<script" not in picture["svg"]


def test_dollars_are_escaped_and_long_names_shortened() -> None:
    assert literal("$x$") == r"\$x\$"
    assert literal("x" * 99, 10) == "xxxxxxxxx…"


def test_a_backend_looks_the_same_in_every_example() -> None:
    rows = summarise(
        [
            trained("keras2/cntk", 1.0),
            trained("keras3/jax", 1.0),
            trained("keras3/jax", 1.0, example="mnist_mlp"),
            trained("keras2/unknown", 1.0, example="mnist_mlp"),
        ]
    )
    chosen = row_styles(rows, {**COLORS, "keras2/unknown": "no colour"})
    cntk, jax, unknown = (
        next(one for one in chosen.values() if one.label == name)
        for name in ("keras2/cntk", "keras3/jax", "keras2/unknown")
    )
    assert (cntk.label, cntk.color, cntk.line_style) == ("keras2/cntk", "#56b4e9", "-")
    assert (jax.color, jax.line_style) == ("#cc79a7", "--")
    assert len({row_style.marker for row_style in chosen.values()}) == 3
    assert unknown.color.startswith("#")


def test_rows_of_one_backend_are_told_apart_by_label_and_marker() -> None:
    both = [trained("keras2/cntk", 1.0, image_data_format=f"channels_{order}") for order in ("first", "last")]
    chosen = row_styles(summarise(both), COLORS)
    first, last = chosen.values()
    assert first.label == "keras2/cntk channels_first"
    assert first.color == last.color
    assert first.filled != last.filled


def test_native_formats_that_differ_between_examples_are_one_row_of_the_overview() -> None:
    rows = summarise(
        [
            trained("keras2/cntk", 1.0, image_data_format="channels_first"),
            trained("keras2/cntk", 1.0, example="imdb_gru"),
        ]
    )
    assert {row_style.label for row_style in row_styles(rows, COLORS).values()} == {"keras2/cntk"}


def test_the_overview_shows_the_ratios_to_the_baseline_where_there_is_one() -> None:
    measured = [
        trained("keras2/cntk", 1.0),
        trained("keras3/jax", 4.0),
        trained("keras3/jax", 1.0, example="imdb_gru"),
    ]
    assert written(measured, "keras2/cntk") >= {"1.00", "4.00", "no baseline", "steady epoch time, x keras2/cntk"}
    assert written(measured, "keras3/jax") >= {"0.250", "1.00", "steady epoch time, x keras3/jax"}
    assert written(measured, "") >= {"1.00", "4.00", "steady epoch time, x fastest"}


def test_what_cannot_be_told_from_the_fastest_is_marked_as_in_the_tables() -> None:
    fastest, other = summarise([trained("keras2/cntk", 1.0), trained("keras3/jax", 2.0)])
    rows = [fastest, other]
    assert shown(overview({"": rows}, row_styles(rows, COLORS))) >= {"2.00", "steady epoch time, x fastest"}
    rows = [fastest, replace(other, verdict=NO_DIFFERENCE)]
    chosen = row_styles(rows, COLORS)
    assert shown(overview({"": rows}, chosen)) >= {"~2.00", "steady epoch time, x fastest (~: no difference shown)"}
    assert any("(~2.00x)" in said for said in shown(bars(rows, chosen)))


def test_only_what_is_shown_to_be_the_fastest_is_bold() -> None:
    fastest, other = summarise([trained("keras2/cntk", 1.0), trained("keras3/jax", 2.0)])
    for verdict, weight in ((SLOWER, "bold"), (NO_DIFFERENCE, "normal"), (NOT_COMPARED, "normal")):
        rows = [fastest, replace(other, verdict=verdict)]
        (panel,) = draw_overview({"": rows}, row_styles(rows, COLORS)).axes
        assert [text.get_fontweight() for text in panel.texts] == [weight, "normal"]


def test_what_could_not_be_compared_has_no_colour_and_does_not_stretch_the_scale() -> None:
    fastest, other = summarise([trained("keras2/cntk", 1.0), trained("keras3/jax", 2.0)])
    rows = [fastest, replace(other, relative_to_fastest=159.0, verdict=NOT_COMPARED)]
    title = "steady epoch time, x fastest (?: could not be compared)"
    assert shown(overview({"": rows}, row_styles(rows, COLORS))) >= {"?159", title}
    assert [sure_ratio(row) for row in rows] == [1.0, None]


def written(measured: list[Measured], baseline: str) -> set[str]:
    """What stands in the picture: the SVG has the letters as paths, with the text in a comment before them."""
    rows = summarise(measured, baseline)
    return shown(overview({"": rows}, row_styles(rows, COLORS)))


def shown(picture: dict[str, bytes]) -> set[str]:
    return set(re.findall(r"<!-- (.*?) -->", picture["svg"].decode()))


def test_a_picture_says_where_and_when_it_was_measured_and_is_no_smaller_for_it() -> None:
    rows = summarise([trained("keras2/cntk", 1.0), trained("keras3/jax", 2.0)])
    text = caption(["A $5 processor, 2 cores"], rows, ["2026-11-23T17:57:00+00:00"])
    assert text == "A $5 processor, 2 cores; profile quick; cpu; 2026-11-23; kbench"
    some = caption(["A processor"], rows, ["2026-11-23"], ["mnist_cnn", "imdb_gru"])
    assert some == "A processor; profile quick; synthetic data in imdb_gru and mnist_cnn; cpu; 2026-11-23; kbench"
    plain, signed = (bars(rows, row_styles(rows, COLORS), one) for one in (OWN, replace(OWN, caption=text)))
    assert text.replace("$", r"\$") not in shown(plain) and text in {said.replace("\\", "") for said in shown(signed)}
    heights = [
        float(ElementTree.fromstring(one["svg"]).get("height", "0").removesuffix("pt")) for one in (plain, signed)
    ]
    assert heights[1] > heights[0]
    sized = bars(rows, row_styles(rows, COLORS), Style(size=(4.0, 3.0), caption=text))
    assert ElementTree.fromstring(sized["svg"]).get("height") == "216pt"


@pytest.mark.parametrize(
    ("told", "axis", "length"),
    [
        ({}, "seconds per epoch (estimate)", 1.0),
        ({"task": "infer"}, "seconds per 1,000 samples (estimate)", 2.0),
    ],
    ids=lambda value: str(value)[:30],
)
def test_bars_show_what_the_table_shows(told: dict[str, object], axis: str, length: float) -> None:
    rows = summarise([measured(cell(samples=500), 3.0, 1.0, facts={**told, "input": "flat"})])
    (axes,) = draw_bars(rows, row_styles(rows, COLORS)).axes
    assert axes.get_xlabel() == axis
    assert [bar.get_width() for bar in axes.containers[0]] == [length]


def test_the_plots_of_an_example_with_synthetic_data_say_so() -> None:
    cells = [trained("keras2/cntk", 1.0)]
    rows = summarise(cells)
    chosen = row_styles(rows, COLORS)
    for style, title in (
        (Style(synthetic=frozenset({"mnist_cnn"})), "mnist_cnn (synthetic data)"),
        (OWN, "mnist_cnn"),
    ):
        for picture in (bars(rows, chosen, style), convergence(cells, chosen, style=style)):
            assert title in shown(picture)


def test_memory_over_time_is_a_line_for_each_process_and_a_programs_has_the_look_of_its_backend() -> None:
    held = ((0.0, 100.0), (1.0, 220.0), (2.0, 230.0))
    cells = [measured(cell(repeat=number, example="train.py"), 1.0) for number in (1, 2)]
    grown = [replace(one, outcome=replace(one.outcome, memory=held)) for one in cells]
    chosen = row_styles([summary("keras2/cntk", "train.py: whole program", batch_size=0)], COLORS)
    assert memory(grown, chosen).keys() == {"png", "svg"}
    assert memory(cells, chosen) == {} and memory([], chosen) == {}
