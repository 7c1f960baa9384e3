"""The committed reference runs: complete, readable, learning, and what the README shows of them is what they hold."""

from __future__ import annotations

import csv
import itertools
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from kbench import store
from kbench.analysis.rows import summarised
from kbench.analysis.sameness import first_steps
from kbench.base import paths
from kbench.outputs import one_run
from kbench.outputs.told import ToldRun
from kbench.records.values import OK, UNSUPPORTED
from kbench.selection import backends, examples
from kbench.summary import Summary
from kbench.tables import at_a_glance, text

CHECKOUT = Path(__file__).resolve().parents[2]
REFERENCE = CHECKOUT / "results" / "reference"
WITHOUT_KERAS = CHECKOUT / "results" / "reference-native"
# These pass through numpy's logarithm and exponential, whose last bit differs from processor to processor.
DRAWN = re.compile("^relative_to_|_low$|_high$|^between_process_factor$")


@pytest.fixture(scope="module")
def rows() -> list[Summary]:
    return list(summarised(store.read(REFERENCE)))


@pytest.fixture(scope="module")
def without_keras() -> list[Summary]:
    return list(summarised(store.read(WITHOUT_KERAS)))


def test_it_has_each_of_its_backends_on_each_of_its_examples_on_real_data(rows: list[Summary]) -> None:
    known = backends.load_all(paths.project_folder("backends"))
    own = examples.load_all(paths.project_folder("examples_models"))
    for example in [own[name] for name in dict.fromkeys(row.example for row in rows)]:
        of_example = {row.backend: row for row in rows if row.example == example.name}
        assert set(of_example) == {row.backend for row in rows}
        for name, row in of_example.items():
            assert row.status == (OK if example.task in known[name].can else UNSUPPORTED), row.reason
            assert row.profile == "quick"
            if row.status == OK and example.task == "train":
                assert row.data_source == "real"


def test_its_models_learn_what_the_data_teach(rows: list[Summary]) -> None:
    reached = {(row.example, row.backend): row.final_val_accuracy for row in rows if row.status == OK}
    for (example, backend), accuracy in reached.items():
        if example == "mnist_cnn":  # 5,000 pictures, 3 epochs
            assert accuracy is not None and accuracy >= 0.93, backend
        if example == "imdb_gru":
            assert accuracy is not None and accuracy > 0.75, backend


@pytest.mark.parametrize("run", ["rows", "without_keras"])
def test_its_rows_were_measured_alike(run: str, request: pytest.FixtureRequest) -> None:
    told: dict[str, set[str]] = {}
    for row in request.getfixturevalue(run):
        assert row.differs == (), row.backend
        if row.status == OK:
            told.setdefault(row.example, set()).add(row.fingerprint)
    assert all(len(fingerprints) == 1 and "" not in fingerprints for fingerprints in told.values())


def test_what_its_first_steps_do_otherwise_is_declared() -> None:
    """In the backends' files; where they were taken at ties, as the run itself had it declared."""
    known = backends.load_all(paths.project_folder("backends"))
    trained = [one for one in store.read(REFERENCE).measured if one.facts.first_step]
    assert len(trained) >= 6 * 8
    of_today = [
        one
        if one.facts.first_step is None or one.facts.first_step.repeats is None
        else replace(one, facts=structs.replace(one.facts, explained=known[one.cell.backend].explained))
        for one in trained
    ]
    for one, other in itertools.combinations(of_today, 2):
        if (one.cell.example, one.cell.repeat) == (other.cell.example, other.cell.repeat):
            assert first_steps.compare(one, other)[0] is None, (one.cell.id, other.cell.id)


def test_each_keras_row_has_one_without_keras_and_what_keras_costs(without_keras: list[Summary]) -> None:
    there = {(row.example, row.backend) for row in without_keras if row.status == OK}
    keras = [row for row in without_keras if row.backend.startswith("keras")]
    assert {row.example for row in keras} == {"mnist_mlp", "mnist_cnn", "cifar10_cnn"}
    for row in keras:
        assert (row.example, row.value("native")) in there or row.value("native") == ""
        assert (row.value("relative_to_native") is not None) == (row.value("native") != ""), row
    assert sum(row.value("native") != "" for row in keras) >= 3 * 3


