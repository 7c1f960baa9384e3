"""Verdicts of simulated tables: of equal backends at most one of twenty has a false one, whatever processes do."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy import stats

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def simulated() -> ModuleType:
    spec = importlib.util.spec_from_file_location("table_verdicts", CHECKOUT / "benchmarks" / "table_verdicts.py")
    assert spec is not None and spec.loader is not None
    sys.modules["table_verdicts"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("machine", "rows", "processes", "tables"),
    [
        ("processes 20 %", 2, 1, 60),
        ("processes 20 %", 2, 2, 60),
        ("processes 20 %", 2, 0, 20),
        ("processes 5 %", 8, 3, 30),
        ("one 20 %, others 0", 4, 3, 60),
        ("one 0, others 20 %", 3, 2, 60),
        ("20 %, turns 40 %", 2, 1, 60),
        ("5 %, turns 10 %, correlated", 2, 3, 60),
        ("20 %, bursts", 4, 2, 40),
        ("5 %, drift 1.5, in sequence", 2, 3, 60),
    ],
)
def test_equal_backends_are_told_apart_in_at_most_5_of_100_tables(
    simulated: ModuleType, machine: str, rows: int, processes: int, tables: int
) -> None:
    random = np.random.default_rng(20261125)
    false, _ = simulated.false_tables(random, simulated.MACHINES[machine], rows, processes, tables)
    assert false * tables <= stats.binom.ppf(0.999, tables, 0.05)


def test_what_differs_is_found_by_racing(simulated: ModuleType) -> None:
    random = np.random.default_rng(20261125)
    found = simulated.power(random, simulated.MACHINES["processes 5 %"], 2, simulated.RACING, 8)
    assert found[1:] == [1.0, 1.0], "1.2 and 1.5 times as slow"
