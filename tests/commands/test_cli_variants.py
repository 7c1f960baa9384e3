"""Versions and settings of a backend as rows of one table, and the release that made one slower."""

from __future__ import annotations

import math
import os
import shutil
from pathlib import Path

import pytest
from fake_backends import FAKE_KERAS, wheel
from fake_bench import Bench

from kbench.cells import turns

pytestmark = pytest.mark.slow("measures release after release")

SLOW_FROM = 4  # keras-fake 2.4 and 2.14


@pytest.fixture
def releases(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """keras-fake 2.0 to 2.6 and 2.10 to 2.16; from 2.4 and 2.14 on a step takes some milliseconds longer.

    Of a release that learns otherwise no times are compared: 2.10 to 2.16 learn alike, 2.4 to 2.6 less.
    """
    folder = tmp_path / "releases"
    files = {f"keras/{path.name}": path.read_text() for path in sorted((FAKE_KERAS / "keras").glob("*.py"))}
    for minor in (*range(7), *range(10, 17)):
        less, number = 1 if minor >= 10 else 0.1, minor % 10
        own = dict(files)
        if number >= SLOW_FROM:
            own["keras/models.py"] = (
                own["keras/models.py"]
                .replace(
                    "        *before, last = self.layers\n",
                    "        import time\n        time.sleep(0.02)\n        *before, last = self.layers\n"
                    "        self.steps = getattr(self, 'steps', 0) + 1\n",
                )
                .replace(
                    "rate = self.optimizer.lr *", f"rate = ({less} if self.steps > 1 else 1) * self.optimizer.lr *"
                )
            )
        own["keras/__init__.py"] = own["keras/__init__.py"].replace("2.99.1", f"2.{minor}")
        wheel(folder, "keras-fake", f"2.{minor}", own)
    monkeypatch.setenv("PIP_FIND_LINKS", f"{os.environ['PIP_FIND_LINKS']} {folder}")
    monkeypatch.setattr(turns, "DISTURBED", math.inf)  # by what else runs on this machine
    return bench


def test_versions_and_settings_are_rows_of_one_table(releases: Bench) -> None:
    said = releases.measure(backends="fake,fake+keras=2.1,fake+SOME_FLAG=1,fake+jit=on")
    assert said.status == 1, "jit was asked for by name, and is unsupported"
    rows = {one.cell.backend: one for one in releases.last().measured}
    status = {name.removeprefix("keras9/"): one.outcome.status for name, one in rows.items()}
    assert status == {"fake": "ok", "fake+keras=2.1": "ok", "fake+SOME_FLAG=1": "ok", "fake+jit=on": "unsupported"}
    assert rows["keras9/fake+keras=2.1"].facts.keras_version == "2.1"
    assert rows["keras9/fake"].facts.keras_version == "2.99.1"
    (kept,) = (releases.runs()[-1] / "locks").iterdir()
    assert kept.name == "keras9-fake+keras=2.1.lock" and "keras-fake==2.1 " in kept.read_text()
    again = releases("resume")
    assert "0 of 4 cells to measure" in again.out, "its versions are found again"


def test_settings_combine_and_one_of_them_may_be_the_baseline(releases: Bench) -> None:
    combined = "fake+SOME_FLAG=1+keras=2.1,fake+SOME_FLAG=1+keras=2.2"
    said = releases.measure("--baseline", "fake+keras=2.1", backends=f"fake+keras=2.1,fake+keras=2.2,{combined}")
    assert said.status == 0, said.out + said.err
    names = {one.cell.backend.removeprefix("keras9/fake") for one in releases.last().measured}
    assert names == {"+keras=2.1", "+keras=2.2", "+SOME_FLAG=1+keras=2.1", "+SOME_FLAG=1+keras=2.2"}
    assert "x baseline: the ratio to keras9/fake+keras=2.1." in said.out
    for setting, words in (
        ("jit=maybe", "'jit=maybe' is not a setting"),
        ("XLA_FLAGS=--a --b", "the value may have only letters"),
        ("keras=", "lacks a version"),
    ):
        wrong = releases.measure(backends=f"fake+{setting}")
        assert wrong.status == 2 and words in wrong.err and len(wrong.err.splitlines()) == 1


def test_a_package_comes_from_a_folder_of_the_users(releases: Bench, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    shutil.copytree(FAKE_KERAS / "keras", checkout / "src" / "keras")
    init = checkout / "src" / "keras" / "__init__.py"
    init.write_text(init.read_text().replace("2.99.1", "2.99.dev7"))
    said = releases.measure(backends=f"fake,fake+keras={checkout}")
    assert said.status == 0, said.out + said.err
    rows = {one.cell.backend: one for one in releases.last().measured}
    assert {name: one.facts.keras_version for name, one in rows.items()} == {
        "keras9/fake": "2.99.1",
        f"keras9/fake+keras={checkout}": "2.99.dev7",
    }
    assert not (releases.runs()[-1] / "locks").exists(), "its other packages are the locked ones"
    assert "0 of 2 cells to measure" in releases("resume").out
    init.write_text(init.read_text() + "\n")
    changed = releases("resume")
    assert (
        "1 of 2 cells to measure" in changed.out
        and f"keras9/fake+keras={checkout}: its source has changed" in changed.out + changed.err
    )
    for value, words in (
        (f"keras={tmp_path}/none", "none has no package keras: name a folder with keras/__init__.py"),
        ("keras=x", "'x' is neither a version, such as 0.9, nor a folder, such as ../keras"),
        ("keras=./a b", "the path may have only letters"),
    ):
        wrong = releases.measure(backends=f"fake+{value}")
        assert wrong.status == 2 and words in wrong.err and len(wrong.err.splitlines()) == 1, wrong.err


def test_a_version_that_nobody_has_released_is_one_sentence(releases: Bench) -> None:
    said = releases.measure(backends="fake+keras=9.9")
    assert said.status == 2 and not releases.results.exists()
    assert said.err.splitlines()[-1].startswith("kbench: error: There is no keras9/fake+keras=9.9: ")


@pytest.mark.parametrize(
    ("by", "good", "before", "first", "bad", "runs"),
    [
        ("time", "2.10", "2.13", "2.14", "2.16", 4),
        ("loss", "2.2", "2.3", "2.4", "2.4", 2),
    ],
)
@pytest.mark.thorough
def test_bisect_finds_the_release_that_made_it_worse(
    releases: Bench, by: str, good: str, before: str, first: str, bad: str, runs: int
) -> None:
    asked = ("bisect", "fake", "--good", good, "--bad", bad, "--example", "my_example.py", "--by", by)
    # What would tell two good ones apart is not waited for.
    said = releases(*asked, "--profile", "smoke", "--budget", "1s")
    assert said.status == 0, said.out + said.err
    assert f" releases from {good} to {bad}" in said.err
    assert f"keras {first} is the first: my_example.py" in said.out and f"{before} does not" in said.out
    assert len(releases.runs()) <= runs, "the last, 3, 4 or 5: it halves what is left"


@pytest.mark.thorough
def test_where_nothing_became_worse_it_says_so(releases: Bench) -> None:
    asked = ("bisect", "fake", "--good", "2.0", "--bad", "2.2", "--example", "my_example.py", "--by", "loss")
    said = releases(*asked, "--profile", "smoke", "--budget", "1s")
    assert said.status == 1 and "keras 2.2 is not shown to be worse than 2.0 here" in said.out


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"--good": "2.6", "--bad": "2.0"}, "--good 2.6 is not older than --bad 2.0"),
        ({"--good": "x"}, "'x' is not a version"),
        ({"--package": "numpy"}, "--package takes keras or fake-framework for keras9/fake, not 'numpy'"),
        ({"--good": "2.7", "--bad": "2.9"}, "There is no release keras-fake>=2.7"),
        ({"--example": "no_such"}, "There is no example 'no_such'"),
        ({"--workdir": "same"}, "--with, --max-epochs, --max-steps, --workdir and what follows -- are for a program"),
        ({"--max-steps": "3"}, "--with, --max-epochs, --max-steps, --workdir and what follows -- are for a program"),
    ],
)
def test_wrong_requests_are_one_sentence(releases: Bench, changes: dict[str, str], words: str) -> None:
    asked = {"--good": "2.0", "--bad": "2.6", "--example": "my_example.py", **changes}
    said = releases("bisect", "fake", *[part for pair in asked.items() for part in pair])
    assert said.status == 2 and words in said.err.splitlines()[-1], said.err
