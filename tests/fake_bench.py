"""Test helper: a temporary folder with fake backends, an example and its data, in which kbench runs in a second."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from fake_backends import fake_wheels, write_fake

from kbench import hooks, store
from kbench.analysis.times import spreads
from kbench.cells import launcher, orphans, runner
from kbench.cli import main
from kbench.machine import host, provenance
from kbench.records.values import Backend
from kbench.selection import backends
from kbench.store import RunResults

CHECKOUT = Path(__file__).resolve().parent.parent

EXAMPLE = '''"""Tells three patterns apart.

With a softmax regression.
"""

from keras.layers import Dense, Flatten
from keras.models import Sequential

DATA = "patterns.npz"
INPUT = "image"
BATCH_SIZE = 8
OPTIMIZER = {"class_name": "SGD", "learning_rate": 0.5, "momentum": 0.0}
LOSS = "categorical_crossentropy"
PARAMETERS = 51
PROFILES = {
    "smoke": {"samples": 32, "validation_samples": 12, "epochs": 2},
    "full": {"samples": 48, "validation_samples": 12, "epochs": 3},
}


def build_model(input_shape, num_classes):
    model = Sequential()
    model.add(Flatten(input_shape=input_shape))
    model.add(Dense(num_classes, activation="softmax"))
    return model
'''
PROGRAM = """
import numpy as np
from keras.layers import Dense
from keras.models import Sequential
from keras.optimizers import SGD

model, layer = Sequential(), Dense(3)
layer.input_shape = (3,)
model.add(layer)
model.compile("categorical_crossentropy", SGD(lr=0.5), [])
x = y = np.eye(3)
model.fit(x, y, batch_size=3, epochs=3, initial_epoch=0, shuffle=False, verbose=0, callbacks=[])
"""
START = """
import os
import sys
from kbench import hooks
from kbench.cells import runner
from kbench.cli import main
from kbench.machine import host
hooks.of_machine = lambda plan, earlier: {}
host.busy_cores = lambda: 0.0
runner.share_of_others = lambda before, after: 0.0
os.fsync = lambda descriptor: None
sys.exit(main.main())
"""
LOAD = backends.load
shipped = functools.cache(LOAD)
checked_out = functools.cache(provenance._checkout)  # for which git takes longer than all else of a small run
INFERENCE = EXAMPLE.replace('DATA = "patterns.npz"', 'TASK = "infer"\nDATA = "patterns.npz"')


@dataclass(frozen=True)
class Shop:
    """What all tests of a session share: the fakes' lock file, and a cache where their environments are made once."""

    wheels: Path
    lock: str
    cache: Path
    uv_cache: Path


def open_shop(folder: Path) -> Shop:
    return Shop(folder / "wheels", fake_wheels(folder / "wheels"), folder / "cache", folder / "uv")


@dataclass(frozen=True)
class Said:
    """What a command printed, and how it ended."""

    status: int
    out: str
    err: str


def call(capture: pytest.CaptureFixture[str], *argv: str) -> Said:
    """Run a command in this process."""
    capture.readouterr()
    status = main.main(argv)
    printed = capture.readouterr()
    return Said(status, printed.out, printed.err)


def refused(said: Said, *words: str) -> None:
    """The command was refused in one sentence with these words."""
    assert said.status == 2, said
    (line,) = said.err.splitlines()
    assert line.startswith("kbench: error: "), line
    for word in words:
        assert word in line, line


@contextlib.contextmanager
def ended_at_last(marked: str) -> Iterator[None]:
    """As `orphans.ended_with_this_process`, without the process that watches this one."""
    try:
        yield
    finally:
        orphans.end(marked)


def load_backend(path: Path) -> Backend:
    """As kbench does; the files of the checkout, which no test changes, once."""
    return shipped(path) if path.is_relative_to(CHECKOUT) else LOAD(path)


