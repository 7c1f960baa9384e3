"""Verdicts of simulated tables: where processes spread as was measured, at most one of twenty has a false one."""

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
        ("as measured", 2, 0, 40),
        ("as measured, bursts", 3, 2, 60),
        ("5 %, turns 10 %", 4, 1, 60),
        *(
            pytest.param(*one, marks=pytest.mark.thorough)
            for one in (
                ("as measured", 2, 1, 100),
                ("as measured", 2, 2, 100),
                ("as measured", 4, 3, 60),
                ("as measured", 8, 2, 30),
                ("as measured, turns 10 %", 4, 2, 60),
                ("as measured, drift 1.5", 4, 2, 60),
                ("as measured, in sequence", 2, 3, 100),
                ("processes 5 %", 8, 3, 30),
                ("5 %, bursts", 4, 2, 60),
            )
        ),
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


def test_a_difference_of_a_fifth_is_mostly_found_with_three_processes(simulated: ModuleType) -> None:
    random = np.random.default_rng(20261125)
    found = simulated.power(random, simulated.MACHINES["as measured"], 4, 3, 20)
    assert found[1] >= 0.75 and found[2] >= 0.9
