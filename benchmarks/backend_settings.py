"""Whether each backend runs at its best: its shipped settings against other combinations, in one interleaved run.

    python benchmarks/backend_settings.py [--backends LIST] [--examples LIST] [--rounds N] [--markdown]

The combinations are in backend_settings.toml. Per backend and example kbench itself measures them, in a fresh process
each, in turns, with its own intervals and its own proof that all computed the same. Shipped settings should be within
5 % of the best combination. Exit status 1 says that some are shown not to be, or did not run.

The real data are needed, or KBENCH_DATA. Where a combination has other packages, their environment is made in
kbench's cache the first time.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean

from tabulate import tabulate

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(CHECKOUT), str(Path(__file__).resolve().parent)]

import backend_variants as variants

from kbench import store
from kbench.analysis import summaries
from kbench.base import paths
from kbench.environments import ensure
from kbench.errors import UserError
from kbench.machine import devices
from kbench.records.values import OK, Backend, Example, Interval, Measured
from kbench.selection import backends, builds, examples, names
from kbench.summary import Summary

LIMIT = 1.05
CANDIDATES = Path(__file__).with_suffix(".toml")
# Epochs of half a second to some seconds on two cores; an own example has the number of its profile `quick`.
SAMPLES = {
    "babi_rnn": 128,
    "cifar10_cnn": 512,
    "imdb_gru": 512,
    "mnist_cnn": 1280,
    "mnist_hrnn": 128,
    "mnist_mlp": 10000,
    "resnet50_features": 64,
}

WITHIN = "within 5 %"
UNSURE = "not shown to be beyond 5 %"
BEYOND = "BEYOND 5 %"
FAILED = "did not run"


@dataclass(frozen=True)
class Judged:
    """A backend's combinations in one example, fastest first, and what that says of the shipped one."""

    example: str
    rows: tuple[Summary, ...]
    ratio: float | None  # of the shipped combination to the best that may be shipped
    verdict: str


def judge(measured: Sequence[Measured], shipped: str, left_out: frozenset[str]) -> Judged:
    """What one example's measurements say of the backend `shipped`.

    `left_out` are combinations that are shown, but with which it is not compared: the data file says why they are
    not shipped for all examples although they are the fastest in some.
    """
    rows = tuple(summaries.summarise(measured))
    counted = summaries.summarise([one for one in measured if one.cell.backend not in left_out])
    (row,) = (row for row in counted if row.backend == shipped)
    return Judged(row.example, rows, row.relative_to_fastest, verdict(row))


def verdict(row: Summary) -> str:
    """Whether the row's ratio to the fastest is within LIMIT, or is shown not to be by its interval."""
    ratio, interval = row.relative_to_fastest, row.relative_interval
    if row.status != OK or ratio is None:
        return FAILED
    if ratio <= LIMIT:
        return WITHIN
    return BEYOND if interval is not None and interval.low > LIMIT else UNSURE


def overall(judged: Sequence[Judged]) -> dict[str, tuple[float, int]]:
    """Per combination, the geometric mean of its ratios to the best of each example, and of how many examples."""
    ratios: dict[str, list[float]] = {}
    for one in judged:
        for row in one.rows:
            if row.relative_to_fastest is not None:
                ratios.setdefault(row.backend, []).append(row.relative_to_fastest)
    return {name: (geometric_mean(found), len(found)) for name, found in ratios.items()}


def shown(judged: Judged, whys: Mapping[str, variants.Candidate], markdown: bool) -> str:
    """The table of one backend and example."""
    lines = []
    for row in judged.rows:
        name = row.backend.rpartition("-")[2]
        candidate = whys.get(row.backend)
        said = judged.verdict if candidate is None else candidate.why
        if row.status != OK:
            said = f"{row.status}: {row.reason}"
        elif row.differs:
            said = f"computes something else: {row.differs[0]}"
        elif candidate is not None and candidate.left_out:
            said = f"{said}; not shipped: {candidate.left_out}"
        lines.append(
            (
                f"**{name}**" if markdown and candidate is None else name,
                _number(row.epoch_seconds),
                _ends(row.epoch_interval),
                _number(row.relative_to_fastest),
                _ends(row.relative_interval),
                said,
            )
        )
    heads = ("combination", "s/epoch", "95 %", "x best", "95 %", "")
    return tabulate(lines, heads, tablefmt="pipe" if markdown else "simple", disable_numparse=True)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _ends(interval: Interval | None) -> str:
    return "-" if interval is None else f"{interval.low:.3f}-{interval.high:.3f}"


