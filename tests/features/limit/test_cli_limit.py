"""The machine's limits are measured when a run begins and ends, kept in it, and give its rows a column."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from fake_bench import INFERENCE, Bench

import kbench
from kbench import hooks
from kbench.features.limit import peak_rates, roofline

LIMITS = {"operations_per_second": 1e11, "bytes_per_second": 1e10, "matrix": 768, "array_bytes": 1 << 26}
OF_MACHINE = hooks.of_machine  # which a bench leaves out


@pytest.fixture
def bench(bench: Bench) -> Bench:
    bench.patch.setattr(hooks, "of_machine", OF_MACHINE)
    bench.patch.setattr(peak_rates, "measure", lambda threads, cache_bytes, variables: {**LIMITS, "threads": threads})
    return bench


def provenance(run: Path) -> dict[str, Any]:
    return dict(json.loads((run / "run.json").read_text())["provenance"])


def read(run: Path) -> list[dict[str, str]]:
    with (run / "summary.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_limits_are_measured_with_the_threads_of_a_cell_and_give_a_column(bench: Bench) -> None:
    said = bench.measure("--threads", "2")
    (run,) = bench.runs()
    assert provenance(run)["limits"] == {**LIMITS, "threads": 2}
    (row,) = read(run)
    # Forward: 2 x 16 x 3 products and sums, 3 biases, 3 times softmax. Nothing needs the gradient by the picture.
    assert int(row["operations_per_sample"]) == 3 * (96 + 6) - 96
    assert float(row["percent_of_limit"]) > 0
    page = (run / "summary.md").read_text()
    assert "% of" in said.out and "% of limit" in page
    for shown in ("100 GFLOP/s", "10.0 GB/s (copying 64 MiB), with 2 threads", " 210 "):
        assert shown in page


def test_the_limits_are_measured_again_at_the_end_and_the_larger_ones_count(bench: Bench) -> None:
    rates = iter([1e11, 4e11])
    bench.patch.setattr(
        peak_rates,
        "measure",
        lambda threads, cache_bytes, variables: {**LIMITS, "threads": threads, "operations_per_second": next(rates)},
    )
    bench.measure()
    (run,) = bench.runs()
    told = provenance(run)
    assert (told["limits"]["operations_per_second"], told["ended"]["limits"]["operations_per_second"]) == (1e11, 4e11)
    assert roofline.larger(told)["operations_per_second"] == 4e11
    assert "400 GFLOP/s" in (run / "summary.md").read_text()


def test_the_limits_are_measured_with_the_variables_of_a_guest(bench: Bench) -> None:
    asked: list[dict[str, str]] = []
    bench.patch.setattr(peak_rates, "measure", lambda threads, cache_bytes, variables: asked.append(variables))
    bench.patch.setenv("OPENBLAS_CORETYPE", "Haswell")
    bench.patch.setenv("OMP_PROC_BIND", "true")
    bench.measure()
    bench.measure("--pass-env", "OPENBLAS_CORETYPE")
    assert [one.get("OPENBLAS_CORETYPE") for one in asked] == [None, None, "Haswell", "Haswell"]
    assert {one["OMP_PROC_BIND"] for one in asked} == {"true"}


def test_inference_takes_the_forward_pass_alone(bench: Bench) -> None:
    bench.measure(examples=str(bench.example("infers.py", INFERENCE)))
    (row,) = read(bench.runs()[0])
    assert int(row["operations_per_sample"]) == 102
    assert kbench.load(bench.runs()[0]).summary["operations_per_sample"].dtype == "Int64"


def test_without_limits_the_run_goes_on_and_the_column_is_empty(bench: Bench) -> None:
    bench.patch.setattr(peak_rates, "measure", lambda threads, cache_bytes, variables: None)
    said = bench.measure()
    assert said.status == 0 and "% of" not in said.out
    (row,) = read(bench.runs()[0])
    assert row["percent_of_limit"] == "" and row["operations_per_sample"] == "210"


def test_of_a_program_nothing_is_measured(bench: Bench) -> None:
    """No table of a program has the column."""
    program = bench.example("train.py", "import keras\n")
    assert bench("script", str(program), "--backends", "fake", "--device", "cpu", "--repeats", "1").status == 0
    assert "limits" not in bench.last().provenance
