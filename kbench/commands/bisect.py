"""`bisect`: finds the release that made an example slower or changed its loss."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.version import InvalidVersion, Version

from kbench import paths
from kbench.analysis.rows import summarised
from kbench.commands import choices
from kbench.environments import locks
from kbench.errors import Stopped, UserError
from kbench.planning.request import PRECISION, Request, cores
from kbench.screen import finish, terminal
from kbench.screen.listener import Screen
from kbench.selection import names, variants
from kbench.selection.known import known_backends, known_examples
from kbench.session.measure import measure
from kbench.tables.grid import Grid, printed
from kbench.text import significant
from kbench.values import OK, SLOWER, Backend, Interval

SAME_LOSS = 0.01  # losses that differ by less than this share of the good release's count as equal


@dataclass(frozen=True)
class Probe:
    """A release compared with the good one."""

    version: str
    ratio: float  # of time or loss
    interval: Interval | None
    differs: bool  # whether a difference is shown
    run: str

    def row(self) -> list[str]:
        """Its row in the table."""
        of = "" if self.interval is None else f"{significant(self.interval.low)}-{significant(self.interval.high)}"
        return [self.version, significant(self.ratio), of or "-", self.run]


def main(options: argparse.Namespace) -> int:
    """Search and print the result; 1 if the two ends do not differ. Raises UserError."""
    known = known_backends()
    (backend, *others) = names.select_backends(options.backend, known).chosen
    if others:
        raise UserError(f"bisect takes one backend, and {options.backend!r} names {1 + len(others)}.")
    suffix = _suffix(backend, options.package)
    if _version(options.good) >= _version(options.bad):
        raise UserError(f"--good {options.good} is not older than --bad {options.bad}.")
    request = _request(options)
    package = backend.builds[0].distribution if suffix == "@" else variants.keras_of(backend)
    every = locks.versions(backend, package, options.good, options.bad)
    releases = [one for one in every if not Version(one).is_prerelease]
    terminal.print_note(f"{len(releases)} releases from {releases[0]} to {releases[-1]}: {', '.join(releases)}")
    good, probes = releases[0], list[Probe]()

    def probe(version: str) -> Probe:
        two = f"{backend.name}{suffix}{good}", f"{backend.name}{suffix}{version}"
        asked = replace(request, backends=two, named_backends=two, baseline=two[0])
        probes.append(_probe(asked, options.results, version, options.by, choices.command_line(vars(options))))
        return probes[-1]

    bad = probe(releases[-1])
    if bad.differs:
        # Find the first release that is nearer to the bad one than to the good one.
        between = math.sqrt(bad.ratio) if bad.ratio > 0 else 1.0
        low, high = 0, len(releases) - 1
        while high - low > 1:
            middle = (low + high) // 2
            found = probe(releases[middle])
            is_bad = found.differs and (found.ratio >= between if between >= 1 else found.ratio <= between)
            low, high = (low, middle) if is_bad else (middle, high)
    _print_probes(probes, options.package, options.by)
    if not bad.differs:
        print(f"{options.package} {bad.version} is not shown to be worse than {good} here: nothing to find.")
        return 1
    first = next((one for one in probes if one.version == releases[high]), bad)
    what = "takes" if options.by == "time" else "ends with a loss of"
    print(
        f"{options.package} {releases[high]} is the first: {options.example} {what} {significant(first.ratio)} times "
        f"that of {good}; {releases[low]} does not."
    )
    return 0


def _suffix(backend: Backend, package: str) -> str:
    """The part of a variant's name before the version of the package. Raises UserError."""
    if package == "keras":
        return "+keras="
    own = {backend.distribution, backend.keras_backend, *(build.distribution for build in backend.builds)}
    if package in own:
        return "@"
    raise UserError(f"--package takes keras or {backend.distribution} for {backend.name}, not {package[:50]!r}.")


def _version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        raise UserError(f"{text[:50]!r} is not a version, such as 3.8 or 3.15.1.") from None


def _request(options: argparse.Namespace) -> Request:
    """What is measured of each two releases, but for their names. Raises UserError."""
    choices.check_one_value_each(vars(options))
    chosen = names.select_examples(options.example, known_examples())
    mirror = choices.data_folder(vars(options))
    return Request(
        backends=("",),
        examples=tuple(paths.portable(one.path) for one in chosen.chosen),
        named_examples=tuple(sorted(chosen.named)),
        profile=options.profile,
        precision=PRECISION,
        budget=options.budget,
        threads=options.threads or cores(),
        data_dir=None if mirror is None else paths.portable(mirror),
    )


def _probe(request: Request, results: Path, version: str, by: str, command: str) -> Probe:
    """Measure the two side by side until a difference is shown or the budget is spent."""
    good, other = request.backends
    terminal.print_note(f"{other} and {good}, side by side")
    try:
        there = measure(request, results, Screen(terminal.QUIET), command=command)
    except Stopped as stopped:
        raise finish.how_to_go_on(stopped) from stopped
    found = summarised(there)
    finish.write(there, found, plots=False)
    rows = {row.backend: row for row in found}
    for row in rows.values():
        if row.status != OK:
            raise UserError(f"{row.backend} was {row.status}: {row.reason}; see {there.folder}.")
    row = rows[other]
    if by == "time":
        ratio = row.relative_to_baseline or math.nan
        return Probe(version, ratio, row.baseline_interval, row.verdict == SLOWER, there.name)
    ratio = (row.final_loss or math.nan) / (rows[good].final_loss or math.nan)
    return Probe(version, ratio, None, not abs(ratio - 1) <= SAME_LOSS, there.name)


def _print_probes(probes: Sequence[Probe], package: str, by: str) -> None:
    heads = [package, "x good" if by == "time" else "loss, x good", "95 % interval", "run"]
    rows = [one.row() for one in sorted(probes, key=lambda one: Version(one.version))]
    terminal.print_text(printed({"releases": Grid(heads, rows)}, terminal.TABLE, terminal.width()))
