"""What programs may rely on in summary.csv and epochs.csv."""

from __future__ import annotations

import csv
import dataclasses
import io
import math

import pandas as pd
import pytest
from fake_runs import cell, measured, notes, replace, summary
from hypothesis import given
from hypothesis import strategies as st

from kbench.records.values import Interval
from kbench.summary import Summary
from kbench.tables.csv import epochs_csv, memory_csv, summary_csv


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_the_leading_columns_of_summary_csv_are_exactly_these() -> None:
    header = summary_csv([summary()]).splitlines()[0]
    assert header.startswith(
        "example,backend,image_data_format,device,profile,status,reason,repeats,epoch_seconds,"
        "first_epoch_seconds,samples_per_second,relative_to_fastest,final_loss,final_accuracy,final_val_loss,"
        "final_val_accuracy,parameters,keras_version,backend_version,"
    )
    assert summary_csv([]).splitlines() == [header]


def test_what_is_sure_and_what_was_learnt_follow_at_the_end_of_summary_csv() -> None:
    header = summary_csv([summary()]).splitlines()[0]
    assert (
        "notes,epoch_seconds_low,epoch_seconds_high,relative_low,relative_high,verdict,baseline,relative_to_baseline,"
        "relative_to_baseline_low,relative_to_baseline_high,resampled,resampled_values,final_accuracy_sd,final_val_accuracy_sd,"
        "target,epochs_to_target,seconds_to_target,repeats_to_target,deterministic,peak_memory_mib,import_memory_mib,tree_memory_mib,weights,"
        "fingerprint,differs,step_seconds_median,step_seconds_p95,compile_seconds,device_memory_mib,"
        "device_memory_source,allocator_peak_mib,"
    ) in header
    assert ",teardown_seconds,between_process_factor," in header
    row = summary(
        epoch_interval=Interval(1.25, 1.75),
        relative_interval=Interval(0.5, 2.0),
        baseline="keras2/theano",
        relative_to_baseline=3.0,
        baseline_interval=Interval(2.5, 3.5),
        verdict="slower",
        final_val_accuracy_sd=0.125,
        target="val_accuracy >= 0.98",
        repeats_to_target=0,
    )
    (found,) = read(summary_csv([row]))
    wanted = {
        "epoch_seconds_low": "1.25",
        "epoch_seconds_high": "1.75",
        "relative_low": "0.5",
        "relative_high": "2.0",
    }
    wanted |= {"relative_to_baseline": "3.0", "relative_to_baseline_low": "2.5", "relative_to_baseline_high": "3.5"}
    wanted |= {"verdict": "slower", "baseline": "keras2/theano", "relative_to_fastest": "1.0"}
    wanted |= {"final_accuracy_sd": "", "final_val_accuracy_sd": "0.125", "target": "val_accuracy >= 0.98"}
    wanted |= {"epochs_to_target": "", "seconds_to_target": "", "repeats_to_target": "0"}
    assert wanted.items() <= found.items()
    (found,) = read(summary_csv([summary()]))
    assert {found[name] for name in wanted if name != "relative_to_fastest"} == {""}


def test_the_kernel_of_recurrent_layers_follows_the_promised_columns_and_comes_before_what_varies() -> None:
    row = summary(recurrent_kernel="fused, loop", axes={"threads": 2, "form of mine": "x"})
    header = summary_csv([row]).splitlines()[0].split(",")
    assert header.index("recurrent_kernel") == header.index("threads") + 1
    assert header[-1] == "form of mine"
    assert [one["recurrent_kernel"] for one in read(summary_csv([row, summary()]))] == ["fused, loop", ""]


def test_the_leading_columns_of_epochs_csv_are_exactly_these() -> None:
    header = epochs_csv([measured(cell(), 1.0)]).splitlines()[0]
    assert header.startswith(
        "example,backend,image_data_format,device,repeat,epoch,seconds,samples,loss,accuracy,val_loss,val_accuracy"
    )
    assert epochs_csv([]).splitlines() == [header]


