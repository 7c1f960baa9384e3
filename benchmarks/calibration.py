"""How often kbench's intervals cover what more processes show, from runs with many processes of each row.

    python benchmarks/calibration.py [--measure RESULTS [--processes 10] | --run RUN] [--table FILE]

With --measure FOLDER it measures three examples of different kinds on five backends, ten processes each (about half
an hour on two idle cores); with --run it reads the times of such a run. Both write the times of all processes into a
table, and without either that table is read. Then it takes 1, 2 and 3 of a row's processes, has kbench make the 95 %
intervals of all ratios between two backends, and looks whether they cover the ratio that the other processes show,
whose own error is allowed for. Beside the width of the intervals stands the width that somebody would give who knows
how much these processes differ. So it does for the geometric means over the examples.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from statistics import fmean, stdev

import numpy as np

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

import kbench
from kbench import store
from kbench.analysis.times import intervals, levels, processes, row_times, spreads
from kbench.analysis.times.processes import Place, Process, RowTime
from kbench.planning.request import BUDGET, Request
from kbench.records.axes import RowKey
from kbench.records.values import OK, Measured

EXAMPLES = ("mnist_mlp", "cifar10_cnn", "imdb_gru")
BACKENDS = ("keras2/tensorflow", "keras2/theano", "keras3/tensorflow", "keras3/jax", "keras3/torch")
TABLE = CHECKOUT / "benchmarks" / "calibration.csv"

Row = tuple[str, str, str]  # example, backend, kind of work
Times = dict[Row, dict[Place, Process]]


def measured(folder: Path, count: int) -> Path:
    """Measure so many processes of each row; returns the run's folder."""
    examples = tuple(str(CHECKOUT / "examples_models" / f"{name}.py") for name in EXAMPLES)
    # The precision is so coarse that no row gets a process more.
    request = Request(backends=BACKENDS, examples=examples, processes=count, precision=10.0, budget=BUDGET)
    return kbench.measure(request, folder, name="calibration").folder


def times_of(run: Path) -> Times:
    """The time of each process of a run."""
    results = store.read(run)
    whole, short = _by_row(results.measured), _by_row(results.short)
    found: Times = {}
    for example in dict.fromkeys(row["example"] for row in whole):
        rows = {row: its for row, its in whole.items() if row["example"] == example}
        for row, its in row_times.processes_of(rows, short).items():
            kind = row_times.kind_of_work(whole[row])
            found[str(example), whole[row][0].cell.backend, kind] = its
    return found


def _by_row(measured: tuple[Measured, ...]) -> dict[RowKey, list[Measured]]:
    found: dict[RowKey, list[Measured]] = {}
    for one in measured:
        if one.outcome.status == OK:
            found.setdefault(one.cell.key, []).append(one)
    return found


def write(path: Path, times: Times) -> None:
    """Write the times for `read`."""
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["example", "backend", "kind", "repeat", "process", "epoch_seconds", "error"])
        for (example, backend, kind), its in times.items():
            for (repeat, number), one in its.items():
                error = "" if one.error is None else f"{one.error:.5f}"
                table.writerow([example, backend, kind, repeat, number, f"{one.seconds:.6g}", error])


def read(path: Path) -> Times:
    """The times that `write` wrote."""
    found: Times = {}
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            error = float(row["error"]) if row["error"] else None
            its = found.setdefault((row["example"], row["backend"], row["kind"]), {})
            its[int(row["repeat"]), int(row["process"])] = Process(float(row["epoch_seconds"]), error)
    return found


def subset(
    times: Times, example: str, count: int, random: np.random.Generator
) -> tuple[dict[Row, RowTime], dict[Row, list[float]]]:
    """The rows of an example from so many processes, and the logarithms of the times of the others."""
    rows = {row: its for row, its in times.items() if row[0] == example}
    places = sorted(set.intersection(*(set(its) for its in rows.values())))
    # Of one repeat: what the machine does to it is common to all.
    places = [place for place in places if place[0] == places[-1][0]]
    chosen = {places[number] for number in random.choice(len(places), count, replace=False)}
    few = {row: {place: its[place] for place in chosen} for row, its in rows.items()}
    others = {
        row: [math.log(its[place].seconds) for place in places if place not in chosen] for row, its in rows.items()
    }
    priors = {row: spreads.prior(spreads.shipped(), row[1], row[2]) for row in rows}
    return processes.row_times(few, priors), others


