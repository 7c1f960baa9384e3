"""Scaling lines: what varies between runs, where a line would mislead, and pictures beside the page."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_bench import Said, call
from fake_runs import COLORS, PROVENANCE, UNLIKE, cell, fake_run, replace, summary

from kbench.comparison.scaling import Lines, SweepRun, lines
from kbench.plots.scaling import _figure as draw
from kbench.plots.styles import row_styles
from kbench.records import axes
from kbench.records.axes import BATCH_SIZE, SAMPLES, THREADS
from kbench.records.values import FAILED, OK, Interval, Outcome
from kbench.report import charts
from kbench.summary import Summary

NOTHING = r"batch size, samples.* and threads are the same in all runs"  # features have axes, too


def row(backend: str = "keras3/jax", throughput: float = 1000.0, **changes: Any) -> Summary:
    seconds = 1000 / throughput
    interval = Interval(seconds * 0.8, seconds * 1.25)
    return summary(backend, samples_per_second=throughput, per_1000_interval=interval, **changes)


def side(rows: list[Summary], threads: int | None, **more: Any) -> SweepRun:
    """A run with so many threads in each cell."""
    return SweepRun([replace(one, threads=threads) for one in rows], **more)


def of_threads(*speeds: float, backend: str = "keras3/jax") -> list[SweepRun]:
    """Runs with 1, 2, 4, ... threads."""
    return [side([row(backend, speed)], 2**place) for place, speed in enumerate(speeds)]


def only(sides: list[SweepRun]) -> Lines:
    (found,), said = lines(sides)
    assert said == []
    return found


def reason(sides: list[SweepRun]) -> str:
    found, (said,) = lines(sides)
    assert found == []
    return said.removeprefix("No scaling lines for mnist_cnn: ").removesuffix(".")


def test_throughput_stands_against_what_varies_with_its_interval_turned_round() -> None:
    found = only(list(reversed(of_threads(1000, 1800, 2000))))
    assert (found.example, found.axis, found.axis.speeds_up) == ("mnist_cnn", axes.by_name(THREADS), True)
    (first, second, third) = found.lines[0].points
    assert [(point.at, point.throughput) for point in (first, second, third)] == [(1, 1000), (2, 1800), (4, 2000)]
    assert (first.interval.low, first.interval.high) == pytest.approx((800.0, 1250.0))


def test_the_ideal_line_starts_at_the_fastest_and_ends_before_it_presses_the_others_down() -> None:
    sides = [
        side([row("keras3/jax", fast), row("keras3/torch", slow)], threads)
        for threads, fast, slow in ((1, 100.0, 10.0), (16, 150.0, 160.0))
    ]
    assert only(sides).ideal == ((1, 100.0), (pytest.approx(3.2), pytest.approx(320.0)))
    assert only(of_threads(100, 190)).ideal == ((1, 100.0), (2.0, 200.0))


def test_batch_size_and_samples_are_found_too_and_more_samples_are_ideally_as_fast() -> None:
    batches = only([side([row(batch_size=size)], 2) for size in (32, 64)])
    assert (batches.axis.name, [point.at for point in batches.lines[0].points]) == (BATCH_SIZE, [32, 64])
    samples = only([side([row(samples=count)], 2) for count in (1000, 5000)])
    assert (samples.axis.name, samples.ideal) == (SAMPLES, ((1000, 1000.0), (5000, 1000.0)))


def test_where_nothing_varies_or_too_much_there_is_a_sentence_and_no_line() -> None:
    assert re.fullmatch(NOTHING, reason([side([row()], 2), side([row()], 2)]))
    both = [side([row(batch_size=32)], 1), side([row(batch_size=64)], 2)]
    assert reason(both) == "batch size and threads vary together, and a line can show only one of them"
    machines = [replace(one, alike={"the processor": f"A{number}"}) for number, one in enumerate(of_threads(1, 2))]
    assert reason(machines).startswith("threads and the processor vary together")
    versions = [side([row(backend_version=f"{threads}.0")], threads) for threads in (1, 2)]
    assert reason(versions).startswith("threads and the version of keras3/jax vary together")
    files = [
        replace(one, models={"mnist_cnn": f"{number}", "other": "x"}) for number, one in enumerate(of_threads(1, 2))
    ]
    assert reason(files).startswith("threads and the example's file vary together")
    data = [side([row(data_source=source)], threads) for threads, source in ((1, "real"), (2, "synthetic"))]
    assert reason(data).startswith("threads and the data vary together")


def test_what_a_run_does_not_tell_is_not_taken_for_a_difference() -> None:
    one, two = of_threads(1, 2)
    assert only([replace(one, alike={"the processor": "A"}), replace(two, alike={"the processor": ""})])
    assert reason([one, side([*two.summaries], None)]) == "one of the runs does not report its threads"


def test_examples_of_one_run_and_rows_that_failed_have_no_line() -> None:
    found, said = lines([side([row(), row(example="imdb_gru"), row(example="babi_rnn")], 1), side([row()], 2)])
    assert [one.example for one in found] == ["mnist_cnn"]
    assert said == ["No scaling lines for imdb_gru, babi_rnn: only one of the runs has it."]
    failed = [side([row()], 1), side([row(status=FAILED)], 2)]
    assert reason(failed) == "no backend ended ok with more than one value of threads"


def test_a_row_that_was_not_measured_like_the_others_is_left_out_and_named() -> None:
    sides = [
        side([row(), row("keras3/torch", 9.0, findings=UNLIKE if threads == 2 else ())], threads)
        for threads in (1, 2)
    ]
    found = only(sides)
    assert [len(line.points) for line in found.lines] == [2, 1]
    assert found.left_out == ("keras3/torch",)
    chart = charts.of_scaling(found, row_styles([row for one in sides for row in one.summaries], COLORS))
    assert chart["thinned"].endswith("Left out, since not measured like the others: keras3/torch.")


def test_a_run_of_one_value_twice_is_two_points_of_it() -> None:
    sides = [*of_threads(100, 200), side([row(throughput=110.0)], 1)]
    assert [point.at for point in only(sides).lines[0].points] == [1, 1, 2]


def test_lines_look_as_elsewhere_on_logarithmic_axes_with_the_measured_values_marked() -> None:
    sides = [
        side([row("keras2/cntk", 100.0 * threads), row("keras3/jax", 50.0 * threads)], threads)
        for threads in (1, 2, 4, 8)
    ]
    chosen = row_styles(sides[0].summaries, COLORS)
    figure = draw(only(sides), chosen)
    axes: Any = figure.axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1", "2", "4", "8"]
    ideal, cntk, jax = [line for line in axes.lines if len(line.get_xdata()) > 1 and line.get_linestyle() != "None"]
    assert (ideal.get_color(), ideal.get_linewidth()) == ("#999999", 0.8)
    for line, backend in ((cntk, "keras2/cntk"), (jax, "keras3/jax")):
        row_style = next(one for one in chosen.values() if one.label == backend)
        assert (line.get_color(), line.get_marker(), line.get_linestyle()) == (
            row_style.color,
            row_style.marker,
            row_style.line_style,
        )
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["keras2/cntk", "keras3/jax", "linear scaling"]


def test_an_interval_that_goes_on_for_ever_is_cut_off() -> None:
    wide = replace(row(throughput=200.0), per_1000_interval=Interval(0.01, 1e6))
    lines = only([side([row()], 1), side([wide], 2)])
    assert lines.ends is not None
    assert lines.ends[0] <= 100.0 / 2 and 200.0 * 2 <= lines.ends[1] < 10_000
    axes, *_ = draw(lines, row_styles([wide], COLORS)).axes
    assert axes.get_ylim() == pytest.approx(lines.ends)
    assert charts.of_scaling(lines, row_styles([wide], COLORS))["ends"] == pytest.approx(lines.ends, rel=1e-3)
    short = only(of_threads(100, 200))
    assert short.ends is None and charts.of_scaling(short, row_styles([wide], COLORS))["ends"] is None


def test_values_that_lie_close_are_not_written_over_one_another() -> None:
    sides = [side([row(samples=count)], 2) for count in (50_000, 50_100, 50_200, 100_000)]
    axes, *_ = draw(only(sides), row_styles(sides[0].summaries, COLORS)).axes
    assert [text.get_text() for text in axes.get_xticklabels()] == ["50,000", "100,000"]


@pytest.fixture
def four(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The runs t1, t2 and t4, of so many threads, and other, of t4's and another batch size."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["kbench"])
    for name, threads, batch_size in (("t1", 1, 128), ("t2", 2, 128), ("t4", 4, 128), ("other", 4, 64)):
        told = [cell(backend=backend, batch_size=batch_size) for backend in ("keras2/cntk", "keras3/jax")]
        fates = [(one, place / threads, Outcome(OK)) for place, one in enumerate(told, 1)]
        run = fake_run(tmp_path / "results", fates, name, PROVENANCE)
        record = json.loads((run / "run.json").read_text())
        for one in record["plan"]["cells"]:
            one["values"]["threads"] = threads
        (run / "run.json").write_text(json.dumps(record))
    return tmp_path / "results"


def report(capture: pytest.CaptureFixture[str], *options: str) -> Said:
    return call(capture, "report", *options)


def test_a_page_of_runs_that_differ_in_threads_has_lines_and_pictures_beside_it(
    four: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = report(capsys, "t1", "t2", "t4", "--output", "week.html")
    assert said.status == 0
    assert said.out.splitlines() == [
        "3 runs on one page: week.html",
        "Scaling lines: 1 plot, PNG and SVG, in week-plots",
    ]
    plots = four.parent / "week-plots"
    names = {"scaling-mnist_cnn-threads.png", "scaling-mnist_cnn-threads.svg"}
    assert {path.name for path in plots.iterdir()} == names
    page = (four.parent / "week.html").read_text()
    assert "As PNG and SVG: week-plots/." in page and '<a href="#scaling">' in page
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])  # type: ignore[index]
    chart = data["charts"]["scalingc0"]
    assert (chart["kind"], chart["title"]) == ("scaling", "mnist_cnn: throughput against threads")
    assert chart["columns"]["at"] == [1, 2, 4, 1, 2, 4]
    first = {path: path.read_bytes() for path in plots.iterdir()}
    assert report(capsys, "t1", "t2", "t4", "--output", "week.html").status == 0
    assert {path: path.read_bytes() for path in plots.iterdir()} == first


def test_pictures_that_a_page_no_longer_has_go_and_the_users_files_stay(
    four: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report(capsys, "t1", "t2").status == 0
    plots = four / "report-plots"
    (plots / "mine.png").write_bytes(b"mine")
    said = report(capsys, "t2", "other")
    assert "No scaling lines for mnist_cnn: batch size and threads vary together" in said.out
    assert {path.name for path in plots.iterdir()} == {"mine.png"}
    page = (four / "report.html").read_text()
    assert "<p>No scaling lines for mnist_cnn: batch size and threads vary together, and a line" in page
    assert 'href="#scaling"' not in page


def test_a_page_has_the_style_and_size_that_were_asked_for_or_is_not_written(
    four: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report(capsys, "t1", "t2", "--plot-style", "zzz").status == 2
    assert not (four / "report.html").exists() and not (four / "report-plots").exists()
    assert report(capsys, "t1", "t2", "--plot-style", "ggplot", "--plot-size", "3.3x2.5").status == 0
    svg = (four / "report-plots" / "scaling-mnist_cnn-threads.svg").read_text()
    assert 'width="237.6pt" height="180pt"' in svg and "#e5e5e5" in svg


def test_a_file_in_the_place_of_the_plots_is_one_sentence(four: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (four / "report-plots").write_text("in the way")
    said = report(capsys, "t1", "t2")
    assert said.status == 2 and said.err == "kbench: error: Cannot make results/report-plots: File exists.\n"
