"""Each feature is a folder that can be deleted, and another is added without a line changed in kbench."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest
from documentation_commands import blocks
from fake_bench import PROGRAM, Bench

from kbench.bootstrap import entry

CHECKOUT = Path(__file__).resolve().parents[2]
NAMES = sorted(path.parent.name for path in (CHECKOUT / "kbench" / "features").glob("*/feature.py"))
# What each adds to the command line.
WORDS = {
    "bisect": ["bisect"],
    "cluster": ["--on", "--spread", "--select"],
    "collection": ["admit", "site"],
    "compare": ["compare"],
    "coverage": ["coverage"],
    "explain": ["--explain", "--trace"],
    "exports": ["pack", "unpack", "export"],
    "history": ["history", "releases"],
    "native": [],
    "intact": [],
    "limit": [],
    "parity": ["parity"],
    "published": ["--suite"],
    "runtimes": [],
    "script": ["script", "--with"],
    "shims": ["--shims"],
    "workers": ["--workers", "--scaling"],
}
# And to summary.csv.
COLUMNS = {
    "limit": ["operations_per_sample", "percent_of_limit"],
    "native": ["native", "relative_to_native", "relative_to_native_low"],
    "workers": ["workers", "scaling", "speed_up", "speed_up_low", "efficiency", "communication_seconds"],
}
COMMITTED = "reference-full-mnist_cnn"


def standing_on(name: str) -> set[str]:
    """The features that cannot be without this one, by the table in pyproject.toml."""
    contracts = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (allowed,) = (one["ignore_imports"] for one in contracts if one.get("modules") == ["kbench.features.*"])
    arrows = [[side.strip().split(".")[2] for side in one.split("->")] for one in allowed]
    found = {name}
    while more := {above for above, below in arrows if below in found} - found:
        found |= more
    return found


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the code, with what is compiled of it, beside links to the rest of the checkout."""
    folder = tmp_path_factory.mktemp("copied")
    shutil.copytree(CHECKOUT / "kbench", folder / "kbench")
    for path in CHECKOUT.iterdir():
        if path.name not in ("kbench", ".git") and not (folder / path.name).exists():
            (folder / path.name).symlink_to(path)
    return folder


def without(names: Sequence[str], copied: Path, folder: Path) -> Path:
    """Another copy, without these features."""
    made = folder / "without"
    shutil.copytree(copied, made, symlinks=True)
    for name in names:
        shutil.rmtree(made / "kbench" / "features" / name)
    return made


