"""What changed between two backends of coverage runs, such as two versions: which public names broke, or are new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from kbench import store
from kbench.features.coverage import cases, results
from kbench.features.coverage.events import Case
from kbench.features.coverage.program import in_words
from kbench.features.coverage.values import (
    ABSENT,
    BAD,
    BROKE,
    CHANGED,
    CHANGES,
    GONE,
    GOOD,
    MENDED,
    NEW,
    NOT_RUN,
    STATES,
    TRIED,
    UNTRIED,
    CaseResult,
    NameResult,
)
from kbench.records.values import base
from kbench.store import RunResults


@dataclass(frozen=True)
class Side:
    """A backend of a coverage run."""

    backend: str
    title: str  # of which run it is, and which Keras it has
    names: Mapping[str, NameResult]
    told: Mapping[int, Case]
    kbench: frozenset[str]  # its code that made the inputs
    only: str  # the patterns of names that were asked for
    beside: frozenset[str]  # the backends of its run that it was compared with, and itself, without their settings


@dataclass(frozen=True)
class Change:
    """What became of a public name."""

    name: str
    what: str  # one of CHANGES
    before: str  # states
    after: str
    case: str = ""  # the worst, as it is called
    sentence: str = ""  # its error or what differs, of the side where it is worse
    is_new: bool = False  # whether the case was not tried before; then that state is the name's


@dataclass(frozen=True)
class Compared:
    """Two backends, and what changed from the first to the other."""

    before: Side
    after: Side
    changes: tuple[Change, ...]  # the worst first
    same: int  # names that are as before
    unknown: int  # names that were not tried on both

    def count(self, what: str) -> int:
        """How many names changed so."""
        return sum(one.what == what for one in self.changes)


def sides(run: RunResults, label: str = "") -> dict[str, Side]:
    """The backends of a run that were asked for. label: of the run. Raises UserError if the run is damaged."""
    rows: dict[str, dict[str, NameResult]] = {}
    for row in results.names(run):
        rows.setdefault(row.backend, {})[row.name] = row
    told = results.cases_of(run.measured)
    code: dict[str, set[str]] = {}
    for cell in (one for one in run.cells if one.repeat == 1):
        code.setdefault(cell.backend, set()).add(str(store.spec(run.raw_folder, cell).get("guest_sha256", "")))
    of_keras = {one.cell.backend: one.facts.keras_version for one in run.measured if one.facts.keras_version}
    found = {}
    for name, own in rows.items():
        version = f" (Keras {of_keras[name]})" if name in of_keras else ""
        title = f"{label}: {name}{version}" if label else f"{name}{version}"
        only = results.plan_of(run).only
        beside = frozenset(base(one) for one in rows if results.generation(one) == results.generation(name))
        found[name] = Side(
            name, title, own, told.get(name, {}), frozenset(code.get(name, set()) - {""}), only, beside
        )
    return found


def matching(first: Collection[str], other: Collection[str]) -> list[tuple[str, str]]:
    """The backends that are in both, and those that each has in one version or with one setting."""
    left, right = ([name for name in names if name not in both] for names, both in ((first, other), (other, first)))
    counts = [Counter(map(base, names)) for names in (left, right)]
    alone = {base(name): name for name in right if counts[0][base(name)] == counts[1][base(name)] == 1}
    return [
        *((name, name) for name in first if name in other),
        *((name, alone[base(name)]) for name in left if base(name) in alone),
    ]


def compared_versions(run: RunResults) -> list[Compared]:
    """Of each backend that the run has in several versions or settings the first beside each of the others, in the
    order in which they were asked for.
    """
    shown = results.plan_of(run).shown or []
    if len({*map(base, shown)}) == len(shown):
        return []
    there, first, found = sides(run), dict[str, str](), list[Compared]()
    for name in filter(there.__contains__, shown):
        if (before := first.setdefault(base(name), name)) != name:
            found.append(compared(there[before], there[name]))
    return found


def compared(before: Side, after: Side) -> Compared:
    """What changed from one to the other."""
    found, same, unknown = list[Change](), 0, 0
    comparable = before.kbench == after.kbench and len(before.kbench) == 1
    for name in cases.chosen(cases.chosen(sorted({*before.names, *after.names}), before.only), after.only):
        one, other = before.names.get(name), after.names.get(name)
        was, now = (ABSENT if each is None else each.state for each in (one, other))
        if was == now == ABSENT:
            continue
        if {was, now} & {NOT_RUN, UNTRIED}:
            unknown += 1
        elif ABSENT in (was, now):
            found.append(Change(name, NEW if was == ABSENT else GONE, was, now))
        elif one and other and (change := _changed(one, other, before, after, comparable)):
            found.append(change)
        elif was in BAD and now in GOOD:  # what failed was not tried again
            unknown += 1
        else:
            same += 1
    found.sort(key=lambda one: (CHANGES.index(one.what), one.name))
    return Compared(before, after, tuple(found), same, unknown)


def _changed(one: NameResult, other: NameResult, before: Side, after: Side, comparable: bool) -> Change | None:
    """The worst that became of a case. One that was not tried before counts where it is worse than the name was; and
    of a name that still fails no case is mended.
    """
    was = {in_words(row.case): row for row in one.cases if row.state in TRIED}
    found = []
    for row in other.cases:
        earlier = was.get(in_words(row.case))
        change = _of_case(earlier, row, before, after, comparable) if earlier else _of_new_case(one.state, row)
        if change:
            still_fails = change.what == MENDED and other.state in BAD
            found.append(replace(change, what=CHANGED) if still_fails else change)
    return min(found, key=lambda change: (CHANGES.index(change.what), len(change.case)), default=None)


def _of_new_case(was: str, now: CaseResult) -> Change | None:
    """was: the state of the name."""
    if now.state not in BAD or STATES.index(now.state) >= STATES.index(was):
        return None
    what = BROKE if was in GOOD else CHANGED
    return Change(now.case.name, what, was, now.state, in_words(now.case), now.sentence, is_new=True)


def _of_case(was: CaseResult, now: CaseResult, before: Side, after: Side, comparable: bool) -> Change | None:
    what = sentence = ""
    if was.state in GOOD and now.state in BAD:
        what, sentence = BROKE, now.sentence
    elif was.state in BAD and now.state in GOOD:
        what, sentence = MENDED, was.sentence
    elif was.state in BAD and now.state in BAD and was.state != now.state:
        what, sentence = CHANGED, now.sentence
    elif comparable and was.state in GOOD and now.state in GOOD:
        one, other = before.told.get(was.case.id), after.told.get(now.case.id)
        sentence = results.between(now.case, one, other) if one and other else ""
        what = CHANGED if sentence else ""
    return Change(now.case.name, what, was.state, now.state, in_words(now.case), sentence) if what else None
