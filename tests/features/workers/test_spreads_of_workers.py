"""How much processes of several workers differ is a matter of its own."""

from __future__ import annotations

import math

from fake_runs import cell, replace
from timed_processes import SHORT, WHOLE

from kbench.analysis import summaries
from kbench.analysis.times import row_times, spreads
from kbench.records.values import Measured


def test_what_several_workers_show_of_spreads_is_not_told_of_the_plain_backend() -> None:
    both = cell("a", "x/y@0.9").at(threads=2, workers=2)
    assert spreads.configuration(both, 4) == "x/y@0.9 workers=2 threads=2"

    def by_workers(one: Measured) -> Measured:
        return replace(one, cell=one.cell.at(workers=2 if one.cell.backend == "y" else 1, threads=2))

    whole_ones, short_ones = (list(map(by_workers, some)) for some in (WHOLE, SHORT))
    for threads, names in ((2, ["x"]), (4, ["x threads=2"])):
        found = row_times.observed(whole_ones[:1], short_ones, "a run", threads)
        assert [row.backend for row in found] == names
    steady = [spreads.Processes("y", spreads.OTHER, (-0.01, 0.0, 0.01), (0.0,) * 3)] * 40
    unsteady = [spreads.Processes("y workers=2", spreads.OTHER, (-0.3, 0.0, 0.3), (0.0,) * 3)] * 40
    priors = spreads.fit([*steady, *unsteady])
    alone, of_two = (
        {row.backend: row.epoch_interval for row in summaries.summarise(some, priors=priors)}
        for some in (WHOLE, [by_workers(one) for one in WHOLE])
    )
    assert alone["y"] and of_two["y"]
    assert math.log(of_two["y"].high / of_two["y"].low) > 2 * math.log(alone["y"].high / alone["y"].low)