def said(place: Path, *argv: str, status: int = 0, path: Sequence[Path] = (), cwd: Path | None = None) -> str:
    """What a command of this copy prints."""
    code = "import sys; from kbench.cli import main; sys.argv[0] = 'kbench'; sys.exit(main.main())"
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [place, *path]))}
    done = subprocess.run(
        [sys.executable, "-c", code, *argv], cwd=cwd or place, env=variables, capture_output=True, text=True
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


ONE_AFTER_THE_OTHER = """
import contextlib, io, json, sys
from kbench.cli import main

sys.argv[0] = "kbench"
printed = []
for words in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            status = main.main(words)
        except SystemExit as ended:
            status = ended.code
    printed.append([status, out.getvalue() + err.getvalue()])
print(json.dumps(printed))
"""


def told(place: Path, *commands: Sequence[str]) -> list[str]:
    """What each of these commands of this copy prints, in one process."""
    done = subprocess.run(
        [sys.executable, "-c", ONE_AFTER_THE_OTHER],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(place)},
        input=json.dumps(commands),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert not any(status for status, _ in printed), printed
    return [text for _, text in printed]


def words_of(text: str) -> set[str]:
    return set(text.replace("=", " ").replace(",", " ").split())


def test_every_feature_has_its_words_here() -> None:
    assert sorted(WORDS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_without_its_folder_nothing_speaks_of_it_and_the_rest_works(name: str, copied: Path, tmp_path: Path) -> None:
    gone = standing_on(name)
    place = without(sorted(gone), copied, tmp_path)
    helps = [("run", "--help-all"), *([] if "script" in gone else [("script", "--help-all")]), ("resume", "--help")]
    dry = ("--backends", "jax,torch", "--examples", "mnist_mlp", "--dry-run")
    listed, overview, planned, *shown_by = told(place, ("list", "features"), ("--help",), dry, *helps)
    commands = {line.split()[0] for line in overview.splitlines() if line.startswith("  ")}
    shown = words_of("".join(shown_by))
    for one in NAMES:
        assert (one in words_of(listed)) == (one not in gone)
        for word in WORDS[one]:
            assert (word in (shown if word[0] == "-" else commands)) == (one not in gone)
    assert "Plan: " in planned


def reported(place: Path, cwd: Path, *options: str, path: Sequence[Path] = (), status: int = 0) -> str:
    """What a committed run's report says, in a folder of its own."""
    (cwd / "results").mkdir(exist_ok=True)
    shutil.copy(CHECKOUT / "results" / f"{COMMITTED}.kbench.zip", cwd / "results")
    return said(place, "report", COMMITTED, "--no-plots", *options, path=path, cwd=cwd, status=status)


@pytest.mark.parametrize(
    "name", ["native", *(pytest.param(one, marks=pytest.mark.thorough) for one in COLUMNS if one != "native")]
)
def test_without_its_folder_its_columns_are_gone_and_a_committed_run_is_read(
    name: str, copied: Path, tmp_path: Path
) -> None:
    place = without(sorted(standing_on(name)), copied, tmp_path)
    for there, at in ((True, copied), (False, place)):
        head, *rows = csv.reader(reported(at, tmp_path, "--format", "csv").splitlines())
        assert rows and all((column in head) == there for column in COLUMNS[name])
    refused = reported(place, tmp_path, "--columns", COLUMNS[name][0], status=2)
    assert "there is no column" in refused


def test_planted_a_core_that_speaks_of_a_feature_is_found(copied: Path, tmp_path: Path) -> None:
    """The test above fails if the core has a word of a feature, or needs its code."""
    place = without(["bisect"], copied, tmp_path)
    overview = place / "kbench" / "cli" / "help" / "overview.txt"
    overview.write_text(overview.read_text() + "\nSee bisect, too.\n")
    assert "bisect" in words_of(said(place, "--help"))
    (place / "kbench" / "commands" / "setup.py").write_text("from kbench.features.bisect import command\n")
    assert "ModuleNotFoundError" in said(place, "setup", "--backends", "jax", status=1)


def test_without_its_feature_a_row_that_needs_it_says_so(copied: Path, tmp_path: Path) -> None:
    place = without(["native", "runtimes"], copied, tmp_path)
    planned = said(
        *(place, "--examples", "mnist_mlp", "--dry-run", "--task", "infer", "--backends", "native/torch,export/onnx")
    )
    for kind in ("native", "export"):
        assert f"this kbench has no feature that measures {kind} backends" in " ".join(planned.split())


@pytest.mark.slow("it measures with a copy of the code, and lists committed runs")
def test_the_core_alone_measures_and_says_what_it_cannot_read(bench: Bench, copied: Path, tmp_path: Path) -> None:
    place = without(NAMES, copied, tmp_path)
    chosen = ("--backends", "fake", "--examples", "my_example.py", "--profile", "smoke", "--device", "cpu")
    measured = said(place, *chosen, "--name", "mine", "--no-plots", cwd=bench.folder)
    assert "my_example" in measured
    assert "limits" not in (bench.results / "mine" / "run.json").read_text()
    assert "my_example" in said(place, "report", "mine", "--no-plots", cwd=bench.folder)
    (events,) = bench.results.glob("mine/cells/*__r1/events.jsonl")
    of_feature = '{"event": "inside", "site": "", "parts": [], "missing": ["a feature of its time"]}\n'
    events.write_text(events.read_text().replace('{"event": "end"', f'{of_feature}{{"event": "end"'))
    shown = said(place, "report", "mine", "--no-plots", cwd=bench.folder)
    assert "my_example" in shown and "a feature of its time" not in shown and of_feature in events.read_text()
    for name in ("reference-coverage-keras3", COMMITTED):
        shutil.copy(CHECKOUT / "results" / f"{name}.kbench.zip", bench.results)
    listed = said(place, "list", "runs", "--format", "csv", cwd=bench.folder)
    assert "coverage: of a feature that is not here" in listed
    refused = said(place, "report", "reference-coverage-keras3", status=2, cwd=bench.folder)
    assert "is a coverage run, and this kbench does not have that feature." in refused
    assert "mnist_cnn" in said(place, "report", COMMITTED, "--no-plots", cwd=bench.folder)


@pytest.mark.thorough
@pytest.mark.slow("it runs the core's fast tests without any feature")
@pytest.mark.timeout(1800)
def test_the_cores_fast_tests_pass_without_any_feature(tmp_path: Path) -> None:
    place = tmp_path / "alone"
    shutil.copytree(CHECKOUT, place, ignore=shutil.ignore_patterns("__pycache__", ".git"))
    for name in NAMES:
        shutil.rmtree(place / "kbench" / "features" / name)
    for command in (["init", "-q"], ["add", "-A"]):  # tests ask git which files are the project's
        subprocess.run(["git", *command], cwd=place, check=True)
    apart = [f"--ignore=tests/{one}" for one in ("features", "real", "browser")]
    apart += ["-m", "fast", "-n", "2", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run([sys.executable, "-m", "pytest", *apart], cwd=place, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-8000:]


def test_a_run_of_a_program_is_told_without_the_feature_but_not_continued(
    bench: Bench, copied: Path, tmp_path: Path
) -> None:
    Path(bench.folder, "train.py").write_text(PROGRAM)
    options = ("--backends", "fake", "--device", "cpu", "--no-plots", "--repeats", "1", "--name", "mine")
    measured = bench("script", "train.py", *options)
    assert measured.status == 0 and "fit, line 12" in measured.out
    place = without(sorted(standing_on("script")), copied, tmp_path)
    told = said(place, "report", "mine", "--no-plots", cwd=bench.folder)
    assert "train.py: this kbench does not have the feature that tells of it." in told and "fit, line 12" not in told
    lacking = "This kbench does not have the feature that runs programs."
    assert lacking in said(place, "resume", "mine", status=2, cwd=bench.folder)
    assert "kbench script" not in said(place, "train.py", status=2, cwd=bench.folder)


def linted(place: Path) -> subprocess.CompletedProcess[str]:
    command = entry.checks(Path(sys.executable), ["--lint"])["import-linter"]
    return subprocess.run(command, cwd=place, capture_output=True, text=True)


def test_the_linter_knows_who_may_stand_on_whom(copied: Path, tmp_path: Path) -> None:
    """It passes without a feature, and names a core that imports one, and a feature that imports another."""
    place = without(["bisect"], copied, tmp_path)
    kept = linted(place)
    assert kept.returncode == 0, kept.stdout
    for importer, line in {
        "session/racing": "def late(): from kbench.features.coverage import values",
        "features/compare/values": "from kbench.features.coverage import values",
    }.items():
        file = place / "kbench" / f"{importer}.py"
        file.write_text(f"{file.read_text()}\n{line}\n")
    broken = linted(place)
    assert broken.returncode == 1
    assert "kbench.session.racing -> kbench.features.coverage.values" in broken.stdout
    assert "kbench.features.compare.values -> kbench.features.coverage.values" in broken.stdout


FOREIGN = '''"""Counts the letters of a word."""

from pathlib import Path

from kbench import hooks
from kbench.additions import Column, Command, FurtherOptions, RunKind
from kbench.summary import Figure


@hooks.fills
def commands():
    options = ("word", "--twice")
    declared = {"word": {"help": "a word"}, "--twice": {"action": "store_true", "help": "count them twice"}}
    file = Path(__file__).with_suffix(".txt")
    return {"letters": Command("Count letters.", "count letters", __name__, file, options, declared)}


@hooks.fills
def further_options():
    return {"list": FurtherOptions("letters", ("--letters",), {"--letters": {"action": "store_true"}})}


@hooks.fills
def instead(options):
    if options.command == "list" and options.letters:
        print("abc")
        return 0


@hooks.fills
def columns():
    def letters(row):
        return len(row.repeats[0].cell.backend)

    shown = Figure(title="of the name", shown="speed")
    return (Column("letters", "backend", letters, shown, whole=True, remark=lambda rows: "of the name: letters."),)


@hooks.fills
def run_kinds():
    return (Letters(),)


class Letters(RunKind):
    name = "letters"

    def counted(self, read):
        return "three"


def main(options):
    print(len(options.word) * (1 + options.twice))
    return 0
'''


def test_the_feature_in_contributing_works_as_it_is_written(copied: Path, tmp_path: Path) -> None:
    feature, command = blocks(CHECKOUT / "CONTRIBUTING.md", "python")
    (text,) = (one for one in blocks(CHECKOUT / "CONTRIBUTING.md", "text") if one.startswith("examples:"))
    place = without([], copied, tmp_path)
    folder = place / "kbench" / "features" / "hello"
    folder.mkdir()
    for name, content in (("__init__", ""), ("feature", feature), ("command", command)):
        (folder / f"{name}.py").write_text(content)
    (folder / "hello.txt").write_text(text)
    assert said(place, "hello") == "Hello! Your runs are in results.\n"
    assert "greet" in said(place, "--help") and "Greets." in said(place, "list", "features")
    for changes in (('{"hello"', '{"report"'), ("--results", "--reslts"), ("def commands", "def comands")):
        (folder / "feature.py").write_text(feature.replace(*changes))
        refused = said(place, "hello", status=2)
        assert refused.startswith("kbench: error: ") and refused.count("\n") == 1
    (folder / "feature.py").unlink()
    assert "A feature cannot be loaded" in said(place, "--help", status=2)


def test_a_feature_from_outside_is_an_entry_point(copied: Path, tmp_path: Path) -> None:
    about = tmp_path / "letters-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: letters\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[kbench.features]\nletters = letters\n")
    (tmp_path / "letters.py").write_text(FOREIGN)
    (tmp_path / "letters.txt").write_text("examples:\n  %(prog)s word\n")
    path = [tmp_path]
    assert "count letters" in said(copied, "--help", path=path)
    assert said(copied, "letters", "four", "--twice", path=path) == "8\n"
    assert "Counts the letters of a word." in said(copied, "list", "features", path=path)
    assert said(copied, "list", "--letters", path=path) == "abc\n"
    head, first, *_ = csv.reader(reported(copied, tmp_path, "--format", "csv", path=path).splitlines())
    assert head[1:3] == ["backend", "letters"] and int(first[2]) == len(first[1])
    table = reported(copied, tmp_path, "--columns", "backend,of the name", path=path)
    assert "of the name: letters." in table
    for wrong in ("import no_such_package\n", FOREIGN.replace("def run_kinds", "def run_knds")):
        (tmp_path / "letters.py").write_text(wrong)
        assert "cannot be loaded" in said(copied, "--help", path=path, status=2)