@pytest.mark.parametrize("reference", [REFERENCE, WITHOUT_KERAS], ids=lambda path: path.name)
def test_its_tables_follow_from_its_raw_measurements(reference: Path, tmp_path: Path) -> None:
    copy = tmp_path / reference.name
    shutil.copy(store.packed_file(reference), tmp_path)
    shutil.copytree(reference / "plots", copy / "plots")
    one_run.rebuild(ToldRun(store.read(copy)), plots=False)  # the page links those that are there
    assert (copy / "summary.md").read_bytes() == (reference / "summary.md").read_bytes()
    header, *lines = csv.reader((reference / "summary.csv").open(newline=""))
    rebuilt, *others = csv.reader((copy / "summary.csv").open(newline=""))
    assert rebuilt[: len(header)] == header, "new columns are appended"
    for line, other in zip(lines, others, strict=True):
        for name, value, same in zip(header, line, other, strict=False):
            assert value == same or (DRAWN.search(name) and float(same) == pytest.approx(float(value), rel=1e-9)), (
                name
            )


def test_what_a_clone_has_of_them_is_small_and_complete() -> None:
    listed = subprocess.run(["git", "ls-files", "-z", "results"], cwd=CHECKOUT, capture_output=True, text=True)
    files = [CHECKOUT / name for name in listed.stdout.split("\0") if name]
    packed = [file for file in files if file.name.endswith(".kbench.zip")]
    of_coverage = [file for file in packed if "-coverage-" in file.name]  # their page is made when it is asked for
    of_releases = [file for file in packed if file.parent.name == "releases"]  # `history` reads them together
    assert len(files) <= 50 and sum(file.stat().st_size for file in {*files} - {*of_coverage}) <= 3_000_000
    assert sum(file.stat().st_size for file in of_coverage) <= 6_500_000  # what 50,000 cases gave
    assert sum(file.stat().st_size for file in of_releases) <= 1_000_000
    pages = [file for file in files if file.name == "summary.md"]
    packed = [file for file in packed if file not in (*of_coverage, *of_releases)]
    assert {store.packed_file(page.parent) for page in pages} == {*packed}
    for page in pages:
        links = re.findall(r"\]\((plots/[^)]+)\)", page.read_text("utf-8"))
        assert links and {page.parent / link for link in links} <= {*files}


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_its_tables_fit_a_terminal_without_a_broken_word(
    rows: list[Summary], without_keras: list[Summary], columns: int
) -> None:
    for found in (rows, without_keras):
        lines = text.text(found, columns).splitlines()
        assert max(map(len, lines)) <= columns
        heads = [line.split() for line in lines if line.startswith("backend")]
        assert all("status" in words for words in heads)


def test_the_readme_shows_the_answer_and_the_times_of_its_screen(rows: list[Summary]) -> None:
    readme = (CHECKOUT / "README.md").read_text("utf-8")
    (shown,) = re.findall(r"^```text\n(.*?)\n```$", readme, re.MULTILINE | re.DOTALL)
    screen = at_a_glance.text(rows, 100)
    assert screen.startswith(f"{shown}\n\n") and shown.endswith("\n~: no difference shown; -: not supported.")


@pytest.mark.parametrize("reference", [REFERENCE, WITHOUT_KERAS], ids=lambda path: path.name)
def test_it_names_no_folder_of_the_machine_that_measured_it(reference: Path) -> None:
    raw = store.raw_folder(reference)
    for file in [raw / "run.json", *raw.glob("cells/*/spec.json")]:
        absolute = re.findall(r'"(/[^"]+)"', file.read_text("utf-8"))
        assert [path for path in absolute if not path.startswith(("/usr/", "/proc/"))] == [], file
