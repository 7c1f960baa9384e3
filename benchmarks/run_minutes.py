"""Where a run's minutes go, from its own files.

    python benchmarks/run_minutes.py RUN [--command-seconds N]

RUN is the folder of a run. The table has, for each backend and in all, the minutes of whole processes (start: import,
data, build, first step; checks; steady epochs; the rest: scores, later reads), and of short ones. The last lines have
what is outside all processes: compiling first, and, if --command-seconds says how long the whole command took,
environments, data, tables and waiting.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import real_command  # noqa: F401  # puts the checkout on sys.path

from kbench import store
from kbench.records.values import Measured

START = ("import", "data", "build", "first_step")


def parts(processes: Sequence[Measured]) -> dict[str, float]:
    """Seconds of whole processes, by what they do."""
    found = dict.fromkeys(("start", "checks", "epochs", "rest"), 0.0)
    for one in processes:
        start = sum(one.phases.get(name, 0.0) for name in START)
        epochs = sum(epoch.seconds for epoch in one.epochs) - one.phases.get("first_step", 0.0)
        checks = one.phases.get("probe", 0.0)
        found["start"] += start
        found["checks"] += checks
        found["epochs"] += epochs
        found["rest"] += (one.outcome.seconds or 0.0) - start - checks - epochs
    return found


def seconds_of(processes: Sequence[Measured]) -> float:
    """Seconds of processes from their start to their end, without the time that they were held."""
    return sum(one.outcome.seconds or 0.0 for one in processes)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("run", type=Path, help="a run's folder")
    parser.add_argument("--command-seconds", type=float, help="how long the whole command took")
    options = parser.parse_args()
    run = store.read(options.run)
    names = list(dict.fromkeys(one.cell.backend for one in run.measured))
    print(f"{'minutes':22} {'start':>7} {'checks':>7} {'epochs':>7} {'rest':>7} {'short':>7} {'all':>7}")
    for name in [*names, "all"]:
        whole, short = (
            [one for one in kind if name in ("all", one.cell.backend)] for kind in (run.measured, run.short)
        )
        numbers = [*parts(whole).values(), seconds_of(short), seconds_of([*whole, *short])]
        print(f"{name:22} " + " ".join(f"{number / 60:7.2f}" for number in numbers))
    processes = seconds_of([*run.measured, *run.short])
    started, ended = run.provenance["started"], run.provenance["ended"]["time"]
    measuring = (datetime.fromisoformat(ended) - datetime.fromisoformat(started)).total_seconds()
    print(f"compiling first, waiting between processes: {(measuring - processes) / 60:.2f}")
    if options.command_seconds:
        print(f"environments, data, tables: {(options.command_seconds - measuring) / 60:.2f}")


if __name__ == "__main__":
    main()
