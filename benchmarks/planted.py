"""How many faults `coverage` finds that were planted in Keras: by hand, and drawn at random.

    python benchmarks/planted.py FOLDER [--mutants N] [--seed N] [--only WORDS] [--names PATTERNS] [--control]

A mutant is a copy of the Keras of the PyTorch backend with one small change (planted_mutants.py). The public names
nearest to what was changed are tried on it, as `coverage` tries them; a mutant is found if one of them broke, is gone
or has changed, compared with the same Keras without the change, of which all is tried once. First each name is tried
as by --quick, and where that finds nothing with all cases and checks. Printed is a line for each mutant, and at the
end a table by the kind of change. FOLDER keeps what was found, and a call again goes on.

A mutant by itself: the copy in FOLDER/planted has them all, and a variable says which is planted.

    python run.py coverage --backends torch,torch+keras=FOLDER/planted+PLANTED=7 --only layers.GRU

A hundred mutants take about twenty minutes on two busy cores. planted.toml lists those by hand, functions in which
none is drawn, and mutants that were read and left out: they change nothing, or no public name reaches their code.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import random
import shutil
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import msgspec

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from planted_cell import STRIDE
from planted_mutants import BY_HAND, Mentions, Mutant, by_hand, draw

from kbench import store
from kbench.cells.spec import RunPaths
from kbench.cli import arguments
from kbench.cli import main as command
from kbench.environments import ensure
from kbench.features.coverage import cases, cover, events, results
from kbench.features.coverage import command as coverage
from kbench.features.coverage.values import BROKE, CHANGED, GONE, KIND, ProbeCase
from kbench.features.coverage.versions import Side, compared
from kbench.machine import devices
from kbench.planning.plan import Plan
from kbench.planning.tasks import CellTask
from kbench.records.values import Measured
from kbench.selection import builds
from kbench.selection.known import known_backends
from kbench.session import measure, record
from kbench.session.events import ignore

BACKEND = "keras3/torch"  # it trains, and compiles nothing that would outlast a mutant
NAMES = 6  # tried of a mutant, at most
TOGETHER = 10  # mutants of a process
SECONDS = 60.0  # of a case: then it hangs
PLANTED = "planted.csv"
QUICK, ALL, MISSED = "quick", "all", ""
FOUND = (BROKE, GONE, CHANGED)


@dataclass(frozen=True)
class Verdict:
    """A line of planted.csv."""

    number: int
    mutant: str
    area: str
    kind: str
    found: str  # QUICK: by each name's few cases; ALL; or MISSED
    name: str = ""  # by which
    how: str = ""
    was: str = ""
    now: str = ""
    names: str = ""  # that were tried


@dataclass(frozen=True)
class Clean:
    """What public names do without a mutant."""

    run: store.RunResults
    listed: Measured  # the process that listed the names
    cases: Sequence[ProbeCase]
    quick: frozenset[str]  # those of `cases` that --quick tries, as texts


def made_clean(folder: Path, names: str) -> Clean:
    """The run of these names in the folder, which is made where it is not there, or not complete."""
    run = ["resume", str(folder / "clean")]
    if not (folder / "clean").is_dir():
        where = ("--device", "cpu", "--results", str(folder), "--name", "clean")
        run = ["coverage", "--backends", BACKEND, *(("--only", names) if names else ()), *where]
    with contextlib.redirect_stdout(io.StringIO()):
        status = command.main(run)
    if status != 0:
        sys.exit(f"{folder / 'clean'} could not be made.")
    read = store.read(folder / "clean")
    plan = results.plan_of(read)
    if plan.only != names:
        sys.exit(f"{folder} has other names: {plan.only or 'all'}. Choose another folder.")
    (generation,) = plan.cases
    listed = next(one for one in read.measured if one.cell.backend == BACKEND and events.public(one.facts))
    quick = cases.make(events.public(listed.facts), names, True, int(read.request["seed"]))
    return Clean(read, listed, plan.cases[generation], frozenset(map(_text, quick)))


def _text(case: ProbeCase) -> str:
    """A case but for its number, and whether its outputs alone are looked at."""
    return json.dumps(asdict(replace(case, id=0, outputs_only=False)))


def planted_copy(folder: Path, number: int, seed: int) -> list[Mutant]:
    """Mutants, and in the folder the copy of Keras that has them."""
    backend = known_backends()[BACKEND]
    environment = ensure.ensure(backend, builds.pick_build(backend, devices.CPU))
    (keras,) = environment.python.parent.parent.glob("lib/python*/site-packages/keras")
    mutants = [*by_hand(keras), *draw(keras, number, seed)]
    copy = folder / "planted"
    if not copy.is_dir():
        shutil.copytree(keras, copy / "keras", ignore=shutil.ignore_patterns("__pycache__", "*_test.py"))
        with (copy / "keras" / "__init__.py").open("a", encoding="utf-8") as file:
            file.write("\nimport planted_cell\n\nplanted_cell.start()\n")
    shutil.copy(CHECKOUT / "benchmarks" / "planted_cell.py", copy)
    (copy / "mutants.json").write_text(json.dumps([asdict(one) for one in mutants], indent=1))
    return mutants


class Trial:
    """The cases of some mutants, tried beside each other in a process, or in several where a case ends it."""

    def __init__(self, folder: Path, clean: Clean, cases_of: Mapping[int, Sequence[ProbeCase]], checks: bool) -> None:
        self._listed, self._cases_of = clean.listed, cases_of
        options = arguments.parse(
            ["coverage", "--backends", f"{BACKEND}+keras={folder / 'planted'}", "--device", "cpu"]
        )
        plan = cover.planned(coverage.request(vars(options)))
        (task, *_) = plan.tasks
        self.backend = task.backend
        shutil.rmtree(folder / "trial", ignore_errors=True)
        plan, paths = measure.new_run(
            replace(plan, tasks=(task,)), folder, (), ignore, name="trial", command="", gpus=(), kind=KIND
        )
        self._told: list[Measured] = []
        self._try(plan, paths, task, checks)

    def _try(self, plan: Plan, paths: RunPaths, task: CellTask, checks: bool) -> None:
        left = {
            number * STRIDE + case.id: replace(case, id=number * STRIDE + case.id)
            for number, of in self._cases_of.items()
            for case in of
        }
        process = 1
        while left:
            process += 1
            part = {**(task.part or {}), "cases": [asdict(one) for one in left.values()], "checks": checks}
            own = replace(task, repeat=process, part=part | {"seconds": SECONDS})
            plan = replace(plan, tasks=(own,))
            store.update(paths.run, **record.of_plan(plan, paths, kind=KIND))
            measure.run_cells(plan, paths, ignore)
            (told,) = store.read(paths.run).measured
            self._told.append(told)
            ended, tried = results.ended_by(told), {*events.cases(told.facts)}
            if ended is not None:  # the mutant is found, and may do so in its other cases
                tried |= {number for number in left if number // STRIDE == ended // STRIDE}
            if not tried:
                sys.exit(f"Nothing was tried: {told.outcome.reason}; see {paths.run}.")
            left = {number: one for number, one in left.items() if number not in tried}

    def measured(self, number: int) -> list[Measured]:
        """The processes as if they had tried this mutant alone."""
        found = [replace(self._listed, cell=self._listed.cell.at(backend=self.backend))]
        for one in self._told:
            begun = events.begun(one.facts)[0]
            own = {case % STRIDE: of for case, of in events.cases(one.facts).items() if case // STRIDE == number}
            last = {}
            if begun is not None and begun // STRIDE == number:
                was: events.Begun = one.facts.of["begun"][""]
                last = {"": msgspec.structs.replace(was, case=was.case % STRIDE)}
            facts = msgspec.structs.replace(one.facts, of={"public": {}, "case": own, "begun": last})
            outcome = one.outcome if last else found[0].outcome
            found.append(replace(one, facts=facts, outcome=outcome))
        return found


def verdict(clean: Clean, trial: Trial, number: int, own: Sequence[ProbeCase], quick: bool) -> tuple[str, str]:
    """The first name by which a mutant is found, and how; empty if it is not."""
    numbers = {one.id for one in own}

    def of_own(one: Measured) -> Measured:
        """What it told of these cases, of their outputs alone where these are."""
        told = {case: of for case, of in events.cases(one.facts).items() if case in numbers}
        if quick:
            told = {
                case: msgspec.structs.replace(of, gradients=None, untrained=None, slopes=None, checks=None)
                for case, of in told.items()
            }
        return replace(one, facts=msgspec.structs.replace(one.facts, of={**one.facts.of, "case": told}))

    ((generation, _),) = results.plan_of(clean.run).cases.items()
    shown = [BACKEND, trial.backend]
    plan = {**clean.run.plan, "cases": {generation: [asdict(one) for one in own]}, "untried": {}, "shown": shown}
    measured = tuple(map(of_own, [*clean.run.measured, *trial.measured(number)]))
    run = replace(clean.run, plan=plan, measured=measured)
    told, rows = results.cases_of(measured), results.names(run)
    before, after = (
        Side(
            backend=name,
            title=name,
            names={row.name: row for row in rows if row.backend == name},
            told=told[name],
            kbench=frozenset({"this"}),
            only="",
            beside=frozenset(shown),
        )
        for name in shown
    )
    for change in compared(before, after).changes:
        if change.what in FOUND:
            return change.name, f"{change.what}: {change.case}: {change.sentence}"
    return "", ""


def control(folder: Path, clean: Clean) -> str:
    """What differs where nothing is planted, which should be nothing."""
    found = dict[str, str]()
    for quick in (True, False):
        own = [replace(one, outputs_only=quick or one.outputs_only) for one in clean.cases]
        name, how = verdict(clean, Trial(folder, clean, {0: own}, not quick), 0, own, quick)
        found |= {name: how} if name else {}
    return "\n".join(f"{name} differs with nothing planted: {how}" for name, how in found.items())


def tried(
    folder: Path, clean: Clean, some: Mapping[int, Mutant], names_of: Mapping[int, Sequence[str]]
) -> list[Verdict]:
    """The verdicts on some mutants."""
    found: dict[int, Verdict] = {}
    for stage in (QUICK, ALL):
        of_names = defaultdict(list)
        for case in clean.cases:
            if stage == ALL or _text(case) in clean.quick:
                of_names[case.name].append(case)
        cases_of = {
            number: [
                replace(case, outputs_only=stage == QUICK or case.outputs_only)
                for name in names_of[number]
                for case in of_names[name]
            ]
            for number in some
            if number not in found
        }
        trial = Trial(folder, clean, cases_of, stage == ALL)
        for number, own in cases_of.items():
            name, how = verdict(clean, trial, number, own, stage == QUICK)
            one = some[number]
            if name or stage == ALL:
                found[number] = Verdict(
                    number, one.id, one.area, one.kind, stage if name else MISSED, name, how, one.was, one.now,
                    " ".join(names_of[number]),
                )  # fmt: skip
    return [found[number] for number in some]


def known(folder: Path) -> dict[str, Verdict]:
    """The verdicts in the folder, by mutant."""
    if not (folder / PLANTED).is_file():
        return {}
    with (folder / PLANTED).open(newline="", encoding="utf-8") as file:
        return {one["mutant"]: msgspec.convert(one, Verdict, strict=False) for one in csv.DictReader(file)}


def keep(folder: Path, verdicts: Sequence[Verdict]) -> None:
    """Add them to those in the folder."""
    is_new = not (folder / PLANTED).is_file()
    with (folder / PLANTED).open("a", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, asdict(verdicts[0]))
        if is_new:
            table.writeheader()
        table.writerows(map(asdict, verdicts))


def table(verdicts: Sequence[Verdict]) -> str:
    """How many were found, by kind and by area."""
    lines = [f"{'':20}{'mutants':>8}{'quick':>8}{'all':>8}"]

    def line(title: str, of: Sequence[Verdict]) -> str:
        count = Counter(one.found for one in of)
        return f"{title:20}{len(of):8}{count[QUICK]:8}{count[QUICK] + count[ALL]:8}"

    drawn = [one for one in verdicts if one.kind != BY_HAND]
    for of in ("kind", "area"):
        groups = sorted({getattr(one, of) for one in drawn})
        lines += [line(group, [one for one in drawn if getattr(one, of) == group]) for group in groups]
        lines.append("")
    return "\n".join([*lines, line("drawn", drawn), line(BY_HAND, [one for one in verdicts if one.kind == BY_HAND])])


def main() -> None:
    """Plant, try, and print a line for each mutant and a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="for the copy of Keras, and for what was found")
    parser.add_argument("--mutants", type=int, default=100, help="how many are drawn, besides those by hand (100)")
    parser.add_argument("--only", default="", help="mutants whose name has these words")
    parser.add_argument(
        "--names", default="", help="plant where these public names are served, as --only of coverage"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--control", action="store_true", help="plant nothing, and say what differs all the same")
    asked = parser.parse_args()
    folder = asked.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    clean = made_clean(folder, asked.names)
    mutants = dict(enumerate(planted_copy(folder, asked.mutants, asked.seed), 1))
    chosen = {number: one for number, one in mutants.items() if asked.only in one.id}
    if asked.control:
        print(control(folder, clean) or "Nothing differs where nothing is planted.")
        return
    mentions = Mentions(folder / "planted" / "keras", {one.name for one in clean.cases})
    names_of = {
        number: mentions.of(one.owner, NAMES, partial(_order, one.owner, asked.seed))
        for number, one in chosen.items()
    }
    there = known(folder)
    left = [number for number, one in chosen.items() if one.id not in there]
    for start in range(0, len(left), TOGETHER):
        some = {number: mutants[number] for number in left[start : start + TOGETHER]}
        made = tried(folder, clean, some, names_of)
        keep(folder, made)
        there |= {one.mutant: one for one in made}
        for one in made:
            print(f"{one.found or 'missed':7} {one.mutant}: {one.how}", flush=True)
    print(table([there[one.id] for one in chosen.values()]))


def _order(owner: str, seed: int, name: str) -> tuple[bool, float]:
    """What is called as the changed function first, then by chance."""
    own = name.rpartition(".")[2].replace("_", "").lower() == owner.replace("_", "").lower()
    return not own, random.Random(f"{seed} {owner} {name}").random()


if __name__ == "__main__":
    main()
