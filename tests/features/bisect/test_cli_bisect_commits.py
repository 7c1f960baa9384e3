"""The commit of a user's checkout that made a script slower, or changed its memory or what it returns."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from fake_backends import FAKE_KERAS
from fake_bench import Bench, Said

from kbench.features.bisect import bisection

COMMITS, SLOW_FROM = 16, 11
PROGRAM = """
import numpy as np
from keras.layers import Dense
from keras.models import Sequential
from keras.optimizers import SGD

x = np.random.RandomState(0).normal(size=(40, 3))
model = Sequential()
layer = Dense(3, activation="softmax")
layer.input_shape = (3,)
model.add(layer)
model.compile("categorical_crossentropy", SGD(lr=0.5), [])
y = np.eye(3)[x.argmax(axis=1)]
model.fit(x, y, batch_size=8, epochs=6, initial_epoch=0, shuffle=False, verbose=0, callbacks=[])
"""


def git(folder: Path, *arguments: str) -> str:
    who = {f"GIT_{role}_{what}": "me@there" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], capture_output=True, text=True, env=os.environ | who
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


IN_A_STEP = "        *before, last = self.layers\n"
IN_A_PASS = "        for layer in self.layers:\n            x = layer.call(x)\n"


def committed(folder: Path, commits: int, since: int, code: str, plain: str = IN_A_STEP) -> Path:
    """So many commits of the fake Keras; a step runs the code from one of them on."""
    (folder / "keras").mkdir(parents=True)
    git(folder, "init", "--quiet", "-b", "main")
    for number in range(1, commits + 1):
        for path in sorted((FAKE_KERAS / "keras").glob("*.py")):
            text = path.read_text() + f"\n# commit {number}\n"
            if path.name == "models.py" and number >= since:
                assert plain in text
                text = text.replace(plain, f"        {code}\n{plain}")
            (folder / "keras" / path.name).write_text(text)
        git(folder, "add", "-A")
        git(folder, "commit", "--quiet", "-m", f"Change {number}")
        if number == 1:
            git(folder, "tag", "v1")
    return folder


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """16 commits of the fake Keras; from the 11th on a step takes longer."""
    return committed(tmp_path / "checkout", COMMITS, SLOW_FROM, "import time; time.sleep(0.02)")


def bisected(bench: Bench, checkout: Path, tmp_path: Path, program: str = PROGRAM, **changes: str) -> Said:
    (tmp_path / "train.py").write_text(program)
    asked = {
        "--package": f"keras={checkout}",
        "--good": "v1",
        "--bad": "main",
        "--script": str(tmp_path / "train.py"),
    }
    asked |= {"--budget": "20s"} | {f"--{name}": value for name, value in changes.items()}
    return bench("bisect", "fake", *[part for pair in asked.items() for part in pair if part])


@pytest.mark.thorough  # a busy machine leaves no turn to compare
def test_the_planted_slow_commit_among_16_is_found(bench: Bench, checkout: Path, tmp_path: Path) -> None:
    said = bisected(bench, checkout, tmp_path)
    assert said.status == 0, said.out + said.err
    assert "16 commits from" in said.err
    found = git(checkout, "log", "-1", "--abbrev=10", "--format=%h", f"main~{COMMITS - SLOW_FROM}")
    before = git(checkout, "log", "-1", "--abbrev=10", "--format=%h", f"main~{COMMITS - SLOW_FROM + 1}")
    line = " ".join(said.out.split())
    assert f"keras {found} (Change {SLOW_FROM}) is the first: " in line and f"{before} does not." in line, line
    assert len(bench.runs()) <= 5, "it halves what is left"
    assert git(checkout, "worktree", "list").count("\n") == 0, "its worktrees are gone"
    assert git(checkout, "status", "--porcelain") == ""


@pytest.mark.thorough
def test_the_commit_that_holds_more_memory_is_found(bench: Bench, tmp_path: Path) -> None:
    checkout = committed(tmp_path / "checkout", 4, 3, "self.held = np.ones(8 << 20)")  # 64 MiB
    # What would tell their times apart is not waited for.
    said = bisected(bench, checkout, tmp_path, by="memory", budget="1s", workdir="same")
    assert said.status == 0, said.out + said.err
    found, before = (git(checkout, "log", "-1", "--abbrev=10", "--format=%h", f"main~{back}") for back in (1, 2))
    line = " ".join(said.out.split())
    assert f"keras {found} (Change 3) is the first: " in line in line
    assert " times the memory of " in line and f"; {before} does not." in line
    assert "memory, x good" in line


PREDICTS = PROGRAM.partition("y = np.eye")[0] + "model.predict(x, batch_size=8)\n"


def test_the_commit_from_which_a_model_returns_something_else_is_found(bench: Bench, tmp_path: Path) -> None:
    checkout = committed(tmp_path / "checkout", 4, 3, "x = 1.5 * x", IN_A_PASS)
    said = bisected(bench, checkout, tmp_path, PREDICTS, by="outputs", workdir="same")
    assert said.status == 0, said.out + said.err
    found, before = (git(checkout, "log", "-1", "--abbrev=10", "--format=%h", f"main~{back}") for back in (1, 2))
    line = " ".join(said.out.split())
    assert f"keras {found} (Change 3) is the first: " in line and " returns something else than " in line, line
    assert f"; {before} does not. In predict, line 13: outputs off by up to 0." in line
    assert f"{before} the same " in line
    assert len(bench.last().measured) == 2, "one process each is enough"
    said = bisected(bench, checkout, tmp_path, PREDICTS, by="outputs", bad=before, workdir="same")
    assert said.status == 1 and f"keras {before} returns the same as " in said.out


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"good": "v0"}, "--good 'v0' is no commit, tag or branch in"),
        ({"good": "main", "bad": "v1"}, "--good main is not an ancestor of --bad v1"),
        ({"good": "main"}, "--good main and --bad main are the same commit"),
        ({"package": "keras="}, "--package keras= names no folder"),
        ({"package": "keras=/no/such"}, "/no/such is not a folder: name a git checkout"),
        ({"package": "keras=/proc"}, "/proc is not a git checkout"),
        ({"package": "keras"}, "'main' is not a version, such as 3.8 or 3.15.1; for commits, name a checkout"),
        ({"example": "my_example.py"}, "--example EXAMPLE or --script FILE, one of them"),
        ({"by": "speed"}, "there is no 'speed'"),
    ],
)
def test_wrong_requests_are_one_sentence(
    bench: Bench, checkout: Path, tmp_path: Path, changes: dict[str, str], words: str
) -> None:
    said = bisected(bench, checkout, tmp_path, **changes)
    assert said.status == 2 and words in said.err.splitlines()[-1], said.err
    assert git(checkout, "worktree", "list").count("\n") == 0


@pytest.mark.parametrize(
    ("unknown", "bad", "found"),
    [(set(), 11, (10, 11)), ({7, 8}, 11, (10, 11)), ({10, 9}, 11, (8, 11)), (set(), 1, (0, 1)), ({1}, 2, (0, 2))],
)
def test_what_cannot_be_told_is_passed_over(unknown: set[int], bad: int, found: tuple[int, int]) -> None:
    asked: list[int] = []

    def is_bad(place: int) -> bool | None:
        asked.append(place)
        return None if place in unknown else place >= bad

    assert bisection.narrowed(0, 15, is_bad) == found
    assert len(asked) == len({*asked}) <= 6