class Bench:
    """The current folder with my_example.py, a folder of backends with keras9/fake, a home, and results."""

    def __init__(self, folder: Path, shop: Shop, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]):
        self.folder = folder / "here"
        self.backends = folder / "backends"
        self.home = folder / "home"
        self.results = self.folder / "results"
        self.patch = patch
        self._shop = shop
        self._capture = capture
        for made in (self.folder, self.home):
            made.mkdir()
        for name in [name for name in os.environ if name.startswith(("PIP_", "UV_", "KBENCH_", "KERAS_"))]:
            patch.delenv(name)
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        variables = {
            "HOME": self.home,
            "KBENCH_CACHE": shop.cache,
            "KBENCH_BACKENDS": self.backends,
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": shop.wheels,
            "UV_CACHE_DIR": shop.uv_cache,
            "MPLCONFIGDIR": matplotlib.get_cachedir(),  # or each new home would need seconds to find its fonts
        }
        for name, value in variables.items():
            patch.setenv(name, str(value))
        patch.chdir(self.folder)
        patch.setattr(sys, "argv", ["kbench"])
        (shop.cache / spreads.SHIPPED.name).unlink(missing_ok=True)  # what runs of other tests showed
        # What features measure takes longer than all else, and what tests write need not survive a power cut.
        patch.setattr(hooks, "of_machine", lambda plan, earlier: {})
        patch.setattr(host, "busy_cores", lambda: 0.0)
        patch.setattr(provenance, "_checkout", checked_out)
        patch.setattr(runner, "share_of_others", lambda before, after: 0.0)
        patch.setattr(os, "fsync", lambda descriptor: None)
        patch.setattr(backends, "load", load_backend)
        # Nobody kills this process: tests/faults kills others, which are watched.
        patch.setattr(orphans, "ended_with_this_process", ended_at_last)
        patch.setattr(launcher, "POLL_SECONDS", 0.05)
        self._plots = False
        self.backend()
        self.example("my_example.py")
        write_patterns(self.folder / "patterns.npz")

    def draw(self) -> None:
        """Let plots be drawn, which takes longer than all else."""
        self._plots = True

    def backend(self, name: str = "keras9/fake", **options: str) -> None:
        """A fake backend's file: see fake_backends.write_fake. Its environment is the same whatever it says."""
        write_fake(self.backends, name, self._shop.lock, **options)

    def lock_of(self, package: str) -> str:
        """The lock file of one of the fakes alone."""
        return next(one for one in re.split(r"(?m)^(?=\w)", self._shop.lock) if one.startswith(f"{package}=="))

    def example(self, name: str, text: str = EXAMPLE) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def __call__(self, *argv: str) -> Said:
        """Run a command in this process."""
        return call(self._capture, *(argv if self._plots else without_plots(argv)))

    def measure(self, *options: str, backends: str = "fake", examples: str = "my_example.py") -> Said:
        """`run`, on the CPU and in the smallest profile; each cell once, unless the options say how often."""
        defaults = ("--backends", backends, "--examples", examples, "--profile", "smoke", "--device", "cpu")
        often = {"--repeats", "--budget", "--precision"} & {*options}
        return self(*defaults, *(() if often else ("--repeats", "1")), *options)

    def start(self, *argv: str, as_users_do: bool = False) -> subprocess.Popen[str]:
        """Run a command in a process of its own."""
        how = ["-m", "kbench", *argv] if as_users_do else ["-c", START, *without_plots(argv)]
        return subprocess.Popen(
            [sys.executable, *how],
            env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def environment(self) -> Path:
        """The folder in which the session's environments are."""
        return self._shop.cache / "environments"

    def runs(self) -> list[Path]:
        return sorted(self.results.iterdir()) if self.results.is_dir() else []

    def last(self) -> RunResults:
        return store.read(store.latest(self.results))

    def fates(self) -> dict[str, tuple[str, str]]:
        """Example -> status and reason of its only cell in the last run."""
        return {one.cell.example: (one.outcome.status, one.outcome.reason) for one in self.last().measured}

    def reason(self) -> str:
        """Why the only cell of the last run failed."""
        ((status, reason),) = self.fates().values()
        assert status == "failed", (status, reason)
        return reason


def without_plots(argv: Sequence[str]) -> list[str]:
    """The same command with --no-plots, where it has that option and measures or shows a run."""
    if argv[:1] and argv[0] in ("run", "resume", "report"):
        return [argv[0], "--no-plots", *argv[1:]]
    return ["--no-plots", *argv] if "--backends" in argv and argv[0].startswith("--") else [*argv]


def write_patterns(path: Path, samples: int = 48, validation: int = 12) -> None:
    """Pictures 4 x 4 x 1 of three classes, the same each time."""
    random = np.random.RandomState(7)
    patterns = random.randint(0, 200, (3, 4, 4, 1))
    arrays: dict[str, Any] = {}
    for part, count in (("train", samples), ("test", validation)):
        labels = np.arange(count) % 3
        noise = random.randint(0, 56, (count, 4, 4, 1))
        arrays[f"x_{part}"] = (patterns[labels] + noise).astype(np.uint8)
        arrays[f"y_{part}"] = labels.astype(np.int64)
    np.savez(path, **arrays)


def dying(how: str) -> str:
    """The example, with a line of Python that is run where its model would be built."""
    return EXAMPLE.replace("    model = Sequential()\n", f"    {how}\n    model = Sequential()\n")


def events_of(run: Path) -> list[Mapping[str, Any]]:
    """All that the guests of a run told, in the order of its cells' names."""
    files = sorted(run.glob("cells/*/events.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def gets_hint(capture: pytest.CaptureFixture[str], typed: str, hint: str) -> None:
    """A likely mistake was refused in one short line that says what to type."""
    said = call(capture, *typed.split())
    refused(said, hint)
    line = said.err.rstrip("\n")
    assert said.out == "" and line.endswith((".", "?")) and len(line) < 400, line
