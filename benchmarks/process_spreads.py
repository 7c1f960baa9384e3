"""Collects how much processes differ, for the prior of kbench's intervals: kbench/analysis/times/process_spreads.csv.

    python benchmarks/process_spreads.py [--write] [RUN ...]

From all runs below results/ with several processes a row, or the runs that are named. Without --write it only prints
what they show: for each backend how many rows there are, the spread of their processes, and quantiles of the prior
that is fitted to them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from kbench import store
from kbench.analysis.rows import Analysis
from kbench.analysis.times import levels, spreads
from kbench.analysis.times.row_times import observed
from kbench.analysis.times.spreads import Processes
from kbench.machine import provenance

PARTS = (0.1, 0.5, 0.9, 0.975)


def collected(runs: Sequence[Path]) -> list[Processes]:
    """The rows of these runs with several processes."""
    found = []
    for run in runs:
        results = store.read(run)
        threads = provenance.whole_cores(results.provenance)
        found += observed(Analysis(results).row_cells, results.short, run.name, threads)
    return found


def standard_deviation(row: Processes) -> float:
    return float(np.std(row.logs, ddof=1))


def main() -> None:
    """Collect, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="*", type=Path, metavar="RUN")
    parser.add_argument("--write", action="store_true", help="replace the table that comes with kbench")
    asked = parser.parse_args()
    runs = asked.runs or [
        one for one in sorted(store.by_time(CHECKOUT / "results", packed=True)) if not store.is_cluster(one)
    ]
    rows = collected(runs)
    priors = spreads.fit(rows)
    parts = ", ".join(f"{one:.1%}" for one in PARTS)
    print(f"{'backend':24}{'kind':12}{'rows':>5}{'spread, median':>16}   prior: {parts}")
    for (backend, kind), weights in priors.items():
        its = [row for row in rows if backend in ("", row.backend) and kind in ("", row.kind)]
        middle = float(np.median([standard_deviation(row) for row in its])) if its else float("nan")
        cumulative = np.cumsum(weights)
        scales = [levels.SPREADS[min(int(np.searchsorted(cumulative, part)), len(weights) - 1)] for part in PARTS]
        shown = ", ".join(f"{scale:.1%}" for scale in scales)
        print(f"{backend or 'all':24}{kind or 'all':12}{len(its):5}{middle:16.1%}   {shown}")
    if asked.write:
        spreads.write(spreads.SHIPPED, rows)


if __name__ == "__main__":
    main()
