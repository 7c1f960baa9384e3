"""Processes that only time steps: with what they begin, what they leave out, and when they end."""

from __future__ import annotations

import contextlib
import json
import math
import shutil
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from fake_bench import EXAMPLE, Bench
from guest_modules import alone, guest

from kbench import store
from kbench.base import paths
from kbench.cells import turns

STEPS = 4  # of an epoch
STEP_SECONDS = 0.25
WEIGHTS = [np.array([[1.5, 2.5]], "float32"), np.array([3.5], "float32")]
# What the model's weights are when a training begins, and after each of its epochs: a file for each process.
TELLS_WEIGHTS = """
import json
import os

from keras.callbacks import Callback


class Tells(Callback):
    def on_train_begin(self, logs=None):
        self.tell()

    def on_epoch_end(self, epoch, logs=None):
        self.tell()

    def tell(self):
        with open(FOLDER + "/%d.txt" % os.getpid(), "a") as file:
            print(json.dumps([value.tolist() for value in self.model.get_weights()]), file=file)

def callbacks():
    return [Tells()]
"""


@pytest.fixture
def timing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The module, with a clock of the test's, and a host that gives one turn after the other."""
    ours, guests = socket.socketpair()
    monkeypatch.setenv("KBENCH_TURNS", str(guests.fileno()))

    def give_turns() -> None:
        number = 0
        while ours.recv(16):
            number += 1
            ours.send(struct.pack("!I", number))

    host = threading.Thread(target=give_turns)
    with ours, guest(tmp_path, "training.timing", "training.epochs", "clock", "turns") as (module, epochs, *others):
        host.start()
        now = SimpleNamespace(seconds=0.0)
        with contextlib.ExitStack() as patches:
            for one in (module, epochs, *others):
                patches.enter_context(
                    mock.patch.object(one, "time", SimpleNamespace(perf_counter=lambda: now.seconds))
                )
            patches.enter_context(mock.patch.object(module.arrays, "Buffer", mock.MagicMock()))
            module.now, module.epochs, module.turns = now, epochs, others[1]  # type: ignore[attr-defined]
            yield module
        guests.close()
        host.join()


class Model:
    """Counts its steps; whatever else is asked of it, such as a prediction before a training, is a fault."""

    def __init__(self, now: Any) -> None:
        self.now = now
        self.steps = 0

    def function(self, batch: int) -> int:
        self.now.seconds += STEP_SECONDS
        self.steps += 1
        return batch

    def once(self) -> None:
        for batch in range(STEPS):
            self.function(batch)


class Inferring(Model):
    def predict(self, inputs: Any, batch_size: int, verbose: int) -> None:
        self.once()


def step_hook(model: Any, kind: str, wrap: Any) -> None:
    model.function = wrap(model.function)


def train_epoch(model: Any, epoch: int, given: Any, clock: Any, callbacks: Any) -> dict[str, float]:
    clock.begin(epoch)
    model.once()
    clock.finish(epoch)
    return {"loss": 0.5, "accuracy": 0.25}


def short(timing: ModuleType, trained: str = "", model: type[Model] = Model, **changes: Any) -> Any:
    """The model after a short process, and its events."""
    written: list[dict[str, Any]] = []
    events = SimpleNamespace(write=lambda event, **values: written.append({"event": event, **values}))
    framework = SimpleNamespace(
        calls=lambda example, steps: steps, train_epoch=train_epoch, step_hook=step_hook,
        wait=lambda model, outputs=None: None, pending=lambda outputs: None,
        workers=alone("frameworks/workers").Workers(),
    )  # fmt: skip
    feed = SimpleNamespace(steps=STEPS, samples=2 * STEPS, of_epoch=lambda epoch: {"x": None, "y": None})
    asked = {"batch_size": 2, "epochs": 3, "timing": 1, "trained": trained, "task": "train", "seed": 1, **changes}
    made = model(timing.now)
    part = SimpleNamespace(samples=2 * STEPS)
    timing.epochs.measure(framework, made, SimpleNamespace(), asked, feed, part, None, events)
    return made, written


