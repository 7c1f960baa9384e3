"""`admit`: whether a packed run may be in a collection, with reasons."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kbench import store
from kbench.errors import UserError
from kbench.features.collection import collection, others, rules, submitted, texts, times, work
from kbench.features.collection.collection import Collection, Terms
from kbench.features.collection.replay import replay
from kbench.features.collection.submitted import NotChecked, Submitted
from kbench.screen import terminal
from kbench.store.files import os_errors_as_user_errors, read_bytes, replace_json
from kbench.store.packed import SUFFIX, packed_file
from kbench.version import __version__
from kbench.words.text import plain

MOST = 3  # reasons of a check that are printed


@dataclass(frozen=True)
class Checked:
    """What came of a check: reasons to refuse the run, or why it was not made."""

    name: str
    passes: str  # what is so if it passes
    refused: tuple[str, ...] = ()
    not_made: str = ""


@dataclass(frozen=True)
class Answer:
    """Whether a run is admitted, and why."""

    name: str
    machine: str
    sha256: str
    checks: tuple[Checked, ...]
    left_out: tuple[str, ...] = ()  # rows that do not count

    @property
    def refused(self) -> list[Checked]:
        """The checks that it did not pass."""
        return [one for one in self.checks if one.refused]

    @property
    def lines(self) -> list[str]:
        """The answer in words, the answer itself first."""
        failed, made = self.refused, [one for one in self.checks if not one.not_made]
        passed = [one for one in made if not one.refused]
        on = f" ({self.machine})" if self.machine else ""
        if failed:
            lines = [f"Refused: {self.name}{on}. It does not pass {len(failed)} of {len(made)} checks."]
        else:
            lines = [f"Admitted: {self.name}{on}. It passes {len(passed)} checks."]
        for one in failed:
            lines.append(f"  {one.name}: not so that {one.passes}")
            lines += [f"    {plain(reason)}" for reason in one.refused[:MOST]]
            lines += [f"    and {len(one.refused) - MOST} more"] if len(one.refused) > MOST else []
        lines += [f"Passed: {', '.join(one.name for one in passed)}"] if passed else []
        lines += [f"Not checked: {one.name} ({one.not_made})" for one in self.checks if one.not_made]
        return lines + [f"Does not count: {one}" for one in self.left_out]


def main(options: argparse.Namespace) -> int:
    """Print the answer; copy the run into the collection if it is admitted. Raises UserError."""
    if options.replay < 0:
        raise UserError(f"--replay takes a number of cells, and {options.replay} is below 0.")
    to = collection.read(options.to)
    pack = _pack(options.pack, options.results)
    answer = admit(pack, to, options.replay)
    for line in answer.lines:
        print(line)
    if answer.refused:
        return 1
    if not options.check:
        _keep(pack, to, answer)
        print(f"In the collection: {to.place_of(pack)}")
    return 0


def _pack(named: str, results: Path) -> Path:
    """The packed run's file. Raises UserError."""
    files = [Path(named), Path(f"{named}{SUFFIX}"), results / f"{named}{SUFFIX}"]
    for file in files:
        if file.is_file() and file.name.endswith(SUFFIX):
            return file
    run = store.find(named, results)
    if packed_file(run).is_file():
        return packed_file(run)
    raise UserError(f"{run} is not packed: `pack {named}` packs it.")


def admit(pack: Path, to: Collection, replayed: int = 0) -> Answer:
    """The answer. Raises UserError if the collection's own runs cannot be read."""
    name = pack.name.removesuffix(SUFFIX)
    with contextlib.ExitStack() as stack:
        try:
            run = stack.enter_context(submitted.opened(pack))
        except Exception as error:  # of a file that is made to be anything
            reason = str(error) if isinstance(error, UserError) else f"it cannot be read ({type(error).__name__})"
            return Answer(name, "", "", (Checked("archive", _ARCHIVE, (reason.partition(": get it again")[0],)),))
        beside = [stack.enter_context(submitted.opened(one)) for one in to.packs if one.name != pack.name]
        return admitted(run, to, beside, max(replayed, to.terms.asked.replay))


def admitted(run: Submitted, to: Collection, beside: Sequence[Submitted], replayed: int = 0) -> Answer:
    """The answer to a run; beside: the others of the collection."""
    checks = tuple(_checked(run, to, beside, replayed))
    left = () if run.tries_names or any(one.refused for one in checks) else tuple(rules.left_out(run, to.terms.asked))
    return Answer(run.name, run.machine, run.sha256, checks, left)


_OF_NAMES = ("version", "names", "packages", "machine", "personal data", "secrets")  # what does not time
_ARCHIVE = "it is a packed run of this schema, with nothing else in it"