def test_what_else_varies_in_a_run_tells_the_epochs_of_its_rows_apart() -> None:
    varied = [measured(cell(axes={"batch_size": size}, epochs=1), 1.0, metrics={"mine": 0.5}) for size in (32, 64)]
    header, *rows = (line.split(",") for line in epochs_csv(varied).splitlines())
    assert header[-3:] == ["mine", "timing", "batch_size"]
    assert [row[-2:] for row in rows] == [["0", "32"], ["0", "64"]]


def test_memory_csv_has_a_line_for_each_time() -> None:
    one = measured(cell(backend="keras3/jax", repeat=2), 1.0)
    one = replace(one, outcome=replace(one.outcome, memory=((0.0, 100.5), (1.0, 200.0))))
    header, first, second = memory_csv([one, measured(cell(), 1.0)]).splitlines()
    assert header == "example,backend,image_data_format,device,repeat,seconds,mib"
    assert first == "mnist_cnn,keras3/jax,channels_last,cpu,2,0.0,100.5" and second.endswith(",2,1.0,200.0")


def test_what_does_not_apply_is_empty_and_what_diverged_is_nan() -> None:
    (row,) = read(epochs_csv([measured(cell(), 1.0, loss=math.nan, val_loss=math.inf)]))
    assert (row["loss"], row["val_loss"], row["accuracy"]) == ("nan", "inf", "")
    (row,) = read(summary_csv([summary(epoch_seconds=None, parameters=None)]))
    assert (row["epoch_seconds"], row["parameters"], row["reason"]) == ("", "", "")


def test_counts_are_written_as_counts() -> None:
    rows = read(summary_csv([summary(parameters=669706), summary(parameters=None)]))
    assert [row["parameters"] for row in rows] == ["669706", ""]


@given(st.lists(st.floats(allow_nan=False, min_value=0, allow_infinity=False), min_size=1))
def test_numbers_lose_no_digit(seconds: list[float]) -> None:
    rows = read(epochs_csv([measured(cell(), *seconds)]))
    assert [float(row["seconds"]) for row in rows] == seconds


def test_epochs_of_failed_cells_are_kept() -> None:
    rows = read(epochs_csv([measured(cell(repeat=2), 1.0, 2.0, status="timeout")]))
    assert [(row["repeat"], row["epoch"], row["seconds"]) for row in rows] == [
        ("2", "1", "1.0"),
        ("2", "2", "2.0"),
    ]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
def test_no_text_becomes_a_formula(start: str) -> None:
    evil = f'{start}HYPERLINK("x","y")'
    (row,) = read(
        summary_csv([summary(evil, evil, reason=evil, keras_version=evil, findings=notes(evil), form=evil)])
    )
    for column in ("example", "backend", "reason", "keras_version", "notes", "form"):
        assert row[column].startswith("'"), column
    (row,) = read(epochs_csv([measured(cell(evil), -1.5)]))
    assert row["example"].startswith("'")
    assert row["seconds"] == "-1.5"


def test_text_with_commas_quotes_and_lines_comes_back_whole() -> None:
    reason = 'a, "b"\nc'
    frame = pd.read_csv(io.StringIO(summary_csv([summary(reason=reason)])))
    assert frame.reason[0] == reason


def test_phases_and_the_time_of_1000_images_follow() -> None:
    row = summary(task="infer", seconds_per_1000_samples=5.0, phases={"import": 1.5, "first_step": 2.5})
    (found,) = read(summary_csv([row]))
    assert (found["import_seconds"], found["first_step_seconds"], found["data_seconds"]) == ("1.5", "2.5", "")
    assert found["seconds_per_1000_images"] == "5.0"
    (found,) = read(summary_csv([summary(seconds_per_1000_samples=5.0)]))
    assert found["seconds_per_1000_images"] == ""


def test_columns_do_not_depend_on_how_types_are_annotated(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = summary_csv([summary(findings=notes("a", "b"), phases={"import": 1.5})])
    for one in dataclasses.fields(Summary):
        monkeypatch.setattr(one, "type", object)
    assert summary_csv([summary(findings=notes("a", "b"), phases={"import": 1.5})]) == expected
