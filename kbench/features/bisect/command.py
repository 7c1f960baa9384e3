"""`bisect`: finds the release or commit that made an example or a script worse: its time, loss, memory or outputs."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version

from kbench.analysis.times.ratios import WIDEST
from kbench.base import paths
from kbench.commands import choices
from kbench.environments import locks
from kbench.errors import Stopped, UserError
from kbench.features.bisect import bisection, by_outputs, commits
from kbench.features.bisect.by_outputs import OutputDifference
from kbench.features.script import choosing
from kbench.features.script.lines.call_sites import is_fit
from kbench.outputs.told import ToldRun
from kbench.planning.request import Request
from kbench.records.values import NOT_COMPARED, OK, PRECISION, SLOWER, Backend, Interval
from kbench.screen import finish, terminal
from kbench.screen.listener import Screen
from kbench.selection import names, variants
from kbench.selection.known import known_backends, known_examples
from kbench.session.measure import measure
from kbench.summary import Summary
from kbench.tables.grid import Grid, printed
from kbench.words.text import significant

SAME_LOSS = 0.01  # losses that differ by less than this share of the good release's count as equal
SAME_MEMORY = 0.05  # and peaks of memory
TRIES = 2  # of a comparison that says nothing
OUTPUTS = "outputs"
_WORDS = {
    "time": "takes {} times as long as",
    "loss": "ends with a loss of {} times that of",
    "memory": "uses {} times the memory of",
    OUTPUTS: "returns something else than",
}


@dataclass(frozen=True)
class VersionProbe:
    """A release or commit compared with the good one."""

    version: str
    ratio: float  # of time, loss or memory; of outputs how far they are off, in what is allowed
    interval: Interval | None
    differs: bool  # whether a difference is shown
    run: str
    failed: str = ""  # why it could not be compared
    again: bool = False  # whether it may be, if it is measured again
    outputs: OutputDifference | None = None

    def row(self) -> list[str]:
        """Its row in the table."""
        of = "" if self.interval is None else f"{significant(self.interval.low)}-{significant(self.interval.high)}"
        shown = significant(self.ratio) if self.outputs is None else self.outputs.how or "the same"
        ratio = shown if not self.failed else "unsure" if self.again else "failed"
        return [self.version, ratio, of or "-", self.run]


@dataclass(frozen=True)
class Search:
    """Versions from the good one to the bad one, oldest first."""

    package: str
    kind: str  # "releases" or "commits"
    subjects: Mapping[str, str]  # what is said of each version; of a release nothing
    name: Callable[[str], str]  # the backend of a version; raises UserError

    def in_words(self, version: str) -> str:
        """The package and version."""
        subject = self.subjects[version]
        return f"{self.package} {version}{f' ({subject})' if subject else ''}"


def main(options: argparse.Namespace) -> int:
    """Search and print the result; 1 if the two ends do not differ. Raises UserError."""
    known = known_backends()
    (backend, *others) = names.select_backends(options.backend, known).chosen
    if others:
        raise UserError(f"bisect takes one backend, and {options.backend!r} names {1 + len(others)}.")
    package, by_commit, folder = options.package.partition("=")
    prefix = backend.name + _suffix(backend, package, bool(by_commit))
    request = _request(vars(options))
    if not by_commit:
        releases = dict.fromkeys(_releases(backend, package, options.good, options.bad), "")
        return _search(Search(package, "releases", releases, lambda release: prefix + release), request, options)
    if not folder:
        raise UserError(f"--package {package}= names no folder: write {package}=../{package}, a git checkout of it.")
    with commits.checkout(folder) as found:
        listed = {one.name: one.subject for one in found.between(options.good, options.bad)}
        search = Search(package, "commits", listed, lambda commit: f"{prefix}{found.worktree(commit)}")
        return _search(search, request, options)


def _search(search: Search, request: Request, options: argparse.Namespace) -> int:
    versions, probes = list(search.subjects), list[VersionProbe]()
    good, command = versions[0], choices.command_line(vars(options))
    listed = f": {', '.join(versions)}" if len(versions) <= 40 else ""
    terminal.print_note(f"{len(versions)} {search.kind} from {good} to {versions[-1]}{listed}")

    def probe(version: str) -> VersionProbe:
        two = search.name(good), search.name(version)
        asked = replace(request, backends=two, named_backends=two, baseline=two[0])
        for _ in range(TRIES):
            probes.append(_probe(asked, options.results, version, options.by, command))
            if not probes[-1].again:
                break
        return probes[-1]

    bad = probe(versions[-1])
    if bad.failed:
        _print_probes(probes, search, options.by)
        raise UserError(f"{search.package} {bad.version} cannot be compared with {good}: {bad.failed}.")
    low, high = 0, len(versions) - 1
    if bad.differs:
        low, high = bisection.narrowed(low, high, lambda place: is_as_bad(probe(versions[place]), bad.ratio))
    _print_probes(probes, search, options.by)
    if not bad.differs:
        alike = "returns the same as" if options.by == OUTPUTS else "is not shown to be worse than"
        print(f"{search.package} {bad.version} {alike} {good} here: nothing to find.")
        return 1
    first = next((one for one in reversed(probes) if one.version == versions[high]), bad)
    what = _WORDS[options.by].format(significant(first.ratio))
    if not math.isfinite(first.ratio) and not first.outputs:
        what = f"ends with a {options.by} that is no finite multiple of that of"
    who = options.example or options.file
    skipped = versions[low + 1 : high]
    which = f"is one of {', '.join([*skipped, versions[high]])}" if skipped else "is the first"
    named = search.package if skipped else search.in_words(versions[high])
    before = f"; {versions[low]} does not" if low else ""
    why = "; the versions between could not be compared" if skipped else ""
    outputs = first.outputs
    returned = f" {f'In {outputs.line}' if outputs.line else 'Before training'}: {outputs.how}." if outputs else ""
    print(f"{named} {which}: {who} {what} {good}{before}{why}.{returned}")
    return 0


def _suffix(backend: Backend, package: str, by_commit: bool) -> str:
    """The part of a variant's name before the version of the package. Raises UserError."""
    if package == "keras":
        return "+keras="
    own = {backend.distribution, backend.keras_backend, *(build.distribution for build in backend.builds)}
    if package in own:
        return f"+{package}=" if by_commit else "@"
    raise UserError(f"--package takes keras or {backend.distribution} for {backend.name}, not {package[:50]!r}.")


