"""How long it takes until verdicts stand: in turns and racing, against one after the other with fixed repeats.

    python benchmarks/verdict.py [--repeats N] [--tables N] [--what quiet,bursts,second-half,same]

Two examples run on four backends, on a quiet machine (quiet), with two busy processes for 2 of every 10 seconds
(bursts), and with one busy process in the second half of the time (second-half). Printed is how many seconds all
cells took until each row that is 1.25 times as slow as the fastest, or slower, has its verdict; what is that slow is
known from the quiet run in turns. One after the other that is the whole run, since the table is looked at when it
has ended; in brackets, after which of its repeats the verdicts would have stood. With `same`, one backend runs under
three names, with that many seeds and with bursts, and each table with a "slower" is a mistake: one of ten may
have one. Nothing else should run. It takes an hour.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from kbench import store
from kbench.analysis.rows import summarised
from kbench.records.values import SLOWER, Measured
from kbench.store import RunResults

BACKENDS = "keras2/tensorflow,keras2/theano,keras3/torch,keras3/jax"
EXAMPLES = {"mnist_mlp": (), "mnist_cnn": ("--samples", "1280", "--epochs", "6")}
DIFFERENT = 1.25
RACING = ("--budget", "20m")
SAME, NAMES = "keras3/jax", ("keras3/again", "keras3/too")


def spin(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def busy(pattern: Sequence[tuple[float, int, float]], again: bool) -> None:
    """Of each (wait, processes, seconds): after so long, so many processes are busy for so long."""
    while True:
        for wait, processes, seconds in pattern:
            time.sleep(wait)
            spinning = [multiprocessing.Process(target=spin, args=(seconds,)) for _ in range(processes)]
            for one in spinning:
                one.start()
            for one in spinning:
                one.join()
        if not again:
            return


@contextlib.contextmanager
def disturbed(how: str, half: float) -> Iterator[None]:
    patterns = {"bursts": ([(8.0, 2, 2.0)], True), "second-half": ([(half, 1, 1e6)], False)}
    if how not in patterns:
        yield
        return
    beside = multiprocessing.Process(target=busy, args=patterns[how])
    beside.start()
    try:
        yield
    finally:
        for child in [*multiprocessing.active_children()]:
            subprocess.run(["pkill", "-P", str(child.pid)], check=False)
            child.terminate()
            child.join()


def measure(folder: Path, name: str, example: str, options: Sequence[str], backends: str = BACKENDS) -> RunResults:
    """What a run of one example measures."""
    subprocess.run(
        [
            *(sys.executable, str(CHECKOUT / "run.py"), "--backends", backends, "--examples", example),
            *("--device", "cpu", "--results", str(folder), "--name", name, "--no-plots", *options),
        ],
        check=True,
        cwd=CHECKOUT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return store.read(folder / name)


def until(run: RunResults, slow: set[str]) -> tuple[float, bool]:
    """Seconds of all cells until each of the `slow` backends has its verdict, and whether they have."""
    repeats = max(one.cell.repeat for one in (*run.measured, *run.short))
    for so_far in range(1, repeats + 1):
        whole, short = ([one for one in cells if one.cell.repeat <= so_far] for cells in (run.measured, run.short))
        rows = summarised(replace(run, measured=tuple(whole), short=tuple(short)))
        found = {row.backend for row in rows if row.verdict == SLOWER}
        if slow <= found or so_far == repeats:
            return seconds(whole, short), slow <= found
    return math.nan, False


def seconds(*cells: Sequence[Measured]) -> float:
    """Those of all of these cells."""
    return sum(one.outcome.seconds or 0.0 for several in cells for one in several)


def times(folder: Path, how: str, repeats: int, slow: dict[str, set[str]]) -> None:
    """Measure both ways and print a line for each example; `slow` is found out on a quiet machine."""
    for example, options in EXAMPLES.items():
        start = time.monotonic()
        with disturbed(how, 60.0):
            racing = measure(folder, f"{how}-{example}-turns", example, (*options, *RACING))
        half = (time.monotonic() - start) * repeats / 2
        fixed_options = ("--interleave", "off", "--repeats", str(repeats))
        with disturbed(how, half):
            fixed = measure(folder, f"{how}-{example}-fixed", example, (*options, *fixed_options))
        if how == "quiet":
            rows = summarised(racing)
            slow[example] = {row.backend for row in rows if (row.relative_to_fastest or 0.0) >= DIFFERENT}
        one, stands = until(racing, slow[example])
        other, fixed_stands = until(fixed, slow[example])
        whole = seconds(fixed.measured, fixed.short)
        soonest = f"(stood after {other:.0f})" if fixed_stands else "and more"
        print(
            f"{how:12} {example:10} {len(slow[example])} slower: "
            f"in turns {one:.0f} s{'' if stands else ' and more'}, "
            f"one after the other {whole:.0f} s {soonest}, ratio {one / whole:.2f}",
            flush=True,
        )


def mistakes(folder: Path, how: str, tables: int) -> None:
    """One backend under three names, as a user runs it, with that many seeds."""
    wrong = told = 0
    for seed in range(tables):
        options = ("--samples", "5000", "--seed", str(seed), "--budget", "3m")
        with disturbed(how, 60.0):
            measured = measure(folder, f"same-{how}-{seed}", "mnist_mlp", options, ",".join((SAME, *NAMES)))
        rows = summarised(measured)
        told += any(row.verdict for row in rows)
        wrong += any(row.verdict == SLOWER for row in rows)
    print(f"{how:12} the same backend three times: in {wrong} of {told} tables one is said to be slower", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3, help="of the runs that measure one after the other")
    parser.add_argument("--tables", type=int, default=10, help="of the same backend under three names")
    parser.add_argument("--what", default="quiet,bursts,second-half,same")
    asked = parser.parse_args()
    slow: dict[str, set[str]] = {}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for how in ("quiet", "bursts", "second-half"):
            if how in asked.what.split(","):
                times(folder, how, asked.repeats, slow)
        if "same" in asked.what.split(","):
            os.environ["KBENCH_BACKENDS"] = str(folder / "backends")
            (folder / "backends" / "keras3").mkdir(parents=True)
            for name, file in product(NAMES, (CHECKOUT / "backends").glob(f"{SAME}.*")):
                copy = file.name.replace(SAME.rpartition("/")[2], name.rpartition("/")[2], 1)
                shutil.copy(file, folder / "backends" / "keras3" / copy)
            mistakes(folder, "bursts", asked.tables)


if __name__ == "__main__":
    main()
