"""Whatever can vary is an axis: points, names of variants, sweeps, and an axis of one's own."""

from __future__ import annotations

import random

import pytest
from fake_runs import COLORS, cell, measured, replace

from kbench.analysis.summaries import summarise
from kbench.comparison import scaling
from kbench.outputs import one_run
from kbench.plots.scaling import line_styles
from kbench.plots.styles import row_styles
from kbench.records import axes
from kbench.records.axes import AXES, Point
from kbench.records.values import Cell, Measured
from kbench.report import charts
from kbench.summary import TO_FASTEST, Summary
from kbench.tables.content import by_example, table


def swept(backend: str, batch_size: int, threads: int, seconds: float = 1.0, **more: str | int) -> Cell:
    varying = {"batch_size": batch_size, "threads": threads, **more}
    return cell(backend=backend, batch_size=batch_size, threads=threads, axes=varying)


def rows_of(speeds: dict[tuple[str, int, int], float]) -> list[Summary]:
    cells = [(swept(*key), seconds) for key, seconds in speeds.items()]
    return summarise([measured(one, 9.0, seconds, seconds * 1.01, seconds * 0.99) for one, seconds in cells])


SPEEDS = {
    ("a/x", 32, 1): 1.0,
    ("a/y", 32, 1): 2.0,
    ("a/x", 128, 1): 0.9,
    ("a/y", 128, 1): 0.3,
    ("a/x", 32, 2): 0.8,
    ("a/y", 32, 2): 1.9,
    ("a/x", 128, 2): 0.5,
    ("a/y", 128, 2): 0.2,
}


def test_rows_are_ranked_within_each_batch_size_and_thread_count_never_across() -> None:
    rows = rows_of(SPEEDS)
    assert len(rows) == 8
    fastest = {(row.batch_size, row.threads): row.backend for row in rows if row.relative_to_fastest == 1}
    assert fastest == {(32, 1): "a/x", (128, 1): "a/y", (32, 2): "a/x", (128, 2): "a/y"}
    assert [(row.batch_size, row.threads) for row in rows] == sorted((row.batch_size, row.threads) for row in rows)
    assert not any(row.differs for row in rows), "another batch size is other work, and no fault"


def test_a_table_has_a_column_for_each_axis_that_varies_and_an_answer_along_it() -> None:
    found = table(rows_of(SPEEDS))
    assert found.columns[:3] == ("backend", "batch size", "threads")
    assert "batch" not in found.heading
    assert "fastest on" in found.answer and "in 2 of 4 comparisons, on a/" in found.answer
    assert "With 1 thread, from batch 32 to 128 a/y gets 6.67 times the samples/s, a/x 1.11 times" in found.answer


def test_along_a_number_tables_have_the_memory_and_pages_draw_it() -> None:
    rows = [replace(row, peak_memory_mib=100.0 + row.batch_size) for row in rows_of(SPEEDS)]
    found = table(rows)
    place = found.columns.index("memory (MiB)")
    assert [row[place] for row in found.rows] == [f"{100 + row.batch_size:.0f}" for row in rows]
    by_batch, _ = scaling.within(rows)
    chart = charts.of_memory(by_batch, row_styles(rows, {}))
    assert chart and chart["title"] == "mnist_cnn: peak memory against batch size"
    assert set(zip(chart["columns"]["at"], chart["columns"]["mib"], strict=True)) == {(32, 132.0), (128, 228.0)}
    assert "memory (MiB)" not in table([replace(rows[0], axes={})]).columns
    assert charts.of_memory(scaling.within(rows_of(SPEEDS))[0], row_styles(rows, {})) is None


def test_on_a_gpu_memory_is_that_of_the_gpu() -> None:
    row = replace(rows_of(SPEEDS)[0], peak_memory_mib=300.0, device_memory_mib=900.0)
    assert (row.memory_mib, replace(row, device="gpu:0").memory_mib) == (300.0, 900.0)
    assert replace(row, device="gpu:0", device_memory_mib=None).memory_mib is None


def test_a_line_is_the_same_point_but_for_its_axis() -> None:
    by_batch, by_threads = scaling.within(rows_of(SPEEDS))
    assert (by_batch.axis.name, by_threads.axis.name) == ("batch_size", "threads")
    for lines, name in ((by_batch, "batch_size"), (by_threads, "threads")):
        assert len(lines.lines) == 4
        for line in lines.lines:
            assert len({point.row.key.without([name]) for point in line.points}) == 1
            assert [point.at for point in line.points] == sorted(point.at for point in line.points)