@pytest.mark.parametrize(("task", "model"), [("train", Model), ("infer", Inferring)])
def test_it_does_nothing_but_steps_and_ends_when_its_time_is_settled(
    timing: ModuleType, tmp_path: Path, task: str, model: type[Model]
) -> None:
    path = str(tmp_path / "kept.npz")
    timing.keep(path, lambda: WEIGHTS)
    done, written = short(timing, path, model, task=task)
    assert {one["event"] for one in written} == {"epoch"}
    seconds = [seconds for one in written for seconds in one["step_seconds"]]
    assert len(seconds) == done.steps, "each step is timed, from the first"
    assert seconds == pytest.approx([STEP_SECONDS] * len(seconds))
    numbers = [turn[0] for one in written for turn in one["rounds"]]
    warm = sum(turn[2] - turn[1] for one in written for turn in one["rounds"] if turn[0] > 1) * STEP_SECONDS
    settled = timing.turns
    assert len(set(numbers) - {0, 1}) >= settled.FEWEST_TURNS, "its first turn warms up"
    longest = settled.SHORT_SECONDS + 2 * STEP_SECONDS
    most = max(settled.MANY_SECONDS, settled.SETTLED_TURNS * longest) + longest
    assert settled.SETTLED_SECONDS / 2 <= warm <= most
    assert sum(one["samples"] for one in written) == 2 * done.steps


def test_a_training_without_kept_weights_does_its_first_epoch_untimed(timing: ModuleType, tmp_path: Path) -> None:
    for path in ("", str(tmp_path / "none.npz")):
        done, written = short(timing, path)
        assert [one["epoch"] for one in written] == [*range(2, len(written) + 2)]
        assert sum(len(one["step_seconds"]) for one in written) == done.steps - STEPS


def test_inference_needs_no_kept_weights(timing: ModuleType) -> None:
    done, written = short(timing, "", Inferring, task="infer")
    assert written[0]["epoch"] == 1 and sum(len(one["step_seconds"]) for one in written) == done.steps


def test_one_whose_steps_nobody_sees_or_that_takes_no_turns_ends_after_an_epoch(
    timing: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mock.patch(f"{__name__}.step_hook", lambda *_: None):
        done, written = short(timing, "", Inferring, task="infer")
    assert done.steps == STEPS and not written
    monkeypatch.delenv("KBENCH_TURNS")
    done, written = short(timing, "", Inferring, task="infer")
    assert done.steps == STEPS and "rounds" not in written[0]


def test_weights_are_kept_whole_or_not_at_all(timing: ModuleType, tmp_path: Path) -> None:
    path = str(tmp_path / "kept.npz")
    assert timing.kept("") is None and timing.kept(path) is None
    timing.keep("", lambda: pytest.fail("they are not asked for"))
    with mock.patch.object(timing, "MOST_NUMBERS", 2):
        timing.keep(path, lambda: WEIGHTS)
    assert [file.name for file in tmp_path.iterdir()] == ["keras.json"]
    timing.keep(path, lambda: WEIGHTS)
    for found, wanted in zip(timing.kept(path), WEIGHTS, strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["kept.npz", "keras.json"]


def test_it_begins_with_the_weights_that_the_whole_training_of_its_row_ended_with(
    bench: Bench, tmp_path: Path
) -> None:
    settled_soon(bench, tmp_path / "guest")
    bench.patch.setattr(turns, "DISTURBED", math.inf)  # by what else runs on this machine
    bench.backend("keras9/other")
    (tmp_path / "told").mkdir()
    bench.example("my_example.py", f"{EXAMPLE}{TELLS_WEIGHTS}\nFOLDER = {str(tmp_path / 'told')!r}\n")
    assert bench.measure("--precision", "0.9", "--budget", "10m", backends="fake,other").status == 0
    run = bench.last()
    assert len(run.short) >= 4 and {one.outcome.status for one in (*run.measured, *run.short)} == {"ok"}
    assert not (run.folder / "trained").exists()
    for one in run.short:
        told = [json.loads(line) for line in store.cell_folder(run.folder, one.cell).events.read_text().splitlines()]
        assert not {"probe", "first_step"} & {*one.phases, *(event["event"] for event in told)}
        assert len({turn.round for epoch in one.epochs for turn in epoch.rounds}) > 3, "it took turns"
    weights = [file.read_text().splitlines() for file in (tmp_path / "told").iterdir()]
    whole, short = ([lines for lines in weights if (len(lines) == 1) is one] for one in (False, True))
    (before,), (after,) = ({lines[end] for lines in whole} for end in (0, -1))
    assert before != after and len(short) == len(run.short)
    assert {line for lines in short for line in lines} == {after}


def settled_soon(bench: Bench, folder: Path) -> None:
    """Let short processes end after half a second."""
    shutil.copytree(paths.GUEST, folder)
    file = folder / "kbench_guest" / "turns.py"
    (line,) = (line for line in file.read_text().splitlines() if line.startswith("SHORT_SECONDS"))
    file.write_text(file.read_text().replace(line, "SHORT_SECONDS, SETTLED_TURNS, SETTLED_SECONDS = 0.1, 5, 0.4"))
    bench.patch.setattr(paths, "GUEST", folder)
