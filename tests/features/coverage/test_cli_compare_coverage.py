"""`compare` of two coverage runs: what broke, is mended, new, gone, or gives something else."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest
from fake_bench import Bench, Said, refused

BOTH = "fake,keras9/second"
SECOND = "keras9/second"
# What was asked for -> a copy of that run, which further tests of this process compare, too.
KEPT: dict[tuple[object, ...], Path] = {}


def tried(
    bench: Bench,
    name: str,
    hinge: str = "works",
    off: str = "0",
    backends: str = BOTH,
    only: str = "losses.*",
    options: tuple[str, ...] = ("--quick",),
    again: bool = False,
) -> None:
    """A coverage run of that name, in which the second backend's hinge loss does this, and all squares are off."""
    for backend in BOTH.split(","):
        more = f'FAKE_KERAS_SQUARES_ARE_OFF_BY = "{off}"\n'
        more += f'FAKE_KERAS_HINGE = "{hinge}"\n' if backend == SECOND else ""
        bench.backend(backend.replace("fake", "keras9/fake"), more=f"[variables]\n{more}")
    asked = (hinge, off, backends, only, options)
    if asked in KEPT and not again:
        shutil.copytree(KEPT[asked], bench.results / name)
        return
    said = bench("coverage", "--backends", backends, "--only", only, "--device", "cpu", "--name", name, *options)
    assert said.status == 0, said
    KEPT[asked] = bench.folder.parent / f"kept-{name}"
    shutil.copytree(bench.results / name, KEPT[asked])


def rows(said: Said) -> list[tuple[str, ...]]:
    found = csv.DictReader(io.StringIO(said.out))
    return [tuple(row[key] for key in ("backend", "name", "what", "before", "after")) for row in found]


def words(said: Said) -> str:
    return " ".join(said.out.split())


def test_what_broke_is_named_and_its_way_back_is_mended(bench: Bench) -> None:
    tried(bench, "old")
    tried(bench, "new", "raises")
    said = bench("compare", "old", "new")
    assert said.status == 0, said
    assert (
        "From old: keras9/fake (Keras 2.99.1) to new: keras9/fake (Keras 2.99.1), of 2 public names: 2 are as before."
        in words(said)
    )
    both = f"From old: {SECOND} (Keras 2.99.1) to new: {SECOND} (Keras 2.99.1)"
    assert f"{both}, of 2 public names: 1 broke and 1 is as before." in words(said)
    assert "losses.hinge() same raises ValueError: there is no hinge" in words(said)
    assert rows(bench("compare", "old", "new", "--format", "csv")) == [
        (SECOND, "losses.hinge", "broke", "same", "raises")
    ]
    back = bench("compare", "new", "old", "--format", "json")
    content = json.loads(back.out)
    assert [row["what"] for row in content["rows"]] == ["mended"]
    assert [one["mended"] for one in content["backends"]] == [0, 1]
    markdown = bench("compare", "old", "new", "--format", "markdown").out
    assert "| broke | losses.hinge() | same | raises |" in " ".join(markdown.split()), markdown


def test_the_exit_status_is_1_if_something_became_what_was_asked_for(bench: Bench) -> None:
    tried(bench, "old")
    tried(bench, "new", "crashes")
    said = bench("compare", "old", "new", "--fail-on", "broke,gone")
    assert said.status == 1
    assert said.err.splitlines()[-1] == "kbench: broke, gone: losses.hinge."
    assert bench("compare", "new", "old", "--fail-on", "broke,gone").status == 0
    assert bench("compare", "new", "old", "--fail-on", "mended").status == 1


def test_what_fails_with_an_argument_that_is_new_broke(bench: Bench) -> None:
    tried(bench, "old", backends=SECOND, options=())
    tried(bench, "new", "crashes with a new argument", backends=SECOND, options=())
    said = bench("compare", "old", "new", "--fail-on", "broke")
    assert said.status == 1 and said.err.endswith("kbench: broke: losses.hinge.\n"), said
    assert "losses.hinge(squared=True) works crashes (not tried before)" in words(said)
    back = bench("compare", "new", "old", "--fail-on", "mended")
    assert back.status == 0, "it crashed with what was not tried again"
    assert "of 1 public name: 1 is as before. 1 was not tried on both." in words(back)


def test_a_name_that_is_not_there_any_more_is_gone_and_the_other_way_round_new(bench: Bench) -> None:
    tried(bench, "old")
    tried(bench, "new", "absent")
    assert rows(bench("compare", "old", "new", "--format", "csv")) == [
        (SECOND, "losses.hinge", "gone", "same", "absent")
    ]
    said = bench("compare", "new", "old")
    assert "of 1 public name: 1 new and 1 is as before. New: losses.hinge (same)." in words(said)