def measure(
    chosen: Sequence[Backend], example: str, pythons: Mapping[str, Path], folder: Path, counts: Mapping[str, int]
) -> tuple[Measured, ...]:
    """One run of kbench over these backends, which lie in the folder KBENCH_BACKENDS `folder`."""
    command = [sys.executable, "-m", "kbench", "run", "--no-plots", "--examples", example, "--device", "cpu"]
    command += ["--backends", ",".join(one.name for one in chosen), "--results", str(folder / "results")]
    for name, python in pythons.items():
        command += ["--python", f"{name}={python},as-is"]
    for option, number in counts.items():
        command += [f"--{option}", str(number)]
    environment = {**os.environ, "KBENCH_BACKENDS": str(folder), "PYTHONPATH": str(CHECKOUT)}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True)
    if ended.returncode not in (0, 1):
        raise UserError(f"kbench ended with status {ended.returncode}: {ended.stderr.strip()[-1000:]}")
    return store.read(store.latest(folder / "results")).measured


def compare(
    backend: Backend, candidates: Sequence[variants.Candidate], chosen: Sequence[Example], options: argparse.Namespace
) -> list[Judged]:
    """Measures one backend's combinations, example by example, and prints each table as it is there."""
    python = ensure.ensure(backend, builds.pick_build(backend, devices.CPU), report=_report).python
    judged = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        shipped, *others = variants.write(folder, backend, candidates, options.candidates.parent)
        whys = {one.variant: one for one in candidates}
        # What has the shipped packages shares their environment, which is there already.
        pythons = {one.name: python for one in (shipped, *others) if one is shipped or not whys[one.name].lock}
        left_out = frozenset(one.variant for one in candidates if one.left_out)
        for example in chosen:
            tried = [one for one in others if example.name in (whys[one.name].examples or (example.name,))]
            if not tried:
                continue
            counts = {"repeats": options.rounds, "epochs": options.epochs}
            samples = options.samples or SAMPLES.get(example.name)
            if samples:
                counts["samples"] = samples
            taken = [shipped, *tried]
            theirs = {one.name: pythons[one.name] for one in taken if one.name in pythons}
            measured = measure(taken, str(example.path), theirs, folder, counts)
            found = judge(measured, shipped.name, left_out)
            judged.append(found)
            heading = f"{backend.name}, {example.name}: shipped settings {found.verdict}"
            print(f"\n{'### ' if options.markdown else ''}{heading}\n")
            print(shown(found, whys, options.markdown), flush=True)
    return judged


def _report(text: str) -> None:
    print(text, file=sys.stderr)


def _overall(backend: Backend, judged: Sequence[Judged], markdown: bool) -> str:
    means = sorted(overall(judged).items(), key=lambda item: item[1])
    lines = [(name.rpartition("-")[2], f"{mean:.3f}", count) for name, (mean, count) in means]
    heads = ("combination", "x best", "examples")
    table = tabulate(lines, heads, tablefmt="pipe" if markdown else "simple", disable_numparse=True)
    return f"\n{'### ' if markdown else ''}{backend.name}: geometric mean over the examples\n\n{table}"


def main(argv: Sequence[str]) -> int:
    """Measure and print; 1 where shipped settings are shown to be beyond 5 % or did not run, else 0."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backends", default="all", help="names as kbench knows them; all that have candidates")
    parser.add_argument("--examples", default="all")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each combination (3)")
    parser.add_argument("--epochs", type=int, default=3, help="of each process; the first is not counted (3)")
    parser.add_argument("--samples", type=int, help="in an epoch, for every example")
    parser.add_argument("--markdown", action="store_true", help="print tables as backend_settings.md has them")
    parser.add_argument("--candidates", type=Path, default=CANDIDATES, help="the file with what is tried")
    options = parser.parse_args(argv)
    try:
        known = backends.load_all(paths.project_folder("backends"))
        further = paths.further_backends()
        if further is not None:
            known = {**known, **backends.load_all(further)}
        candidates = variants.read(options.candidates, known)
        chosen = names.select_examples(
            options.examples, examples.load_all(paths.project_folder("examples_models"))
        ).chosen
        judged: list[Judged] = []
        for backend in names.select_backends(options.backends, known).chosen:
            theirs = [one for one in candidates if one.backend == backend.name]
            able = [example for example in chosen if example.task in backend.can]
            found = compare(backend, theirs, able, options) if theirs else []
            if found:
                print(_overall(backend, found, options.markdown), flush=True)
            judged += found
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return int(any(one.verdict in (BEYOND, FAILED) for one in judged))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
