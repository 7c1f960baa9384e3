"""The README's table of commands, typed in its order in a fresh clone: each ends as a reader expects.

The clone is a miniature: its backends and examples have the real ones' names, and each takes a moment.
tests/test_documentation_site.py plans the same commands with the real ones.
"""

from __future__ import annotations

import json
import shlex
import shutil

import pytest
from documentation_commands import CHECKOUT, PROGRAM, table_commands
from fake_bench import EXAMPLE, Bench
from fake_native import TWIN, add_native

from kbench.base import paths
from kbench.cli import arguments

pytestmark = pytest.mark.slow("runs every command of the README")

README = CHECKOUT / "README.md"
BACKENDS = ("keras2/cntk", "keras2/tensorflow", "keras2/theano", "keras3/jax", "keras3/tensorflow", "keras3/torch")
EXAMPLES = ("mnist_cnn", "imdb_gru")
PROGRAM_OF_THE_READER = """
import numpy as np
from keras.layers import Dense
from keras.models import Sequential
from keras.optimizers import SGD

x = np.random.RandomState(0).normal(size=(40, 3))
y = np.eye(3)[x.argmax(axis=1)]
model = Sequential()
model.add(Dense(3, activation="softmax", input_shape=(3,)))
model.compile("categorical_crossentropy", SGD(lr=0.5), [])
model.fit(x, y, batch_size=8, epochs=2, initial_epoch=0, shuffle=False, verbose=0, callbacks=[])
"""
# What would need releases of JAX and Keras, or an engine of several workers: tests/commands/test_cli_variants.py and
# tests/features/workers/test_cli_workers.py have such commands with fakes.
ONLY_READ = ("bisect", "jax@0.9", "--workers")
IN_MINIATURE = {"--profile full --repeats 3": "--profile smoke --repeats 3", "--budget 10m": "--budget 0.1s"}


@pytest.fixture
def clone(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """The current folder: a fresh clone with the reference run, packed, and the reader's train.py and notebook."""
    monkeypatch.setattr(paths, "project_folder", bench.folder.joinpath)
    monkeypatch.delenv("KBENCH_BACKENDS")
    bench.backends = bench.folder / "backends"
    for name in BACKENDS:
        bench.backend(name)
    folder = bench.folder / "examples_models"
    for name in ("torch", "jax"):
        add_native(bench, name, twin="")
        (folder / "native" / name).mkdir(parents=True)
        (folder / "native" / name / "mnist_cnn.py").write_text(TWIN)
    shutil.copy(bench.folder / "patterns.npz", folder)
    for name in EXAMPLES:
        (folder / f"{name}.py").write_text(EXAMPLE)
    shutil.copytree(CHECKOUT / "examples_models" / "kinds", folder / "kinds")
    shutil.copytree(CHECKOUT / "results" / "published", bench.results / "published")
    bench.example("train.py", PROGRAM_OF_THE_READER)
    cells = [{"cell_type": "code", "source": PROGRAM_OF_THE_READER}]
    bench.example("train.ipynb", json.dumps({"cells": cells}))
    assert bench("--backends", "all", "--profile", "smoke", "--repeats", "1", "--name", "reference").status == 0
    assert bench("pack", "reference").status == 0
    shutil.rmtree(bench.results / "reference")
    return bench


def typed(command: str) -> list[str]:
    """What is typed in the miniature: no more than a smoke run, once, and no plots, which are slow."""
    for what, instead in IN_MINIATURE.items():
        command = command.replace(what, instead)
    words = shlex.split(command)
    once = [] if {"--repeats", "--budget"} & {*words} else ["--repeats", "1"]
    if words[0] == "script":
        return [*words, *once, "--no-plots"]
    if words[0].startswith("--"):
        return [*words, *once, *([] if "--profile" in words else ["--profile", "smoke"])]
    return words


def test_each_command_of_the_readme_ends_well_in_the_order_of_the_table(clone: Bench) -> None:
    for command in table_commands(README):
        words = typed(command)
        if any(one in command for one in ONLY_READ):
            assert arguments.parse(words)
            continue
        said = clone(*words)
        # A machine on which there is something to do, such as a compiler to install, gives 1.
        expected = (0, 1) if words[0] == "doctor" else (0,)
        assert said.status in expected, f"{PROGRAM}{command}\n{said.out}\n{said.err}"
        assert "Traceback" not in said.err


def test_before_the_first_run_a_command_that_needs_one_says_so(clone: Bench) -> None:
    for words in (("resume",), ("report",), ("compare", "latest", "reference"), ("export", "latest", "--to", "json")):
        said = clone(*words)
        expected = "kbench: error: There are no runs of your own in results yet; start one with --backends.\n"
        assert (said.status, said.err) == (2, expected), words
    assert clone("report", "reference").status == 0