def test_what_all_backends_compute_otherwise_alike_has_changed_though_each_is_like_the_others(bench: Bench) -> None:
    tried(bench, "old")
    tried(bench, "new", off="0.5")
    said = bench("compare", "old", "new", "--format", "csv")
    name = "losses.mean_squared_error"
    assert rows(said) == [(one, name, "changed", "same", "same") for one in ("keras9/fake", SECOND)]
    assert "by 0.0" in said.out


def test_what_was_not_asked_for_is_neither_new_nor_gone(bench: Bench) -> None:
    tried(bench, "old")
    tried(bench, "new", only="losses.hinge")
    said = bench("compare", "old", "new")
    assert "of 1 public name: 1 is as before." in words(said) and "New:" not in said.out and "gone" not in said.out


def test_two_backends_of_a_run_are_compared_and_versions_at_once(bench: Bench) -> None:
    bench.backend(SECOND, more='[variables]\nFAKE_KERAS_HINGE = "raises"\n')
    options = ("--only", "losses.*", "--device", "cpu", "--name", "one")
    assert bench("coverage", "--backends", BOTH, *options).status == 0
    said = bench("compare", "latest:fake", f"one:{SECOND}")
    both = f"From one: keras9/fake (Keras 2.99.1) to one: {SECOND} (Keras 2.99.1)"
    assert f"{both}, of 2 public names: 1 broke and 1 is as before." in words(said)
    bench.backend(SECOND)
    said = bench("coverage", "--backends", f"fake,{SECOND}+jit=off,{SECOND}", "--only", "losses.*", "--device", "cpu")
    assert (
        f"From {SECOND}+jit=off (Keras 2.99.1) to {SECOND} (Keras 2.99.1), of 2 public names: 2 are as before."
        in words(said)
    )
    assert words(said).count("From") == 1


def test_of_runs_beside_different_backends_that_is_said(bench: Bench) -> None:
    tried(bench, "old")
    tried(bench, "new", backends=SECOND)
    assert "They ran beside different backends, and some checks depend on those." in words(
        bench("compare", "old", "new")
    )
    tried(bench, "again", backends=SECOND)
    assert "beside" not in bench("compare", "new", "again").out


def test_packed_runs_are_compared_too_and_are_small(bench: Bench) -> None:
    tried(bench, "old")
    tried(bench, "new", "raises")
    for name in ("old", "new"):
        assert bench("pack", name).status == 0
    before = bench("compare", "old", "new").out
    for name in ("old", "new"):
        shutil.rmtree(bench.results / name)
    assert bench("compare", "old", "new").out == before
    assert "1 of 2 names work (1 raises)" in words(bench("report", "new"))
    assert {file.name for file in (bench.results / "new").iterdir()} == {
        "coverage.csv",
        "coverage.html",
        "coverage.json",
    }
    assert "packed" in words(bench("list", "runs"))
    refused(bench("resume", "new"), "packed", "unpack")
    assert bench("unpack", "new").status == 0
    assert "0 of 4 cases to try" in bench("resume", "new").out


def test_what_cannot_be_compared_is_one_sentence(bench: Bench) -> None:
    tried(bench, "old")
    assert bench.measure("--name", "timed").status == 0
    for two in (("old", "timed"), ("timed", "old")):
        refused(bench("compare", *two), "timed is no coverage run", "compare two of one kind")
    refused(bench("compare", "old", "old", "--fail-above", "1.1"), "--fail-above", "--fail-on")
    refused(bench("compare", "old", "old", "old"), "name two")
    refused(bench("compare", "timed", "timed", "--fail-on", "broke"), "--fail-above")
    refused(bench("compare", "old", "old", "--fail-on", "slow"), "slow", "broke")
    refused(bench("compare", "old", "published"), "coverage run")
    tried(bench, "one", backends="fake")
    tried(bench, "two", backends=SECOND)
    said = bench("compare", "one", "two")
    assert said.status == 0 and f"From one: keras9/fake (Keras 2.99.1) to two: {SECOND}" in words(said)


@pytest.mark.parametrize("latest", ["old", pytest.param("timed", marks=pytest.mark.thorough)])
def test_the_latest_run_is_of_the_kind_of_the_other(bench: Bench, latest: str) -> None:
    for name in ("timed", "old") if latest == "old" else ("old", "timed"):
        if name == "old":
            tried(bench, name, again=True)
        else:
            assert bench.measure("--name", name).status == 0
    assert "2 are as before" in words(bench("compare", "latest", "old"))
    assert bench("compare", "latest", "timed").status == 0
