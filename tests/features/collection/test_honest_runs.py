"""Honest runs of many kinds, measured on fake backends, are admitted; and an epoch is computed again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import fake_bench
import pytest
from collected import edit_events
from fake_bench import INFERENCE, PROGRAM, Bench

from kbench import store

TERMS = 'title = "T"\nkbench = ["0.1.0"]\nprograms = true\n[asked]\nprocesses = 1\ndisturbed = 1.0\n'


@pytest.fixture(autouse=True)
def by_no_changed_kbench(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever changes kbench runs these tests, too. Before `bench`, which keeps what it finds."""
    monkeypatch.setattr(fake_bench, "checked_out", lambda root: {})


def collection_of(bench: Bench) -> Path:
    """A collection that has the example's file."""
    folder = bench.folder / "collection"
    (folder / "examples").mkdir(parents=True)
    (folder / "collection.toml").write_text(TERMS)
    for name in ("my_example.py", "patterns.npz"):
        shutil.copy(bench.folder / name, folder / "examples")
    return folder


def two(bench: Bench, *options: str) -> None:
    bench.backend("keras9/other")
    assert bench.measure(*options, backends="fake,other").status == 0


def inference(bench: Bench) -> None:
    bench.example("my_example.py", INFERENCE)
    two(bench)


def program(bench: Bench) -> None:
    bench.example("train.py", PROGRAM)
    assert bench("script", "train.py", "--backends", "fake", "--repeats", "2", "--no-plots").status == 0


def workers(bench: Bench) -> None:
    bench.backend(more='workers = "processes"')
    assert bench.measure("--workers", "1,2").status in (0, 1)


def variant(bench: Bench) -> None:
    assert bench.measure(backends="fake,fake+OMP_NUM_THREADS=1").status == 0


def resumed(bench: Bench) -> None:
    two(bench, "--repeats", "2")
    run = store.latest(bench.results)
    (last,) = run.glob("cells/*other*__r2")
    (last / "outcome.json").unlink()
    lines = (last / "events.jsonl").read_text().splitlines()
    (last / "events.jsonl").write_text("\n".join(lines[:-3]))
    assert bench("resume", "latest").status == 0


KINDS: dict[str, Callable[[Bench], None]] = {
    "in turns": lambda bench: two(bench, "--repeats", "3"),
    "one after the other": lambda bench: two(bench, "--interleave", "off"),
    "seeds": lambda bench: two(bench, "--repeats", "2", "--seeds", "different"),
    "batch sizes": lambda bench: two(bench, "--batch-size", "4,8"),
    "threads": lambda bench: two(bench, "--threads", "1,2"),
    "synthetic data": lambda bench: two(bench, "--data", "synthetic"),
    "another seed": lambda bench: two(bench, "--seed", "7"),
    "more epochs": lambda bench: two(bench, "--epochs", "4"),
    "the full profile": lambda bench: two(bench, "--profile", "full"),
    "inference": inference,
    "a program": program,
    "a variant": variant,
    "workers": workers,
    "interrupted and resumed": resumed,
}
ALWAYS = ("in turns", "inference", "a program", "interrupted and resumed")


@pytest.mark.parametrize(
    "kind", [one if one in ALWAYS else pytest.param(one, marks=pytest.mark.thorough) for one in KINDS]
)
def test_an_honest_run_is_admitted(kind: str, bench: Bench) -> None:
    KINDS[kind](bench)
    to = collection_of(bench)
    run = store.latest(bench.results)
    bench("pack", run.name)
    said = bench("admit", run.name, "--to", str(to))
    assert said.status == 0, said.out
    assert said.out.startswith(f"Admitted: {run.name} (")


def test_an_epoch_is_computed_again_and_losses_that_the_seed_does_not_give_are_refused(bench: Bench) -> None:
    assert bench.measure("--name", "mine", "--repeats", "2").status == 0
    to = collection_of(bench)
    bench("pack", "mine")
    said = bench("admit", "mine", "--to", str(to), "--check", "--replay", "2")
    assert said.status == 0 and "rows, replay\n" in said.out, said.out
    assert said.err.count("replay: my_example on keras9/fake, repeat") == 2
    (to / "collection.toml").write_text(f"{TERMS}replay = 3\n")
    asked = bench("admit", "mine", "--to", str(to), "--check")
    assert asked.status == 1 and "the collection asks for it: 2 of 3 cells could be computed again here" in asked.out
    (to / "collection.toml").write_text(TERMS)
    for cell in (bench.results / "mine" / "cells").iterdir():
        edit_events(cell, lambda event: event | {"loss": event["loss"] / 2} if event["event"] == "epoch" else event)
    (bench.results / "mine" / "summary.csv").unlink()
    bench("pack", "mine")
    assert bench("admit", "mine", "--to", str(to), "--check").status == 0  # nothing in it contradicts that
    forged = bench("admit", "mine", "--to", str(to), "--check", "--replay", "1")
    assert forged.status == 1 and "its loss in epoch 1 is" in forged.out and "in what is computed here" in forged.out
    (to / "examples" / "my_example.py").unlink()
    gone = bench("admit", "mine", "--to", str(to), "--replay", "1")
    assert gone.status == 1 and "my_example is no example of kbench or of the collection" in gone.out
