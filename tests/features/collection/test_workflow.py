"""The workflow that admits runs by pull request, on a local repository; and the command on packed reference runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from collected import CHECKOUT, edit_json, honest_run, new_collection
from fake_bench import call, refused

from kbench import store
from kbench.base import paths
from kbench.features.collection import work
from kbench.features.collection.admit import admit
from kbench.store import packed

WORKFLOW = CHECKOUT / "docs" / "ci" / "collection.yml"
RUN_PY = f"""
import sys
sys.path.insert(0, {str(CHECKOUT)!r})
from kbench.cli import main
sys.exit(main.main())
"""


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = honest_run(tmp_path_factory.mktemp("honest"))
    store.pack(run, packed.packed_file(run))
    return run


def git(folder: Path, *argv: str) -> str:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", *who, *argv], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def step(folder: Path, base: str) -> tuple[int, str]:
    """Status and output of the workflow's own commands in a checkout of a pull request."""
    (job,) = yaml.safe_load(WORKFLOW.read_text("utf-8"))["jobs"].values()
    (script,) = (one["run"] for one in job["steps"] if one.get("name") == "Admit")
    python = folder.parent / "bin" / "python"
    python.parent.mkdir(exist_ok=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    (folder.parent / "run.py").write_text(RUN_PY)
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    given = {**os.environ, "BASE": base, "KBENCH": str(folder.parent), "REPLAY": "0", "PATH": path}
    given |= {"GITHUB_STEP_SUMMARY": str(folder.parent / "summary.txt")}
    done = subprocess.run(["bash", "-e", "-c", script], cwd=folder, env=given, capture_output=True, text=True)
    if (folder.parent / "before").exists():
        git(folder, "worktree", "remove", "--force", "../before")
    return done.returncode, done.stdout + done.stderr


def test_a_pull_request_gets_in_if_it_only_adds_runs_that_are_admitted(honest: Path, tmp_path: Path) -> None:
    folder = new_collection(tmp_path / "collection", honest).folder
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "The terms")
    base = git(folder, "rev-parse", "HEAD")
    runs = folder / "runs"
    runs.mkdir()
    shutil.copyfile(packed.packed_file(honest), runs / "first.kbench.zip")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "A run")
    status, said = step(folder, base)
    assert status == 0 and said.startswith("Admitted: first (Intel Xeon, 2 cores). It passes "), said
    assert (tmp_path / "summary.txt").read_text().startswith("Admitted: first")

    shutil.copyfile(packed.packed_file(honest), runs / "second.kbench.zip")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "The same under another name")
    status, said = step(folder, base)
    assert status == 1 and "Refused: second" in said and "are those of mnist_mlp on keras3" in said, said

    (folder / "collection.toml").write_text('title = "Mine"\nkbench = ["9.9"]\n')
    git(folder, "commit", "-qam", "Other terms")
    status, said = step(folder, base)
    assert (status, said) == (1, "Refused: a pull request only adds runs/NAME.kbench.zip.\n")


def test_the_workflow_may_only_read_and_has_two_lines_to_fill_in() -> None:
    text = WORKFLOW.read_text("utf-8")
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"} and workflow[True] == "pull_request"
    assert text.count("# yours") == 2


def test_the_answer_comes_first_and_the_run_is_in_the_collection_with_what_it_passed(
    honest: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    to = new_collection(tmp_path / "to", honest)
    pack = packed.packed_file(honest)
    looked = call(capsys, "admit", str(pack), "--to", str(to.folder), "--check")
    assert looked.status == 0 and not (to.folder / "runs").exists()
    said = call(capsys, "admit", "honest", "--results", str(honest.parent), "--to", str(to.folder))
    assert said.status == 0 and said.out.startswith("Admitted: honest (Intel Xeon, 2 cores). It passes 17 checks.\n")
    assert "Not checked: replay (`--replay 1` does it)" in said.out
    assert to.place_of(pack).read_bytes() == pack.read_bytes()
    record = json.loads(to.record_of(pack).read_text())
    assert record["checks"]["seeds"] == "passed" and record["checks"]["replay"].startswith("not checked: ")
    again = call(capsys, "admit", str(to.place_of(pack)), "--to", str(to.folder))
    assert again.status == 0, again.out
    forged = shutil.copytree(honest, tmp_path / "honest")
    edit_json(forged / "run.json", lambda record: record["provenance"]["kbench"].update(version="9.9"))
    store.pack(forged, packed.packed_file(forged))
    refusal = call(capsys, "admit", str(packed.packed_file(forged)), "--to", str(to.folder))
    assert refusal.status == 1 and refusal.err == ""
    assert refusal.out.startswith("Refused: honest (Intel Xeon, 2 cores). It does not pass 2 of 17 checks.\n")
    assert "the collection has another run of this name" in refusal.out


def test_wrong_input_is_one_sentence(honest: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    to = new_collection(tmp_path / "to", honest)
    pack = str(packed.packed_file(honest))
    refused(call(capsys, "admit", pack, "--to", str(tmp_path)), "is no collection: it has no collection.toml")
    refused(call(capsys, "admit", str(honest), "--to", str(to.folder), "--replay", "-1"), "below 0")
    shutil.copytree(honest, tmp_path / "results" / "other")
    refused(
        call(capsys, "admit", "other", "--results", str(tmp_path / "results"), "--to", str(to.folder)), "not packed"
    )
    refused(call(capsys, "admit", "nothing", "--results", str(tmp_path), "--to", str(to.folder)), "There is no run")
    (to.folder / "collection.toml").write_text('title = "x"\nkbench = ["0.1.0"]\nproceses = 3\n')
    refused(call(capsys, "admit", pack, "--to", str(to.folder)), "cannot be read", "proceses")


def test_the_file_of_an_example_is_looked_up_in_the_commit_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "examples_models").mkdir()
    for text in ("old", "new"):
        (tmp_path / "examples_models" / "mnist_mlp.py").write_text(text)
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-qm", text)
    monkeypatch.setattr(paths, "PACKAGE", tmp_path / "kbench")
    assert work._at(git(tmp_path, "rev-parse", "HEAD~"), "mnist_mlp") == b"old"
    assert work._at("0" * 40, "mnist_mlp") is None and work._at("--output=/tmp/x", "mnist_mlp") is None


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "refused_by"),
    {
        "reference": [],
        "reference-full-mnist_cnn": ["cells", "clock", "rows"],  # interrupted, with a process a row
        "reference-full": ["version", "rows"],  # by a changed kbench
        "reference-dlbench": ["version", "rows"],
        "reference-rosetta": ["rows"],
        "reference-native": ["processes", "rows"],  # by a kbench that noted no memory
        "reference-coverage-keras3": ["archive"],  # it times nothing
    }.items(),
)
def test_the_runs_that_come_along_are_admitted_or_miss_these_rules(
    name: str, refused_by: list[str], honest: Path, tmp_path: Path
) -> None:
    answer = admit(CHECKOUT / "results" / f"{name}.kbench.zip", new_collection(tmp_path / "to", honest))
    assert [one.name for one in answer.refused] == refused_by, answer.lines
