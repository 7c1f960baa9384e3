"""A suite's results laid out as its original: rows, columns, units, and the published figures beside them."""

from __future__ import annotations

from typing import Any

import msgspec
from fake_runs import UNLIKE, summary

from kbench.features.published import suite_tables as suites
from kbench.features.published.figures import PublishedFigure
from kbench.features.published.suites import Layout, OtherNetwork, Suite
from kbench.planning.settings import Settings
from kbench.summary import Summary
from kbench.tables.content import Table


def layout(columns: Any = "threads", unit: Any = "s/mini-batch", **more: Any) -> Layout:
    return Layout(title="as printed", columns=columns, unit=unit, **more)


def suite(*tables: Layout) -> Suite:
    others = (OtherNetwork(example="fcn_r", framework="CNTK", why="six layers"),)
    settings = {"fcn_r": Settings(), "vgg": Settings()}
    return Suite(
        name="s", title="S", published=("p",), tables=tables, other_networks=others, settings=settings, citation="A"
    )


def figure(framework: str = "Torch", **changes: Any) -> PublishedFigure:
    usual: dict[str, Any] = {
        "source": "p",
        "year": 2017,
        "workload": "fcn_r",
        "framework": framework,
        "backend": "native/torch",
        "hardware": "a Xeon",
        "threads": 1,
        "batch_size": 1024,
        "metric": "time_per_minibatch",
        "value": 2.0,
        "unit": "s",
    }
    return PublishedFigure(**{**usual, **changes})


def row(backend: str, threads: int = 1, per_1000: float = 1.0, **changes: Any) -> Summary:
    more = {
        "batch_size": 1024,
        "threads": threads,
        "axes": {"threads": threads},
        "seconds_per_1000_samples": per_1000,
    }
    return summary(backend, "fcn_r", **{**more, **changes})


def cells(table: Table) -> list[tuple[str, ...]]:
    return list(table.rows)


def test_threads_are_columns_and_a_backends_published_figures_stand_below_its_own_row() -> None:
    rows = [row("native/torch", 1, 2.0), row("native/torch", 2, 1.0), row("keras3/jax", 1, 3.0)]
    figures = [
        figure("CNTK", backend="native/cntk", threads=4, value=0.5),
        figure(threads=1, value=4.0),
        figure(threads=32, value=0.25),
        figure(threads=None, gpus=1, hardware="a GTX", value=0.1),
        figure(threads=None, gpus=4, hardware="a K80", value=0.2, batch_size=4096),
        figure(source="another"),
    ]
    (found,) = suites.tables(suite(layout()), rows, figures)
    assert found.heading == "fcn_r: as printed (s/mini-batch)"
    assert found.columns == (
        "backend or framework", "hardware", "1 thread", "2 threads", "4 threads", "32 threads", "GPU",
        "known difference",
    )  # fmt: skip
    assert cells(found) == [
        ("native/torch", "here", "2.05", "1.02", "-", "-", "-", "-"),
        ("Torch", "a Xeon", "4.00", "-", "-", "0.250", "-", "none"),
        ("Torch", "a GTX", "-", "-", "-", "-", "0.100", "none"),
        ("Torch", "4 x a K80, batch 4,096", "-", "-", "-", "-", "0.200", "none"),
        ("keras3/jax", "here", "3.07", "-", "-", "-", "-", "-"),
        ("CNTK", "a Xeon", "-", "-", "0.500", "-", "-", "yes [1]"),
    ]
    assert found.footnotes == ("CNTK: six layers",)


def test_workers_are_columns_with_the_figures_of_as_many_gpus_and_their_threads_follow() -> None:
    rows = [
        row("native/torch", 2, 2.0, axes={"workers": 1, "threads": 2}),
        row("native/torch", 1, 1.25, workers=2, axes={"workers": 2, "threads": 1}),
    ]
    usual: dict[str, Any] = {"threads": None, "batch_size": 4096, "hardware": "a K80"}
    of_gpus = [figure(**usual, gpus=gpus, value=4.0 / gpus) for gpus in (1, 2, 4)]
    alone = [figure(threads=8), figure(threads=None, gpus=1, hardware="a GTX")]
    (found,) = suites.tables(suite(layout("workers")), rows, [*of_gpus, *alone])
    assert found.columns[:5] == ("backend or framework", "hardware", "1 worker", "2 workers", "4 workers")
    assert cells(found) == [
        ("native/torch", "here", "2.05", "1.28", "-", "-"),
        ("Torch", "a K80, batch 4,096", "4.00", "2.00", "1.00", "none"),
    ]


def test_in_the_terminal_figures_of_what_was_not_measured_are_left_out_and_counted() -> None:
    figures = [figure("CNTK", backend="native/cntk", threads=4), figure(threads=2)]
    (found,) = suites.tables(suite(layout()), [row("native/torch")], figures, measured_only=True)
    assert [one[0] for one in found.rows] == ["native/torch", "Torch"]
    assert "1 more line of published figures: in summary.md." in found.remarks and not found.footnotes


