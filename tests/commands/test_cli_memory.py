"""Each cell's memory use is measured and is in the results."""

from __future__ import annotations

import csv

from fake_bench import EXAMPLE, Bench

HOLDS_64_MIB = 'import numpy\n\nHELD = numpy.ones(8 << 20, dtype="float64")\nfrom keras.layers'


def test_peak_memory_is_the_guests_own_and_begins_with_the_frameworks(bench: Bench) -> None:
    bench.example("large.py", EXAMPLE.replace("from keras.layers", HOLDS_64_MIB))
    assert bench.measure(examples="my_example.py,large.py").status == 0
    with (bench.runs()[0] / "summary.csv").open(newline="") as file:
        rows = {row["example"]: row for row in csv.DictReader(file)}
    small, large = (float(rows[name]["peak_memory_mib"]) for name in ("my_example", "large"))
    assert 10 < small < large - 60
    assert 10 < float(rows["my_example"]["import_memory_mib"]) <= small