def _checked(run: Submitted, to: Collection, beside: Sequence[Submitted], replayed: int) -> Iterator[Checked]:
    """All checks. Those that need whole cells are not made of a run that has none."""
    yield Checked("archive", _ARCHIVE)
    terms = to.terms
    every: list[tuple[str, str, Callable[[], Iterable[str]]]] = [
        ("version", "kbench is of a version that the collection takes", partial(_version, run, terms)),
        ("names", "names are plain, and new in the collection", partial(_names, run, to)),
        ("cells", "cells are whole, and were given what run.json says", partial(work.plan, run)),
        ("examples", "examples are those asked for, of the files of that version", partial(work.files, run, to)),
        ("packages", "processes found the packages that run.json names", partial(work.versions, run)),
        ("epochs", "step times add up to epochs, and no epoch is missing", partial(times.epochs, run)),
        ("processes", "epochs add up to their process, by its clock and the host's", partial(times.processes, run)),
        ("clock", "begin and end leave room for all turns, one process at a time", partial(times.clock, run)),
        ("turns", "turns of a process follow each other, and each step is in one", partial(times.turns, run)),
        ("copies", "no process is the copy of another", partial(_copies, run, beside)),
        ("seeds", "work and losses are those of the seed, in all repeats", partial(work.seeds, run)),
        ("summary", "the raw events give the summary beside it", partial(others.summary, run)),
        ("machine", "the machine is described", partial(texts.machine, run)),
        ("personal data", "no file names a person or a host", partial(texts.personal, run)),
        ("secrets", "no file has a token or a password", partial(texts.secrets, run)),
        ("rows", "enough rows are as the collection asks", partial(rules.rows, run, terms)),
        ("other runs", "other runs did the same work, with the same losses", partial(others.alike, run, beside)),
        ("other machines", "others of the kind are about as fast", partial(others.times, run, beside, terms.asked)),
    ]
    if run.tries_names:
        every = [one for one in every if one[0] in _OF_NAMES]
        every.append(("cases", "every case was tried", partial(others.cases, run)))
        every.append(("states", "others found the same of the same versions", partial(others.states, run, beside)))
    failed = False
    for name, passes, check in every:
        one = _made(name, passes, check)
        failed = failed or bool(one.refused)
        yield one
    if run.tries_names:
        return
    what = "an epoch that is computed again here comes to the same"
    if failed or not replayed:
        yield Checked("replay", what, not_made="it is refused without it" if failed else "`--replay 1` does it")
    else:
        one = _made("replay", what, partial(replay, run, replayed, to.examples, terminal.print_note))
        is_asked = one.not_made and terms.asked.replay
        yield Checked("replay", what, (f"the collection asks for it: {one.not_made}",)) if is_asked else one


def _made(name: str, passes: str, check: Callable[[], Iterable[str]]) -> Checked:
    reasons, not_made = list[str](), ""
    try:
        reasons.extend(check())
    except NotChecked as error:
        not_made = "" if reasons else str(error).rstrip(".")
    except UserError as error:
        reasons.append(str(error).rstrip("."))
    except Exception as error:  # of files that are made to be anything
        reasons.append(f"its files are not of the form that they have ({type(error).__name__})")
    return Checked(name, passes, tuple(dict.fromkeys(reasons)), not_made)


def _version(run: Submitted, terms: Terms) -> Iterator[str]:
    if run.tries_names and not terms.public_names:
        yield "it tries public names, and collection.toml does not say public_names = true"
    about = run.run.provenance.get("kbench")
    version = about.get("version") if isinstance(about, dict) else None
    if version not in terms.kbench:
        yield f"it was measured by kbench {version}, and the collection takes {', '.join(terms.kbench)}"
    if isinstance(about, dict) and about.get("dirty"):
        yield "it was measured by a kbench with changed files"


def _names(run: Submitted, to: Collection) -> Iterator[str]:
    yield from texts.names(run)
    place = to.place_of(run.pack)
    if place.is_file() and hashlib.sha256(read_bytes(place)).hexdigest() != run.sha256:
        yield "the collection has another run of this name: give the file another one"


def _copies(run: Submitted, beside: Sequence[Submitted]) -> Iterator[str]:
    yield from times.copies(run)
    yield from others.copied(run, beside)


def _keep(pack: Path, to: Collection, answer: Answer) -> None:
    """Copy the run into the collection, with what it passed. Raises UserError."""
    place = to.place_of(pack)
    with os_errors_as_user_errors("copy the run to", place):
        place.parent.mkdir(exist_ok=True)
        if not place.exists() or not place.samefile(pack):
            shutil.copyfile(pack, place)
    passed = {one.name: "passed" if not one.not_made else f"not checked: {one.not_made}" for one in answer.checks}
    replace_json(to.record_of(pack), {"sha256": answer.sha256, "kbench": __version__, "checks": passed})