def test_folders_of_cells_keep_their_names_where_nothing_more_varies() -> None:
    assert cell().id == "mnist_cnn__keras2-cntk__channels_last__cpu__r1"
    assert swept("keras3/jax", 32, 2).id == "mnist_cnn__keras3-jax__channels_last__cpu__batch_size=32__threads=2__r1"


NAMES = [
    "keras3/jax",
    "keras3/jax@0.9",
    "keras3/jax+jit=off",
    "keras3/jax@0.9+jit=on+policy=mixed_float16",
    "keras3/jax+keras=3.8",
    "keras3/jax+XLA_FLAGS=--a=1",
    "keras3/jax+numpy=2.1+settings=default",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_backends_name_is_a_point_and_tells_variants_apart(name: str) -> None:
    values = axes.of_name(name)
    assert values["backend"] == "keras3/jax"
    assert set(values) <= {axis.name for axis in AXES if axis.of_backend}
    others = [other for other in NAMES if other != name]
    assert all(axes.of_name(other) != values for other in others)
    plain = axes.point({}, name).without([one for one in axes.of_backends() if one != "backend"])
    assert plain == axes.point({}, "keras3/jax"), "a variant is its backend but for these axes"


def test_ratios_depend_neither_on_the_unit_of_time_nor_on_the_order_of_rows() -> None:
    draw = random.Random(7)
    for _ in range(20):
        times = {f"a/{name}": draw.uniform(0.1, 3.0) for name in "uvwxyz"[: draw.randint(2, 6)]}

        def ratios(names: list[str], scale: float, times: dict[str, float] = times) -> dict[str, tuple[float, str]]:
            cells = [measured(cell(backend=name), 9.0, *[scale * times[name]] * 4) for name in names]
            return {row.backend: (row.ratios[TO_FASTEST].value, row.verdict) for row in summarise(cells)}

        names = list(times)
        first = ratios(names, 1.0)
        shuffled = draw.sample(names, len(names))
        for other in (ratios(names, 1000.0), ratios(shuffled, 1.0)):
            assert other.keys() == first.keys()
            for name, (value, word) in other.items():
                assert (value, word) == (pytest.approx(first[name][0]), first[name][1])


def test_a_point_without_some_axes_is_what_a_comparison_is_of() -> None:
    one = Point((("example", "e"), ("backend", "b"), ("threads", 2)))
    assert one.without(["threads"]) == Point((("example", "e"), ("backend", "b")))
    assert one.ranking == Point((("example", "e"), ("threads", 2)))
    assert one.work == Point((("example", "e"),))
    assert axes.shown(axes.by_name("threads"), 1) == "1 thread"


def test_training_and_inference_of_an_example_have_tables_lines_and_names_of_their_own() -> None:
    def told(task: str, size: int, source: str = "real") -> Measured:
        varying = {"task": task, "batch_size": size, "data_source": source}
        one = cell(backend="a/x", batch_size=size, axes=varying)
        return measured(one, 9.0, 1.0 / size, 1.0 / size, facts={"task": task, "data_source": source})

    rows = summarise([told(task, size) for task in ("train", "infer") for size in (32, 64)])
    assert [[row.task for row in group] for group in by_example(rows)] == [["train"] * 2, ["infer"] * 2]
    assert {line.title for line in scaling.within(rows)} == {"mnist_cnn (train)", "mnist_cnn (infer)"}
    assert [len(lines.lines) for lines in scaling.within(rows)] == [1, 1]
    assert "inference" in table(by_example(rows)[1]).heading and "inference" not in table(rows[:2]).heading
    assert one_run.file_name("mnist_cnn (infer)") == "mnist_cnn-infer"
    both = summarise([told("train", size, source) for size in (32, 64) for source in ("real", "synthetic")])
    (lines,) = scaling.within(both)
    assert [style.label for style in line_styles(lines, row_styles(both, COLORS))] == [
        "a/x real data",
        "a/x synthetic data",
    ]
    assert "data source" in table(both).columns and "real data" not in table(both).heading
    assert {row.relative_to_fastest for row in both} == {1.0}, "real and synthetic data are not ranked"
