"""One more axis is its entry in AXES and its effect: it is then asked for, planned, stored, shown and compared."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from fake_bench import Bench, dying, refused

import kbench
from kbench import store
from kbench.cli.options import how as declared
from kbench.records import axes
from kbench.records.asked import Asked, Numbers
from kbench.records.axes import Axis

# The first of the two places.
READERS = Axis(
    "readers", "readers", "{} readers", number=True, default=1,
    asked=Asked(
        "--readers", "processes that make batches", "several: a row for each, such as 1,2", takes=Numbers(1, 64)
    ),
)  # fmt: skip
# The second: what its value does in the guest.
EFFECT = "import json, sys; print('readers:', json.load(open(sys.argv[1])).get('readers'))"


@pytest.fixture
def own(bench: Bench) -> Iterator[Bench]:
    bench.example("my_example.py", dying(EFFECT))
    assert bench.measure("--name", "before", "--repeats", "1").status == 0
    every = (*axes.every(), READERS)
    bench.patch.setattr(axes, "every", lambda: every)
    axes.key.cache_clear()
    yield bench
    axes.key.cache_clear()


def test_an_axis_is_an_entry_and_an_effect(own: Bench) -> None:
    # asked for
    action = declared("--readers", "run")
    assert action["help"] == "processes that make batches; several: a row for each, such as 1,2"
    refused(own.measure("--readers", "0"), "--readers", "'0' is not a whole number from 1 to 64")
    refused(own("resume", "--readers", "2"), "--readers is an option of `run`, not of `resume`")
    asked = kbench.request("fake", "my_example.py", readers=[2, 1], profile="smoke", device="cpu", repeats=1)
    assert asked.on("readers") == (2, 1)
    # planned
    said = own.measure("--readers", "2,1", "--repeats", "1", "--name", "swept")
    assert said.status == 0, said
    swept = own.last()
    start = "my_example__keras9-fake__channels_last__cpu__readers"
    assert [one.cell.id for one in swept.measured] == [f"{start}=1__r1", f"{start}=2__r1"]
    assert [one.cell.key["readers"] for one in swept.measured] == [1, 2]
    # in the guest
    logs = [store.cell_folder(swept.folder, one.cell).log.read_text() for one in swept.measured]
    assert [f"readers: {number}" in log for number, log in zip((1, 2), logs, strict=True)] == [True, True]
    # stored
    assert swept.request["values"]["readers"] == [2, 1]
    for name, cells in (("swept", 2), ("before", 1)):
        assert f"0 of {cells} cells to measure" in own("resume", name).out
    # shown
    header, *rows = (swept.folder / "summary.csv").read_text().splitlines()
    assert header.split(",")[-1] == "readers" and [row.rpartition(",")[2] for row in rows] == ["1", "2"]
    assert re.search(r"^backend +readers ", said.out, re.MULTILINE)
    # compared: with an earlier run, in which each cell has the default
    before = store.read(own.results / "before")
    assert [one.cell.key["readers"] for one in before.measured] == [1]
    compared = own("compare", "swept", "before")
    assert compared.status == 0 and "readers" in compared.out and "A has" not in compared.out