def test_in_the_terminal_figures_of_gpus_stand_only_beside_rows_on_a_gpu() -> None:
    figures = [figure(), figure(threads=None, gpus=1, hardware="a GTX")]
    on_gpu = row("native/torch", device="gpu")
    for ours, where in ((row("native/torch"), "a Xeon"), (on_gpu, "a GTX")):
        (found,) = suites.tables(suite(layout()), [ours], figures, measured_only=True)
        assert [cells_of[1] for cells_of in cells(found)] == ["here", where]


def test_units_are_converted_by_the_batch_and_the_samples_of_an_epoch() -> None:
    rows = [row("native/torch", 1, 2.0), row("native/torch", 2, 2.0)]
    one = [figure(value=2.048)]

    def shown(unit: str) -> list[str]:
        (found,) = suites.tables(suite(layout(unit=unit)), rows, one)
        return [line[2] for line in found.rows]

    assert shown("samples/s") == ["500", "500"]
    assert shown("s/1,000 samples") == ["2.00", "2.00"]
    assert shown("s/epoch") == ["120", "120"], "of 60,000 samples, the published setting"
    assert shown("s/mini-batch") == ["2.05", "2.05"]


def test_an_epoch_is_that_of_the_original() -> None:
    own = suite(layout("hardware", "s/epoch"))
    own = msgspec.structs.replace(own, settings={"fcn_r": Settings(epoch_samples=1000)})
    epoch = figure(metric="epoch_time", threads=None, value=7.0)
    (found,) = suites.tables(own, [row("native/torch", axes={})], [epoch])
    assert found.rows == (("native/torch", "Torch", "1.00", "7.00", "none"),)


def test_machines_are_columns_and_a_backend_and_its_published_figures_are_one_row() -> None:
    epochs = {"metric": "training_time", "epochs": 10, "threads": None, "batch_size": 64}
    figures = [
        figure("Keras(TF)", backend="keras2/tensorflow", hardware="K80", value=240.0, **epochs),
        figure("Keras(TF)", backend="keras2/tensorflow", hardware="P100", value=80.0, **epochs),
        figure("Keras(TF)", backend="keras2/tensorflow", hardware="P100", value=81.0, **epochs),
        figure("PyTorch", hardware="K80", value=170.0, **epochs),
    ]
    rows = [row("keras3/tensorflow", 1, 1.0, axes={}), row("keras2/tensorflow", 1, 2.0, axes={})]
    (found,) = suites.tables(suite(layout("hardware", "s/epoch")), rows, figures)
    assert found.columns == ("backend or framework", "published as", "here", "K80", "P100", "known difference")
    assert cells(found) == [
        ("keras3/tensorflow", "-", "60.0", "-", "-", "-"),
        ("keras2/tensorflow", "Keras(TF)", "120", "24.0", "8.00 / 8.10", "none"),
        ("PyTorch", "-", "-", "17.0", "-", "none"),
    ]


def test_training_and_inference_of_an_example_have_tables_of_their_own() -> None:
    infer: dict[str, Any] = {"task": "infer", "axes": {"task": "infer", "batch_size": 1}, "batch_size": 1}
    rows = [row("keras3/jax"), row("keras3/jax", per_1000=0.5, **infer)]
    rows += [row("keras3/jax", per_1000=0.25, **{**infer, "axes": {"batch_size": 2}, "batch_size": 2})]
    both = suite(layout("hardware", "s/epoch"), layout("batch_size", "samples/s", task="infer"))
    train, only = suites.tables(both, rows, [figure(metric="time_per_1000_images", threads=None)])
    assert [one[0] for one in train.rows] == ["keras3/jax"]
    assert only.columns[2:4] == ("batch 1", "batch 2")
    assert only.rows[0][2:4] == ("2,000", "4,000")


def test_what_did_not_end_ok_shows_its_status_and_a_table_of_one_column_is_left_out() -> None:
    rows = [row("keras3/jax", status="failed", reason="it fell"), row("keras3/torch", findings=UNLIKE)]
    (found,) = suites.tables(suite(layout()), rows, [figure(threads=2)])
    assert [one[2] for one in found.rows[:2]] == ["failed", "differs"]
    one, both = layout("batch_size", "samples/s"), suite(layout("batch_size", "samples/s"), layout())
    assert [table.heading for table in suites.tables(both, [row("keras3/jax")], [figure(threads=2)])] == [
        "fcn_r: as printed (s/mini-batch)"
    ]
    (alone,) = suites.tables(suite(one, one), [row("keras3/jax")], [])
    assert alone.columns[2:3] == ("batch 1,024",), "or there would be none"


def test_accuracies_stand_beside_accuracies() -> None:
    scores = [figure(metric="test_accuracy", value=0.75, unit="fraction", hardware="K80"), figure()]
    (found,) = suites.tables(
        suite(layout("hardware", "accuracy")), [row("native/torch", final_val_accuracy=0.5)], scores
    )
    assert found.rows == (("native/torch", "Torch", "0.5000", "0.750", "none"),)
