"""`releases`: measures the releases of a package that a history lacks, coarsely first, then where a step is."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from packaging.version import InvalidVersion, Version

from kbench import store
from kbench.base import paths
from kbench.commands import choices
from kbench.environments import locks
from kbench.errors import Interrupted, Stopped, UserError
from kbench.features.history import lines, reading, told
from kbench.features.history.values import DATE, TIME
from kbench.outputs.told import ToldRun
from kbench.planning.request import Request
from kbench.records.values import INTERRUPTED, PRECISION, Backend
from kbench.screen import finish, terminal
from kbench.screen.listener import Screen
from kbench.selection import names, variants
from kbench.selection.known import known_backends, known_examples
from kbench.session import interrupts
from kbench.session.measure import measure

TOGETHER = 4  # releases that take turns in a run: of more, each waits for the others


@dataclass(frozen=True)
class Series:
    """Releases of a package for a backend, oldest first, and what is measured of each."""

    package: str
    prefix: str  # of a backend's name, before the version
    releases: Sequence[str]
    request: Request
    made: set[str] = field(default_factory=set)  # the runs of this command

    def names(self, releases: Collection[str]) -> tuple[str, ...]:
        """The backends of these."""
        return tuple(self.prefix + one for one in releases)


def main(options: argparse.Namespace) -> int:
    """Measure until all are, or the budget is spent; print the history. Raises UserError."""
    began = time.monotonic()
    series = _series(options)
    listed = ", ".join(series.releases) if len(series.releases) <= 40 else ""
    terminal.print_note(f"{len(series.releases)} releases of {series.package}: {listed}")
    with interrupts.ended_as_interrupted():
        try:
            _measure(series, options, began)
        except (Interrupted, KeyboardInterrupt):
            print("kbench: interrupted; what was measured is kept, and the same command goes on.", file=sys.stderr)
            return interrupts.INTERRUPTED_STATUS
        except Stopped as stopped:
            raise finish.how_to_go_on(stopped) from stopped
    tried = _tried(series, options.results)
    read = _read(tried)
    history = lines.history(read.readings, read.failed)
    terminal.print_text(told.printed(history, terminal.TABLE, terminal.width()))
    if left := missing(series.releases, tried, _so_far(series, tried)[0]):
        terminal.print_sentence(f"Not measured: {', '.join(left)}. The same command goes on.")
    return 0


def _series(options: argparse.Namespace) -> Series:
    """What is asked for. Raises UserError."""
    known = known_backends()
    (backend, *others) = names.select_backends(options.backend, known).chosen
    if others or backend.name not in known:
        raise UserError(f"releases takes one backend without a version, not {options.backend[:80]!r}.")
    package = options.package
    of_framework = {backend.distribution, backend.keras_backend, *(build.distribution for build in backend.builds)}
    if package != "keras" and package not in of_framework - {""}:
        raise UserError(f"--package takes keras or {backend.distribution} for {backend.name}, not {package[:50]!r}.")
    choices.check_one_value_each(vars(options))
    chosen = names.select_examples(options.example, known_examples())
    releases = _releases(backend, package, getattr(options, "from"), options.to)
    if len(releases) < 2:
        raise UserError(f"There is only one release of {package} from the one to the other: {', '.join(releases)}.")
    mirror = choices.data_folder()
    request = Request(
        backends=("",),
        examples=tuple(paths.portable(one.path) for one in chosen.chosen),
        named_examples=tuple(sorted(chosen.named)),
        profile=options.profile,
        values=choices.values(vars(options)),
        data_dir=None if mirror is None else paths.portable(mirror),
    )
    return Series(package, backend.name + ("+keras=" if package == "keras" else "@"), releases, request)


def _releases(backend: Backend, package: str, first: str, last: str) -> list[str]:
    """The releases from one to the other, oldest first. Raises UserError."""
    for option, text in (("--from", first), ("--to", last)):
        try:
            Version(text)
        except InvalidVersion:
            raise UserError(f"{option} {text[:50]!r} is not a version, such as 3.8 or 3.15.1.") from None
    if Version(first) >= Version(last):
        raise UserError(f"--from {first} is not older than --to {last}.")
    searched = variants.keras_of(backend) if package == "keras" else backend.builds[0].distribution
    return [one for one in locks.versions(backend, searched, first, last) if not Version(one).is_prerelease]


def missing(releases: Sequence[str], tried: Collection[str], steps: Mapping[str, float]) -> list[str]:
    """What is to be measured: of 3.11.0 to 3.11.3 the last; and once these are, all between the ends of a step.

    steps: by the release behind one, its size.
    """
    last = {Version(one).release[:2]: one for one in releases}
    known = [one for one in releases if one in tried]
    between = {
        one
        for before, after in pairwise(known)
        if after in steps
        for one in releases[releases.index(before) + 1 : releases.index(after)]
    }
    coarse = [one for one in last.values() if one not in tried]
    return coarse or [one for one in releases if one in between]


def _measure(series: Series, options: argparse.Namespace, began: float) -> None:
    """A run after another, until nothing is missing or the next one would take too long."""
    command, longest = choices.command_line(vars(options)), 0.0
    while True:
        tried = _tried(series, options.results)
        steps, ran = _so_far(series, tried)
        if not (left_out := missing(series.releases, tried, steps)):
            return
        left = max(1.0, options.budget - (time.monotonic() - began))
        if longest and left < longest:  # a first one is always begun
            return
        chosen = chosen_next(series.releases, left_out, tried, steps, ran)
        rounds = -(-len(left_out) // (TOGETHER - bool(tried)))
        terminal.print_note(f"{series.package} {', '.join(chosen)}, side by side; {left:.0f} s are left")
        start, backends = time.monotonic(), series.names(chosen)
        asked = {"backends": backends, "named_backends": backends, "precision": PRECISION, "budget": left / rounds}
        there = measure(
            Request(**{**vars(series.request), **asked}), options.results, Screen(terminal.QUIET), command=command
        )
        series.made.add(there.name)
        finish.write(ToldRun(there), plots=False)
        longest = max(longest, time.monotonic() - start)


def chosen_next(
    releases: Sequence[str],
    wanted: Sequence[str],
    tried: Collection[str],
    steps: Mapping[str, float],
    ran: Collection[str],
) -> list[str]:
    """Which of the wanted ones are measured next: at first spread evenly; then where a step is or the gap is widest,
    beside the nearest one that ran.
    """
    pool = [one for one in releases if one in wanted or one in tried]
    if not tried:
        count = min(TOGETHER, len(pool))
        return list(dict.fromkeys(pool[round(n * (len(pool) - 1) / max(1, count - 1))] for n in range(count)))
    known, new = [place for place, one in enumerate(pool) if one in tried], list[int]()
    while len(new) < TOGETHER - 1:
        gaps = [(low, high) for low, high in pairwise(sorted({-1, *known, *new, len(pool)})) if high - low > 1]
        if not gaps:
            break
        low, high = max(gaps, key=lambda gap: (steps.get(_behind(pool, known, gap[1]), 0.0), gap[1] - gap[0]))
        new.append((low + high) // 2)
    beside = [place for place in known if pool[place] in ran] or known
    nearest = min(beside, key=lambda place: abs(place - new[0]))
    return [pool[place] for place in sorted({nearest, *new})]


def _behind(pool: Sequence[str], known: Sequence[int], end: int) -> str:
    """The first measured release at the end of a gap or behind it."""
    return next((pool[place] for place in known if place >= end), "")


def _so_far(series: Series, tried: Mapping[str, Collection[Path]]) -> tuple[dict[str, float], set[str]]:
    """The sizes of steps, each by the release behind it, and the releases that ran."""
    if not tried:
        return {}, set()
    read, sizes = _read(tried), dict[str, float]()
    for step in lines.history(read.readings).steps:
        if step.what == TIME and step.line.axis != DATE:
            sizes[step.after.label] = max(sizes.get(step.after.label, 0.0), abs(step.ratio - 1))
    ran = {one.backend for one in read.readings}
    of_series = zip(series.releases, series.names(series.releases), strict=True)
    return sizes, {release for release, name in of_series if name in ran}


def _read(tried: Mapping[str, Collection[Path]]) -> reading.Read:
    return reading.readings(sorted({run for of_release in tried.values() for run in of_release}))


def _tried(series: Series, results: Path) -> dict[str, list[Path]]:
    """Each release that has been measured here with all that is asked for, whatever came of it, and its runs; not
    those of earlier commands that other programs disturbed.
    """
    now, found = reading.present(), dict[str, list[Path]]()
    wanted = {Path(one).stem for one in series.request.examples}
    like = series.request.profile, {name: [*of] for name, of in series.request.values.items()}
    for run in store.by_time(results, timed=True, packed=True):
        try:
            record = store.read_record(run)
        except UserError:  # damaged, or of a cluster
            continue
        asked = (record.request.get("profile"), record.request.get("values"))
        if asked != like or not reading.same_machine(record.provenance, now):
            continue
        raw = record.raw_folder
        for release, name in zip(series.releases, series.names(series.releases), strict=True):
            cells = [one for one in record.cells if one.backend == name]
            ended = {one.example for one in cells if store.outcome(raw, one).status != INTERRUPTED}
            if cells and wanted <= ended:
                found.setdefault(release, []).append(run)
    readings = _read(found).readings
    busy = {(one.run, one.backend) for one in readings if one.refused == reading.BUSY and one.run not in series.made}
    for release, name in zip(series.releases, series.names(series.releases), strict=True):
        found[release] = [run for run in found.get(release, ()) if (run.name, name) not in busy]
    return {release: its for release, its in found.items() if its}
