"""`coverage` on real backends: a wrong layer in a copy of Keras differs, and so do the faults that are known."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest
from real_runs import KNOWN, Finished, Kbench

from kbench.environments import ensure

pytestmark = pytest.mark.slow("three backends start twice: to list their names, and to try them")
ONLY = "layers.Dense,layers.UnitNormalization,ops.logsumexp,random.normal"
RIGHT, WRONG = "x = ops.add(x, self.bias)", "x = ops.subtract(x, self.bias)"


def states(run: Finished) -> dict[tuple[str, str], set[str]]:
    found: dict[tuple[str, str], set[str]] = {}
    with (run.folder / "coverage.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault((row["backend"].partition("+")[0], row["name"]), set()).add(row["state"])
    return found


# What the files of backends declare, by a word of its reason, and the name in which coverage sees it.
KNOWN_FAULTS = {
    ("keras2/cntk", "layers.LSTM"): "returns the cell state c",
    ("keras2/mxnet", "layers.LSTM"): "unless they are made with unroll=True",
}


def test_faults_that_backends_files_declare_are_found_again_and_named(kbench: Kbench) -> None:
    only = ",".join(sorted({name for _, name in KNOWN_FAULTS}))
    run = kbench.coverage("keras2/cntk,keras2/mxnet,keras2/tensorflow,keras2/tensorflow2", only)
    found: dict[tuple[str, str], str] = {}
    with (run.folder / "coverage.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            found[row["backend"], row["name"]] = found.get((row["backend"], row["name"]), "") + row["known"]
    assert [one for one, word in KNOWN_FAULTS.items() if word not in found[one]] == [], run.output


def test_a_wrong_sign_in_a_layer_is_found_and_nothing_else(kbench: Kbench, tmp_path: Path) -> None:
    jax = KNOWN["keras3/jax"]
    environment = ensure.ensure(jax, jax.builds[0], explicit=None)
    (installed,) = environment.python.parent.parent.glob("lib/python*/site-packages/keras")
    shutil.copytree(installed, tmp_path / "keras")
    file = tmp_path / "keras" / "src" / "layers" / "core" / "dense.py"
    assert RIGHT in file.read_text("utf-8")
    file.write_text(file.read_text("utf-8").replace(RIGHT, WRONG), "utf-8")

    run = kbench.coverage(f"keras3/torch,keras3/jax+keras={tmp_path}", ONLY)
    assert run.status == 1, run.output  # --fail-on differs
    found = states(run)
    assert len(found) == 8, found
    assert {name for name, one in found.items() if "differs" in one} == {("keras3/jax", "layers.Dense")}, run.output
    assert {state for one in found.values() for state in one} == {"same", "differs"}, run.output
    assert "layers.Dense(units=3) differs from keras3/numpy" in " ".join(run.output.split())
