"""One more axis is its entry in AXES and its effect: it is then asked for, planned, stored, shown and compared."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from fake_bench import Bench, dying, refused

import kbench
from kbench import axes, store
from kbench.asked import Asked, Numbers
from kbench.axes import AXES, Axis
from kbench.cli.options import how as declared

# The first of the two places.
WORKERS = Axis(
    "workers", "workers", "{} workers", number=True, default=1,
    asked=Asked(
        "--workers", "processes that make batches", "several: a row for each, such as 1,2", takes=Numbers(1, 64)
    ),
)  # fmt: skip
# The second: what its value does in the guest.
EFFECT = "import json, sys; print('workers:', json.load(open(sys.argv[1])).get('workers'))"


@pytest.fixture
def own(bench: Bench) -> Iterator[Bench]:
    bench.example("my_example.py", dying(EFFECT))
    assert bench.measure("--name", "before", "--repeats", "1").status == 0
    bench.patch.setattr(axes, "AXES", (*AXES, WORKERS))
    axes.key.cache_clear()
    yield bench
    axes.key.cache_clear()


def test_an_axis_is_an_entry_and_an_effect(own: Bench) -> None:
    # asked for
    action = declared("--workers", "run")
    assert action["help"] == "processes that make batches; several: a row for each, such as 1,2"
    refused(own.measure("--workers", "0"), "--workers", "'0' is not a whole number from 1 to 64")
    refused(own("resume", "--workers", "2"), "--workers is an option of `run`, not of `resume`")
    asked = kbench.request("fake", "my_example.py", workers=[2, 1], profile="smoke", device="cpu", repeats=1)
    assert asked.on("workers") == (2, 1)
    # planned
    said = own.measure("--workers", "2,1", "--repeats", "1", "--name", "swept")
    assert said.status == 0, said
    swept = own.last()
    start = "my_example__keras9-fake__channels_last__cpu__workers"
    assert [one.cell.id for one in swept.measured] == [f"{start}=1__r1", f"{start}=2__r1"]
    assert [one.cell.key["workers"] for one in swept.measured] == [1, 2]
    # in the guest
    logs = [store.cell_folder(swept.folder, one.cell).log.read_text() for one in swept.measured]
    assert [f"workers: {number}" in log for number, log in zip((1, 2), logs, strict=True)] == [True, True]
    # stored
    assert swept.request["values"]["workers"] == [2, 1]
    for name, cells in (("swept", 2), ("before", 1)):
        assert f"0 of {cells} cells to measure" in own("resume", name).out
    # shown
    header, *rows = (swept.folder / "summary.csv").read_text().splitlines()
    assert header.split(",")[-1] == "workers" and [row.rpartition(",")[2] for row in rows] == ["1", "2"]
    assert re.search(r"^backend +workers ", said.out, re.MULTILINE)
    # compared: with an earlier run, in which each cell has the default
    before = store.read(own.results / "before")
    assert [one.cell.key["workers"] for one in before.measured] == [1]
    compared = own("compare", "swept", "before")
    assert compared.status == 0 and "workers" in compared.out and "A has" not in compared.out