def _releases(backend: Backend, package: str, good: str, bad: str) -> list[str]:
    """The releases from one to the other. Raises UserError."""
    if _version(good) >= _version(bad):
        raise UserError(f"--good {good} is not older than --bad {bad}.")
    searched = variants.keras_of(backend) if package == "keras" else backend.builds[0].distribution
    return [one for one in locks.versions(backend, searched, good, bad) if not Version(one).is_prerelease]


def _version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        raise UserError(
            f"{text[:50]!r} is not a version, such as 3.8 or 3.15.1; for commits, name a checkout: --package "
            "keras=../keras."
        ) from None


def _request(options: dict[str, Any]) -> Request:
    """What is measured of each two versions, but for their names. Raises UserError."""
    choices.check_one_value_each(options)
    if bool(options["example"]) == bool(options["file"]):
        raise UserError("Name what is measured: --example EXAMPLE or --script FILE, one of them.")
    if options["file"]:
        program, script = choosing.asked(options, known_backends())
        chosen: names.Chosen[Any] = names.Chosen((program,), frozenset({program.name}))
    else:
        choosing.check_no_program(options)
        chosen, script = names.select_examples(options["example"], known_examples()), None
    mirror = choices.data_folder()
    return Request(
        backends=("",),
        examples=tuple(paths.portable(one.path) for one in chosen.chosen),
        named_examples=tuple(sorted(chosen.named)),
        profile=options["profile"],
        precision=None if options["by"] == OUTPUTS else PRECISION,  # outputs are the same in each process
        budget=None if options["by"] == OUTPUTS else options["budget"],
        values=choices.values(options),
        data_dir=None if mirror is None else paths.portable(mirror),
        script=script,
    )


