"""`coverage` on real backends: faults planted in a copy of Keras are found, each by its check, and nothing else."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest
from real_runs import KNOWN, Finished, Kbench

from kbench.environments import ensure

pytestmark = pytest.mark.slow("three backends start twice: to list their names, and to try them")
ONLY = "layers.Dense,layers.UnitNormalization,activations.softsign,ops.logsumexp,random.normal,optimizers.SGD"
# In each file: what is right, and what is put in its place.
FAULTS = {
    "layers/core/dense.py": ("x = ops.add(x, self.bias)", "x = ops.subtract(x, self.bias)"),
    "layers/normalization/unit_normalization.py": ('config.update({"axis": self.axis})', ""),
    # Half of its gradient, and all of its value.
    "activations/activations.py": (
        "return ops.softsign(x)",
        "return (ops.softsign(x) + ops.stop_gradient(ops.softsign(x))) / 2",
    ),
}


def states(run: Finished) -> dict[tuple[str, str], set[str]]:
    found: dict[tuple[str, str], set[str]] = {}
    with (run.folder / "coverage.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault((row["backend"].partition("+")[0], row["name"]), set()).add(row["state"])
    return found


def test_a_wrong_sign_a_forgotten_setting_and_a_wrong_gradient_are_found_and_nothing_else(
    kbench: Kbench, tmp_path: Path
) -> None:
    jax = KNOWN["keras3/jax"]
    environment = ensure.ensure(jax, jax.builds[0], explicit=None)
    (installed,) = environment.python.parent.parent.glob("lib/python*/site-packages/keras")
    shutil.copytree(installed, tmp_path / "keras")
    for name, (right, wrong) in FAULTS.items():
        file = tmp_path / "keras" / "src" / name
        assert right in file.read_text("utf-8")
        file.write_text(file.read_text("utf-8").replace(right, wrong), "utf-8")

    run = kbench.coverage(f"keras3/torch+keras={tmp_path},keras3/jax+keras={tmp_path}", ONLY)
    assert run.status == 1, run.output  # --fail-on differs
    found = states(run)
    assert len(found) == 12, found
    wrong_names = {"layers.Dense", "layers.UnitNormalization", "activations.softsign"}
    differs = {name for name, one in found.items() if "differs" in one}
    assert differs == {(backend, name) for backend in ("keras3/jax", "keras3/torch") for name in wrong_names}, (
        run.output
    )
    assert {state for one in found.values() for state in one} == {"same", "differs"}, run.output
    said = " ".join(run.output.split())
    assert "layers.Dense(units=3) differs from keras3/numpy" in said
    assert "layers.UnitNormalization(axis=1) differs: saved in a .keras file and loaded it differs by" in said
    assert "activations.softsign() differs from keras3/numpy+policy=float64: its gradients are not those of" in said
    assert not (run.folder / "saved").exists()
