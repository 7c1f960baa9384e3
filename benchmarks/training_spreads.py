"""Collects how final scores of trainings differ, for the prior of "does not learn like the others":
kbench/analysis/learning/trainings.csv.

    python benchmarks/training_spreads.py [--write] [RUN ...]

From all runs below results/, the trainings that the table has already, and the runs that are named: trainings with
several seeds on several backends, such as

    python run.py --backends keras2/tensorflow,keras2/theano,keras3/tensorflow --examples mnist_cnn --threads 1 \
        --interleave off --repeats 5 --seeds different

Without --write it only prints what they show: for each kind and work how many groups of trainings there are (those of
a seed, or in "start" those of a backend), and for each score their spread, the median of the groups' standard
deviations: of accuracies in standard errors of counting, of losses relative.
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
from kbench.analysis.learning import training_spreads, training_tables
from kbench.analysis.learning.training_spreads import SCORES, Training, scaled
from kbench.analysis.learning.training_tables import Table
from kbench.analysis.rows import Analysis
from kbench.analysis.sameness.declared import can_show
from kbench.records.reported import Facts


def collected(run: Path) -> list[Training]:
    """The trainings of a run's honest rows, one of each seed; not those whose losses may be others by declaration."""
    found = []
    analysis = Analysis(store.read(run))
    for example in analysis.examples.values():
        cells = training_tables.by_row(example.measured)
        for table in training_tables.tables(example.rows, cells):
            if table.kind == training_spreads.START:  # other weights than those of other runs with this seed
                continue
            for row, its, alike in zip(table.rows, table.trainings, table.alike, strict=True):
                if learns_otherwise(its[0][0].facts):
                    continue
                for repeats in its:
                    alone = Table([row], [[repeats]], table.kind, [0])
                    each = {score: alone.final(score, 0) for score in SCORES}
                    scores = {score: value for score, value in each.items() if np.isfinite(value)}
                    random = table.kind == training_spreads.LAYERS
                    found.append(
                        Training(run.name, table.work, random, alike, repeats[0].cell.seed, row.backend, scores)
                    )
    return found


def learns_otherwise(facts: Facts) -> bool:
    """Whether the backend's file declares that a step of this model is so much another that training may be."""
    return any(
        known.bound >= training_tables.GREAT and not known.fault and "1 step" in known.what and can_show(known, facts)
        for known in facts.explained
    )


def spread(group: Sequence[Training], score: str) -> float:
    """The standard deviation of a group's scores; nan where they have none."""
    values = [
        value
        for one in group
        if score in one.scores and (value := scaled(score, one.scores[score], one.work.samples_of(score))) is not None
    ]
    return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")


def main() -> None:
    """Collect, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="*", type=Path, metavar="RUN")
    parser.add_argument("--write", action="store_true", help="replace the table that comes with kbench")
    asked = parser.parse_args()
    kept = [one for one in sorted(store.by_time(CHECKOUT / "results", packed=True)) if not store.is_cluster(one)]
    fresh = [one for run in (*kept, *asked.runs) for one in collected(run)]
    sources = {one.source for one in fresh}
    trainings = [*(one for one in training_spreads.read() if one.source not in sources), *fresh]
    trainings.sort(key=lambda one: (one.work.key, one.source, one.seed, one.backend))
    print(
        f"{'kind':15}{'work: samples, epochs, batch, validation':45}{'groups':>7}"
        + "".join(f"{one:>14}" for one in SCORES)
    )
    for (kind, work), groups in sorted(training_spreads.groups(trainings).items()):
        each = [[one for group in groups if not np.isnan(one := spread(group, score))] for score in SCORES]
        middle = [np.median(its) if its else np.nan for its in each]
        shown = "".join(
            f"{one:14.2f}" if score.endswith("accuracy") else f"{one:14.2%}"
            for one, score in zip(middle, SCORES, strict=True)
        )
        print(f"{kind:15}{work:45}{len(groups):7}{shown}")
    if asked.write:
        training_spreads.write(training_spreads.SHIPPED, trainings)


if __name__ == "__main__":
    main()
