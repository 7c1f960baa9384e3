"""`resume` also does what is left of --explain and --trace, and nothing of it twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fake_bench import Bench

from kbench import store
from kbench.cells import launcher
from kbench.records.values import INTERRUPTED

PARTS = ["inside", "other-jit", "parity", "same-batch"]
PROGRAM = """
import os

import numpy as np
from keras.layers import Dense
from keras.models import Sequential
from keras.optimizers import SGD

if os.path.exists({flag!r}):
    raise ValueError("not yet")
x = np.random.RandomState(0).normal(size=(40, 3))
model = Sequential()
layer = Dense(3, activation="softmax")
layer.input_shape = (3,)
model.add(layer)
model.compile("categorical_crossentropy", SGD(lr=0.5), [])
y = np.eye(3)[x.argmax(axis=1)]
model.fit(x, y, batch_size=8, epochs=2, initial_epoch=0, shuffle=False, verbose=0, callbacks=[])
"""


def launched(bench: Bench, interrupted_at: str = "") -> list[tuple[str, str]]:
    """The part and backend of each cell that is launched from now on; a Ctrl-C comes when one of this part is."""
    cells: list[tuple[str, str]] = []
    real = launcher.launch

    def launch(command: Any, **asked: Any) -> Any:
        folder = Path(command[-1]).parent  # of its spec
        cells.append((folder.parents[1].name, folder.name.split("__")[1]))
        if interrupted_at == cells[-1][0]:
            raise KeyboardInterrupt
        return real(command, **asked)

    bench.patch.setattr(launcher, "launch", launch)
    return cells


def program(bench: Bench, flag: Path) -> str:
    bench.example("train.py", PROGRAM.format(flag=str(flag)))
    return "train.py"


def parts(run: Path) -> list[str]:
    """The parts of a run that explain it, all of whose cells have ended."""
    cells = {one.name: store.read(one).measured for one in store.parts(run)}
    return sorted(name for name, of in cells.items() if all(one.outcome.status != INTERRUPTED for one in of))


@pytest.mark.parametrize(
    "interrupted_at",
    [one if one in ("inside", "parity") else pytest.param(one, marks=pytest.mark.thorough) for one in PARTS],
)
def test_what_an_interrupted_run_did_not_explain_is_explained_by_resume(bench: Bench, interrupted_at: str) -> None:
    with bench.patch.context() as patch:
        bench.patch, kept = patch, bench.patch
        before = launched(bench, interrupted_at)
        asked = ("--backends", "fake", "--repeats", "1", "--name", "mine", "--explain", "--trace")
        assert bench("script", program(bench, bench.folder / "flag"), *asked).status == 130
        bench.patch = kept
    after = launched(bench)
    said = bench("resume", "mine")
    assert said.status == 0, said
    assert parts(bench.results / "mine") == PARTS
    done = [one for one in before if one[0] != interrupted_at]
    assert sorted([*done, *after]) == [(part, "keras9-fake") for part in sorted([*PARTS, "mine"])]
    assert bench("resume", "mine").status == 0
    assert len(done) + len(after) == len(PARTS) + 1, "nothing is left"


def test_a_cell_that_failed_at_first_is_explained_once_it_is_measured(bench: Bench) -> None:
    flag = bench.folder / "flag"
    flag.touch()
    asked = ("--backends", "fake", "--repeats", "1", "--name", "mine", "--explain")
    assert bench("script", program(bench, flag), *asked).status == 1
    assert parts(bench.results / "mine") == []
    flag.unlink()
    assert bench("resume", "mine", "--retry", "failed").status == 0
    assert parts(bench.results / "mine") == PARTS
    assert (bench.results / "mine" / "explain" / "imports.json").is_file()


def test_a_program_that_calls_no_model_has_its_imports_timed_once(bench: Bench) -> None:
    bench.example("train.py", "import keras\n")
    asked = ("--backends", "fake", "--repeats", "1", "--name", "mine", "--explain")
    imports = bench.results / "mine" / "explain" / "imports.json"
    assert bench("script", "train.py", *asked).status == 0 and imports.is_file()
    before = imports.stat().st_mtime_ns
    assert bench("resume", "mine").status == 0 and imports.stat().st_mtime_ns == before
    imports.unlink()
    said = bench("resume", "mine")
    assert "Resuming mine: what --explain or --trace asked for is left." in said.out and imports.is_file()


def test_the_layers_of_an_example_are_looked_into_by_resume_if_that_was_asked_for(bench: Bench) -> None:
    with bench.patch.context() as patch:
        bench.patch, kept = patch, bench.patch
        launched(bench, "inside")
        assert bench.measure("--name", "mine", "--explain").status == 130
        bench.patch = kept
    cells = launched(bench)
    assert bench("resume", "mine").status == 0
    assert cells == [("inside", "keras9-fake")]
    assert parts(bench.results / "mine") == ["inside"]


def test_resume_looks_into_nothing_that_was_not_asked_for(bench: Bench) -> None:
    assert bench.measure("--name", "mine").status == 0
    assert bench("resume", "mine").status == 0 and not store.parts(bench.results / "mine")
