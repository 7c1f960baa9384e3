"""In the tables of every committed run the ratio shown is the quotient of the times shown."""

import csv
from pathlib import Path

import pytest

from kbench import store
from kbench.analysis.rows import summarised
from kbench.tables.csv import summary_csv

RESULTS = Path(__file__).resolve().parents[2] / "results"
RUNS = [
    RESULTS / name
    for name in store.names(RESULTS)
    if name.startswith(store.REFERENCE) and "-coverage-" not in name  # which times nothing
]
# What rows of one table differ in without being compared.
OF_TABLE = ("example", "device", "task", "batch_size", "samples", "threads", "data_source", "epochs")


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_a_ratio_is_the_quotient_of_the_times_beside_it(run: Path) -> None:
    tables: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in csv.DictReader(summary_csv(summarised(store.read(run))).splitlines()):
        if row["relative_to_fastest"]:
            tables.setdefault(tuple(row.get(name, "") for name in OF_TABLE), []).append(row)
    assert tables
    for rows in tables.values():
        (fastest,) = {float(row["epoch_seconds"]) for row in rows if float(row["relative_to_fastest"]) == 1}
        for row in rows:
            quotient = float(row["epoch_seconds"]) / fastest
            assert quotient == pytest.approx(float(row["relative_to_fastest"]), rel=1e-6), row["backend"]
