"""Whether honest rows are marked for their first step on another processor: by one generic point, and by two.

    python benchmarks/simulated_processors.py [--points N] [--backends LIST] [--examples LIST]

Each backend takes the step on trial at many points, which have other samples, weights and noise
(simulated_processors_cell.py), from inputs and weights that are moved by up to one unit in the last place, on each
backend otherwise; and once more in a process with other instruction sets, where a variable of the backend asks for
them. A row is compared by each point alone, as kbench once did, and by each two that follow each other. Printed is,
for each example and backend, how often it would be marked. The goal is that it never is. It takes a quarter of an
hour on one core. kbench has to be installed, and the real data are needed, or KBENCH_DATA.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from simulated_processors_cell import OTHER

from kbench import store
from kbench.analysis.sameness import fingerprints
from kbench.base import paths
from kbench.cli import main as command
from kbench.records.reported import Step
from kbench.records.values import OK, Measured
from kbench.selection import examples, names

BATCHES = 4  # of the data, from which the samples are
Steps = dict[int, Step]  # by the number of the point


def measure(folder: Path, example: str, asked: argparse.Namespace) -> list[tuple[Measured, list[Steps]]]:
    """Each backend's cell, with its steps in a usual process and, if it has one, in one with other instructions."""
    paths.GUEST = CHECKOUT / "benchmarks" / "simulated_processors_cell.py"
    said, run = io.StringIO(), folder / example
    if not run.is_dir():
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            command.main(
                [
                    *("run", "--backends", asked.backends, "--examples", example, "--epochs", str(asked.points)),
                    *("--samples", str(asked.samples), "--repeats", "1", "--device", "cpu", "--threads", "1"),
                    *("--interleave", "off", "--results", str(folder), "--name", example, "--no-plots"),
                ]
            )
    measured = [one for one in store.read(run).measured if one.outcome.status == OK] if run.is_dir() else []
    if not measured:
        sys.exit(said.getvalue())
    return [(one, steps_in(run / "cells" / one.cell.id)) for one in measured]


def steps_in(folder: Path) -> list[Steps]:
    """The steps of a cell's processes."""
    found = []
    for path in (store.CellFolder(folder).events, folder / OTHER):
        lines = path.read_bytes().splitlines() if path.is_file() else []
        steps = [msgspec.json.decode(line, type=Step) for line in lines if b'"event": "step"' in line]
        found += [{step.point or 0: step for step in steps}] if steps else []
    return found


def marked(cells: Sequence[tuple[Measured, Steps]], first: int, second: int | None = None) -> Counter[str]:
    """Which backends' rows differ by their first step at the point of that number, or at two."""
    rows = []
    for one, steps in cells:
        elsewhere = None if second is None else steps[second]
        facts = msgspec.structs.replace(one.facts, first_step=steps[first], step_elsewhere=elsewhere)
        rows.append(replace(one, facts=facts, epochs=()))
    backends = {row.cell.id: row.cell.backend for row in rows}
    return Counter(
        backends[cell]
        for cell, findings in fingerprints.differences(rows).items()
        if any(each.kind == "first step" for each in findings)
    )


def main() -> None:
    """Simulate, and print a line for each example and backend."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=20)
    parser.add_argument("--samples", type=int, default=512, help="of which the data consist (512)")
    parser.add_argument(
        "--backends",
        default="keras2/tensorflow,keras2/cntk,keras2/theano,keras3/tensorflow,keras3/jax,keras3/torch",
    )
    parser.add_argument("--examples", default=names.CORE)
    parser.add_argument("--results", type=Path, help="keep the runs there, and measure what is there no more")
    asked = parser.parse_args()
    if asked.points < 2:
        parser.error("two points at least are needed")
    known = examples.load_all(paths.project_folder("examples_models"))
    chosen = [one.name for one in names.select_examples(asked.examples, known).chosen if one.task == "train"]
    print(f"{'example':18}{'backend':20}{'rows':>6}  one point  two points")
    totals = Counter[str]()
    with tempfile.TemporaryDirectory() as made:
        for example in chosen:
            cells = measure(asked.results or Path(made), example, asked)
            rows, before, now = Counter[str](), Counter[str](), Counter[str]()
            for number in range(2):  # usual processes, and those with other instruction sets where there are any
                table = [(one, steps[min(number, len(steps) - 1)]) for one, steps in cells if steps]
                for point in range(asked.points):
                    rows.update(one.cell.backend for one, _ in table)
                    before += marked(table, point)
                    now += marked(table, point, (point + 1) % asked.points)
            for name, number in rows.items():
                print(f"{example:18}{name:20}{number:6}{before[name]:11}{now[name]:12}", flush=True)
            totals.update(rows=rows.total(), before=before.total(), now=now.total())
    print(f"{'all':38}{totals['rows']:6}{totals['before']:11}{totals['now']:12}")


if __name__ == "__main__":
    main()