def _probe(request: Request, results: Path, version: str, by: str, command: str) -> VersionProbe:
    """Measure the two side by side until a difference is shown or the budget is spent. Raises UserError."""
    good, other = request.backends
    terminal.print_note(f"{other} and {good}, side by side")
    try:
        there = measure(request, results, Screen(terminal.QUIET), command=command)
    except Stopped as stopped:
        raise finish.how_to_go_on(stopped) from stopped
    analysis = ToldRun(there)
    found = analysis.rows
    finish.write(analysis, plots=False)
    pairs = [(mine, its) for mine in found for its in found if _same_line(mine, its, other, good)]
    for row in (row for row in found if row.status != OK):
        reason = f"{row.backend} ({row.status}): {row.reason}; see {there.folder}"
        if row.backend == good:
            raise UserError(f"{reason}.")
        return VersionProbe(version, math.nan, None, False, there.name, reason)
    if by != OUTPUTS:
        return compared(*_chosen(pairs, by), by, version, there.name)
    difference = by_outputs.largest(pairs, analysis.row_cells)
    if difference is None:
        why = f"it returns nothing from the same weights and inputs; see {there.name}"
        return VersionProbe(version, math.nan, None, False, there.name, why)
    return VersionProbe(version, difference.ratio, None, bool(difference.how), there.name, outputs=difference)


def compared(row: Summary, reference: Summary, by: str, version: str, run: str) -> VersionProbe:
    """The version's row compared with that of the good one."""
    if by == "time":
        ratio, interval = row.relative_to_baseline, row.baseline_interval
        if ratio is not None and ratio > WIDEST and interval is None:  # noise cannot be why
            return VersionProbe(version, ratio, None, True, run)
        if unlike := row.differs or reference.differs:
            return VersionProbe(version, math.nan, None, False, run, f"it does other work ({unlike[0]}); see {run}")
        if ratio is None or interval is None or row.verdict == NOT_COMPARED:
            why = f"other programs used the processor, or there were too few epochs; see {run}"
            return VersionProbe(version, ratio or math.nan, interval, False, run, why, again=True)
        return VersionProbe(version, ratio, interval, row.verdict == SLOWER, run)
    own, its = (one.peak_memory_mib if by == "memory" else one.final_loss for one in (row, reference))
    if own is None or its is None:
        return VersionProbe(version, math.nan, None, False, run, f"its {by} is not known; see {run}")
    unchanged = own == its or (math.isnan(own) and math.isnan(its))
    ratio = 1.0 if unchanged else own / its if its else math.inf
    same = ratio <= 1 + SAME_MEMORY if by == "memory" else abs(ratio - 1) <= SAME_LOSS
    return VersionProbe(version, ratio, None, not same, run)


def is_as_bad(found: VersionProbe, bad: float) -> bool | None:
    """Whether a version's ratio is nearer to the bad one's than to 1; None where it may be either."""
    if found.failed:  # a ratio that was disturbed may be off by as much as this
        return False if found.again and found.ratio * WIDEST < math.sqrt(bad) else None
    if found.interval and found.interval.low <= 1 and found.interval.high >= bad:
        return None
    if not (math.isfinite(found.ratio) and math.isfinite(bad)) or bad <= 0:  # a loss that is no number, or zero
        return found.differs and math.isfinite(found.ratio) == math.isfinite(bad)
    between = math.sqrt(bad)
    return found.differs and (found.ratio >= between if bad >= 1 else found.ratio <= between)


def _same_line(mine: Summary, its: Summary, other: str, good: str) -> bool:
    return mine.backend == other and its.backend == good and mine.ranking == its.ranking


def _chosen(pairs: Sequence[tuple[Summary, Summary]], by: str) -> tuple[Summary, Summary]:
    """The rows of an example; of a script the fit that takes most, or the whole program. Raises UserError."""
    fits = [pair for pair in pairs if is_fit(pair[0].site)]
    whole = [pair for pair in pairs if pair[0].work.once and pair[0].peak_memory_mib is not None]
    of_script = whole if by == "memory" or not fits else fits
    if by == "loss" and not fits and whole:
        raise UserError("--by loss: the program does not call fit, so it has no loss to compare.")
    if not (of_script or pairs):
        raise UserError("Nothing to compare: the two versions ran no line in common.")
    return max(of_script or pairs, key=lambda pair: pair[1].total_seconds or 0.0)


def _print_probes(probes: Sequence[VersionProbe], search: Search, by: str) -> None:
    measure = {"time": "x good", OUTPUTS: by}.get(by, f"{by}, x good")
    heads = [search.package, measure, "95 % interval", "run"]
    order = {version: number for number, version in enumerate(search.subjects)}
    rows = [one.row() for one in sorted(probes, key=lambda one: order[one.version])]
    if by == OUTPUTS:
        heads, *rows = ([*one[:2], *one[3:]] for one in (heads, *rows))
    terminal.print_text(printed({search.kind: Grid(heads, rows)}, terminal.TABLE, terminal.width()))
