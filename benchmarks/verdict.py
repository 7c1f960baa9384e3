"""How long it takes until verdicts stand: in turns and racing, against one after the other with fixed repeats.

    python benchmarks/verdict.py [--repeats N] [--pairs N] [--what quiet,bursts,second-half,same]

Two examples run on four backends, on a quiet machine (quiet), with two busy processes for 2 of every 10 seconds
(bursts), and with one busy process in the second half of the time (second-half). Printed is how many seconds all
cells took until each row that is 1.25 times as slow as the fastest, or slower, has its verdict; what is that slow is
known from the quiet run in turns. One after the other that is the whole run, since the table is looked at when it
has ended; in brackets, after which of its repeats the verdicts would have stood. With `same`, one backend runs under
two names, that many times, quiet and with bursts, and each pair that is said to differ is a mistake. Nothing else
should run. It takes an hour.
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
from pathlib import Path
from statistics import geometric_mean

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from kbench import store
from kbench.analysis import intervals
from kbench.analysis.summaries import summarise
from kbench.values import SLOWER, Measured

BACKENDS = "keras2/tensorflow,keras2/theano,keras3/torch,keras3/jax"
EXAMPLES = {"mnist_mlp": (), "mnist_cnn": ("--samples", "1280", "--epochs", "6")}
DIFFERENT = 1.25
RACING = ("--budget", "20m")
SAME = "keras3/jax"


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


def measure(
    folder: Path, name: str, example: str, options: Sequence[str], backends: str = BACKENDS
) -> list[Measured]:
    """What a run of one example measures."""
    subprocess.run(
        [
            *(sys.executable, str(CHECKOUT / "run.py"), "--backends", backends, "--examples", example),
            *("--device", "cpu", "--results", str(folder), "--name", name, "--no-plots", "--quiet", *options),
        ],
        check=True,
        cwd=CHECKOUT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return list(store.read(folder / name).measured)


def until(measured: Sequence[Measured], slow: set[str], level: float) -> tuple[float, bool]:
    """Seconds of all cells until each of the `slow` backends has its verdict, and whether they have."""
    repeats = max(one.cell.repeat for one in measured)
    for so_far in range(1, repeats + 1):
        there = [one for one in measured if one.cell.repeat <= so_far]
        found = {row.backend for row in summarise(there, level=level) if row.verdict == SLOWER}
        if slow <= found or so_far == repeats:
            return sum(one.outcome.seconds or 0.0 for one in there), slow <= found
    raise AssertionError


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
            rows = summarise(racing)
            slow[example] = {row.backend for row in rows if (row.relative_to_fastest or 0.0) >= DIFFERENT}
        one, stands = until(racing, slow[example], intervals.LEVEL_OF_A_LOOK)
        other, fixed_stands = until(fixed, slow[example], intervals.LEVEL)
        whole = sum(one.outcome.seconds or 0.0 for one in fixed)
        soonest = f"(stood after {other:.0f})" if fixed_stands else "and more"
        print(
            f"{how:12} {example:10} {len(slow[example])} slower: "
            f"in turns {one:.0f} s{'' if stands else ' and more'}, "
            f"one after the other {whole:.0f} s {soonest}, ratio {one / whole:.2f}",
            flush=True,
        )


def mistakes(folder: Path, how: str, pairs: int) -> None:
    """One backend under two names."""
    options = ("--samples", "2560", "--epochs", "12", "--repeats", str(pairs))
    with disturbed(how, 60.0):
        measured = measure(folder, f"same-{how}", "mnist_mlp", options, f"{SAME},keras3/again")
    samples: dict[int, list[float]] = {}
    for one in measured:
        samples.setdefault(one.cell.repeat, []).extend(one.outcome.reference_samples)
    wrong = told = 0
    for pair in range(1, pairs + 1):
        # A run of its own has twelve processes of the fixed computation in turns; here each pair has four.
        near = [samples[number] for number in range(max(1, pair - 2), pair + 1)]
        paces = tuple(
            (seconds / geometric_mean(group)) ** math.sqrt(len(group) / (len(group) - 1))
            for group in near
            for seconds in group
        )
        of_pair = [one for one in measured if one.cell.repeat == pair]
        there = [
            replace(one, outcome=replace(one.outcome, reference_samples=() if place else paces))
            for place, one in enumerate(of_pair)
        ]
        rows = summarise(there)
        told += any(row.verdict for row in rows)
        wrong += any(row.verdict == SLOWER for row in rows)
    print(f"{how:12} the same backend twice: {wrong} of {told} pairs are said to differ", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3, help="of the runs that measure one after the other")
    parser.add_argument("--pairs", type=int, default=60)
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
            for file in (CHECKOUT / "backends").glob(f"{SAME}.*"):
                again = "again" + file.name.removeprefix(SAME.rpartition("/")[2])
                shutil.copy(file, folder / "backends" / "keras3" / again)
            for how in ("quiet", "bursts"):
                mistakes(folder, how, asked.pairs)


if __name__ == "__main__":
    main()
