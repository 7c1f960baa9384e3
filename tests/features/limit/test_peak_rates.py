"""The machine's own rates: measured with the threads that a run has, and never a reason to fail."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import numpy as np
import pytest
import threadpoolctl

from kbench.features.limit import peak_rates, roofline


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small sizes: what is promised does not depend on them."""
    monkeypatch.setattr(peak_rates, "MATRIX", 8)
    monkeypatch.setattr(peak_rates, "LARGEST_MATRIX", 16)
    monkeypatch.setattr(peak_rates, "SMALLEST_ARRAY", 1 << 12)
    monkeypatch.setattr(peak_rates, "LARGEST_ARRAY", 1 << 16)
    monkeypatch.setattr(peak_rates, "ROUNDS", 2)


def test_both_rates_are_measured_and_fit_for_json() -> None:
    told = peak_rates.rates(2, 1 << 14)
    assert told is not None
    assert json.loads(json.dumps(told)) == told
    assert told["threads"] == 2 and told["cache_bytes"] == 1 << 14 and told["array_bytes"] == 1 << 15
    assert told["operations_per_second"] > 0 and told["bytes_per_second"] > 0
    assert roofline.limits(told) is not None


def test_arrays_are_larger_than_the_cache_but_not_without_end() -> None:
    sizes = [(peak_rates.rates(1, cache) or {})["array_bytes"] for cache in (None, 1, 1 << 30)]
    assert sizes == [1 << 12, 1 << 12, 1 << 16]


def test_the_product_has_as_many_threads_as_a_cell_and_gives_them_back(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def product_rate() -> tuple[float, int]:
        seen.extend(pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas")
        return float(len(seen)), 8

    monkeypatch.setattr(peak_rates, "_product_rate", product_rate)
    before = threadpoolctl.threadpool_info()
    assert (peak_rates.rates(2) or {})["operations_per_second"] == 2.0 * (len(seen) // 2)
    assert set(seen) <= {1, 2} and 1 in seen
    assert threadpoolctl.threadpool_info() == before


@pytest.mark.parametrize("error", [MemoryError("no room"), RuntimeError("can't start new thread"), OSError(12, "x")])
def test_what_cannot_be_measured_is_none(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(np, "matmul", refuse)
    assert peak_rates.rates(2) is None


def test_a_machine_with_little_memory_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peak_rates.psutil, "virtual_memory", lambda: type("Memory", (), {"available": 1 << 14})())
    assert peak_rates.rates(1) is None


@pytest.mark.processes
def test_a_process_of_its_own_has_the_variables_that_are_given_and_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Prescott")
    asked: list[dict[str, str]] = []
    run = subprocess.run

    def watched(*command: Any, **how: Any) -> Any:
        asked.append(how["env"])
        return run(*command, **how)

    monkeypatch.setattr(peak_rates.subprocess, "run", watched)
    told = peak_rates.measure(1, None, {"PATH": os.environ["PATH"], "OMP_NUM_THREADS": "1"})
    assert told is not None and told["threads"] == 1 and told["operations_per_second"] > 0
    assert [sorted(variables) for variables in asked] == [["OMP_NUM_THREADS", "PATH", "PYTHONPATH"]]
    assert json.loads(json.dumps(told)) == told


@pytest.mark.processes
@pytest.mark.parametrize("program", ["/nowhere/python", "/bin/false", "/bin/echo"])
def test_a_process_that_says_no_rates_is_none(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    monkeypatch.setattr(peak_rates.sys, "executable", program)
    assert peak_rates.measure(1, None, {}) is None