def coverage(
    times: Times, examples: Sequence[str], count: int, subsets: int, random: np.random.Generator
) -> tuple[list[bool], list[float]]:
    """Of intervals from so many processes, of the ratios in an example or the geometric means over several: whether
    they cover what the others show, and their widths over those of somebody who knows the spread.
    """
    covered, widths = [], []
    for _ in range(subsets):
        drawn = [subset(times, example, count, random) for example in examples]
        for one, other in combinations(dict.fromkeys(row[1] for row in times), 2):
            pairs = [
                [(found[row], its[row]) for name in (one, other) for row in found if row[1] == name]
                for found, its in drawn
            ]
            low, high = ends(pairs)
            middle = fmean(math.log(its[0][0].seconds / its[1][0].seconds) for its in pairs)
            shown = fmean(fmean(its[0][1]) - fmean(its[1][1]) for its in pairs)
            spread = math.hypot(*(stdev(its) for pair in pairs for _, its in pair)) / len(pairs)
            own = intervals.normal((1 + intervals.CONFIDENCE) / 2) * spread
            reach = own / math.sqrt(len(pairs[0][0][1]))
            below, above = middle - low, high - middle
            covered.append(-math.hypot(below, reach) <= shown - middle <= math.hypot(above, reach))
            widths.append((below + above) / 2 / (own / math.sqrt(count)))
    return covered, widths


def ends(pairs: Sequence[Sequence[tuple[RowTime, object]]]) -> tuple[float, float]:
    """The ends of the 95 % interval of a ratio, or of the geometric mean of several, as logarithms."""
    alpha = 1 - intervals.CONFIDENCE
    if len(pairs) == 1:
        interval = processes.of_ratio(pairs[0][0][0], pairs[0][1][0], alpha)
        assert interval is not None
        return math.log(interval.low), math.log(interval.high)
    levels_of = [(time, sign) for pair in pairs for (time, _), sign in zip(pair, (1, -1), strict=True)]
    middle = sum(sign * (time.level.median + time.shift) for time, sign in levels_of) / len(pairs)
    low, high = levels.of_sum([(time.quantiles, sign / len(pairs)) for time, sign in levels_of], alpha)
    return middle + low, middle + high


def main() -> None:
    """Measure or read, and print a line for each example and number of processes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=10)
    parser.add_argument("--run", type=Path, help="an earlier run's folder")
    parser.add_argument("--table", type=Path, default=TABLE, help="where the times of all processes are kept")
    parser.add_argument("--measure", type=Path, metavar="FOLDER", help="measure into this folder of results")
    parser.add_argument("--subsets", type=int, default=100, help="of each size")
    asked = parser.parse_args()
    if asked.measure or asked.run:
        write(asked.table, times_of(asked.run or measured(asked.measure, asked.processes)))
    times = read(asked.table)
    random = np.random.default_rng(20261127)
    print(f"{'example':16}{'processes':>10}{'covered':>10}{'width / that of who knows the spread':>40}")
    every: dict[int, tuple[list[bool], list[float]]] = {}
    names = list(dict.fromkeys(row[0] for row in times))
    for title, examples in [*((name, [name]) for name in names), ("all together", names)]:
        for count in (1, 2, 3):
            covered, widths = coverage(times, examples, count, asked.subsets, random)
            print(f"{title:16}{count:10}{np.mean(covered):10.1%}{np.median(widths):40.2f}", flush=True)
            if len(examples) == 1:
                sums = every.setdefault(count, ([], []))
                sums[0].extend(covered)
                sums[1].extend(widths)
    for count, (covered, widths) in every.items():
        print(f"{'each':16}{count:10}{np.mean(covered):10.1%}{np.median(widths):40.2f}")


if __name__ == "__main__":
    main()
