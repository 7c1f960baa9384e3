"""Real backends compared by the command: they compute the same, and a form that does not is found and named."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest
from measured import CHECKOUT, SEQUENTIAL_OF_KERAS_2, environment, own_threads

from kbench import paths, store
from kbench.selection import backends

pytestmark = pytest.mark.timeout(3600)
BACKENDS = backends.load_all(paths.project_folder("backends"))


def compare(folder: Path, *options: str) -> tuple[int, str, list[dict[str, str]]]:
    """Exit status, what was printed, and the rows of parity.csv."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "kbench",
            "parity",
            *options,
            "--device",
            "cpu",
            *own_threads(),
            "--results",
            str(folder),
        ],
        cwd=CHECKOUT,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with (store.latest(folder) / "parity.csv").open(newline="") as file:
        return done.returncode, done.stdout, list(csv.DictReader(file))


def test_all_backends_compute_mnist_cnn_alike_or_for_a_known_reason(tmp_path: Path) -> None:
    status, said, rows = compare(tmp_path, "--backends", "all", "--examples", "mnist_cnn", "--batch-size", "32")
    assert status == 0, said
    assert [row["backend"] for row in rows] == list(BACKENDS)
    for row in rows:
        assert row["reference"] == "numpy"
        assert row["verdict"] in ("same", "explained"), said
        # Known differences are those of training: no backend may compute another model.
        assert float(row["outputs"]) < 1e-4 and float(row["loss"]) < 1e-5 and row["first_layer"] == ""
        assert bool(row["10_steps"]) == ("train" in BACKENDS[row["backend"]].can)


def test_a_sequential_without_an_input_is_compared_in_both_generations(tmp_path: Path) -> None:
    example = tmp_path / "words.py"
    example.write_text(SEQUENTIAL_OF_KERAS_2.replace("TRAINABLE", "True").replace("REGULARIZER", "None"), "utf-8")
    two = ("--backends", "keras2/tensorflow,keras3/jax", "--data", "synthetic")
    status, said, rows = compare(tmp_path, *two, "--examples", str(example))
    assert status == 0 and len(rows) == 2, said
    assert all(float(row["outputs"]) < 1e-4 and row["verdict"] in ("same", "explained") for row in rows), said
    assert {row["reference"] for row in rows} == {"numpy"}


# What is not in order goes wrong by a race between threads: six times of six when nothing else ran, but on a busy
# machine it may end well.
RACES = 8


def test_the_form_that_ships_is_found_out_and_the_layer_is_named(tmp_path: Path) -> None:
    two = ("--backends", "cntk,theano", "--examples", "mnist_hrnn", "--batch-size", "4")
    status, said, rows = compare(tmp_path, *two, "--form", "default")
    assert status == 1, said
    wrong, right = rows
    assert wrong["backend"].endswith("cntk") and wrong["verdict"] == "differs"
    assert wrong["first_layer_class"] == "TimeDistributed(LSTM)"
    assert float(wrong["first_layer_deviation"]) > 0.01
    assert right["verdict"] in ("same", "explained") and right["first_layer"] == ""


def test_keras_2_on_tensorflow_1_trains_rightly_only_with_its_updates_in_order(tmp_path: Path) -> None:
    two = ("--backends", "keras2/tensorflow,keras2/cntk", "--examples", "mnist_mlp")
    status, said, rows = compare(tmp_path / "ordered", *two)
    assert status == 0 and [row["verdict"] for row in rows] == ["same", "same"], said
    for attempt in range(RACES):
        status, said, rows = compare(tmp_path / f"as_it_ships_{attempt}", *two, "--form", "default")
        if status:
            break
    assert status == 1 and all(float(row["10_steps"]) > 1e-3 for row in rows), said
