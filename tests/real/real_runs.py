"""Test helper: runs kbench commands on real backends, small and on the CPU, and reads the results."""

from __future__ import annotations

import csv
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import left_out
import numpy as np
import pytest
from warm import Warm

from kbench import hooks, store
from kbench.analysis.sameness import fingerprints, first_outputs
from kbench.base import paths
from kbench.cells import launcher
from kbench.cli import main
from kbench.environments import ensure
from kbench.planning.request import cores
from kbench.records.values import UNAVAILABLE, Environment, Measured, base
from kbench.selection import backends
from kbench.session import interrupts
from kbench.store import RunResults

CHECKOUT = Path(__file__).resolve().parents[2]
KNOWN = backends.load_all(paths.project_folder("backends"))
MIRROR = CHECKOUT.parent / "shared" / "datasets"
# float32: a dot product of n terms is good to about n**0.5 * 6e-8 of its size, and ResNet-50 has 53 in a row.
RELATIVE, ABSOLUTE = 1e-3, 1e-4

# As people wrote it for Keras 2: no Input, and the first layer says how long its sequences are.
SEQUENTIAL = '''"""Words, read by a small recurrent layer."""

import keras
from keras.layers import GRU, Conv1D, Dense, Embedding
from keras.models import Sequential
from keras.regularizers import l2

DATA = "imdb"
INPUT = "sequence"
BATCH_SIZE = 16
OPTIMIZER = {"class_name": "RMSprop", "learning_rate": 0.001}
LOSS = "binary_crossentropy"
PROFILES = {"full": {"samples": 25000, "validation_samples": 0, "epochs": 1}}
BACKEND = keras.backend.backend()


def build_model(input_shape, num_classes):
    model = Sequential()
    model.add(Embedding(30000, 8, input_length=input_shape[0]))
    CONVOLUTION
    model.add(GRU(4, recurrent_activation="sigmoid", reset_after=RESET_AFTER))
    model.add(Dense(4, activation="tanh", kernel_regularizer=REGULARIZER))
    model.add(Dense(1, activation="sigmoid", trainable=TRAINABLE))
    return model
'''


PLAIN = {"CONVOLUTION": "pass", "RESET_AFTER": "False", "REGULARIZER": "None", "TRAINABLE": "True"}


def sequential(folder: Path, **expressions: str) -> str:
    """Write it as an example, with these expressions instead of those of PLAIN; returns its path."""
    written = SEQUENTIAL
    for name, expression in {**PLAIN, **expressions}.items():
        written = written.replace(name, expression)
    example = folder / "words.py"
    example.write_text(written, "utf-8")
    return str(example)


@dataclass(frozen=True)
class Finished:
    """A command that has ended: its exit status, what it printed, and the folder of its run."""

    status: int
    output: str
    folder: Path

    def results(self) -> RunResults:
        return store.read(self.folder)

    def cell(self) -> Measured:
        """The run's only cell."""
        (measured,) = self.results().measured
        return measured

    def events(self) -> list[dict[str, Any]]:
        """Every event of the only cell, in the order in which the guest wrote them."""
        lines = store.cell_folder(self.folder, self.cell().cell).events.read_text("utf-8").splitlines()
        return [json.loads(line) for line in lines]

    def spec(self) -> dict[str, Any]:
        """What the guest of the only cell was asked to do."""
        spec: dict[str, Any] = json.loads(store.cell_folder(self.folder, self.cell().cell).spec.read_text("utf-8"))
        return spec

    def parity(self) -> list[dict[str, str]]:
        """The rows of parity.csv."""
        with (self.folder / "parity.csv").open(newline="") as file:
            return list(csv.DictReader(file))


class Kbench:
    """Runs commands in this process; real data, from the mirror where there is one."""

    def __init__(
        self, results: Path, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str], warm: Warm
    ) -> None:
        self._results = results
        self._patch = patch
        self._capture = capture
        self._warm = warm
        # What JAX compiles is kept in the cache folder, as what Theano compiles is. None: as users have it.
        self.compiled: Path | None = paths.cache_folder() / "compiled" / "by-tests"
        self._variables = ensure.variables
        patch.setattr(ensure, "variables", self._with_compiled)
        if not os.environ.get("KBENCH_DATA") and MIRROR.is_dir():
            patch.setenv("KBENCH_DATA", str(MIRROR))
        # How fast the machine is takes longer to measure than most of these cells, and has tests of its own.
        limits = {"operations_per_second": 1e11, "bytes_per_second": 1e10}
        patch.setattr(hooks, "of_machine", lambda plan, earlier: {"limits": limits})

    def measure(self, backends: str, examples: str, *options: str) -> Finished:
        """One cell after the other, in processes that other tests share."""
        with self._patch.context() as patch:
            patch.setattr(launcher, "launch", self._warm.launch)
            return self.measure_apart(backends, examples, "--interleave", "off", *options)

    def measure_apart(self, backends: str, examples: str, *options: str) -> Finished:
        """As users do: each cell in a process of its own, and in turns."""
        selection = ("--backends", backends, "--examples", examples)
        return self._run("run", *selection, "--profile", "smoke", "--no-plots", *options)

    def script(self, path: Path, backends: str, *options: str) -> Finished:
        """Once on each; what stands behind `--` in the options are the script's own arguments."""
        place = options.index("--") if "--" in options else len(options)
        mine, arguments = options[:place], options[place:]
        asked = ("--backends", backends, "--repeats", "1", "--no-plots", *mine)
        return self._run("script", str(path), *asked, behind=arguments)

    def parity(self, backends: str, example: str, *options: str) -> Finished:
        """In processes that other tests share."""
        with self._patch.context() as patch:
            patch.setattr(launcher, "launch", self._warm.launch)
            return self._run("parity", "--backends", backends, "--examples", example, *options)

    def parity_of_script(self, backends: str, file: Path) -> Finished:
        return self._run("parity", "--backends", backends, "--script", str(file))

    def coverage(self, backends: str, only: str, *options: str) -> Finished:
        return self._run("coverage", "--backends", backends, "--only", only, "--fail-on", "differs", *options)

    def _with_compiled(
        self,
        environment: Environment,
        threads: int,
        example: str = "{example}",
        compiled: str = "",
        workers: int = 1,
    ) -> dict[str, str]:
        return self._variables(environment, threads, example, str(self.compiled or compiled), workers)

    def _run(self, *argv: str, behind: tuple[str, ...] = ()) -> Finished:
        status = main.main([*argv, "--device", "cpu", *own_threads(), "--results", str(self._results), *behind])
        if status == interrupts.INTERRUPTED_STATUS:
            raise KeyboardInterrupt  # Ctrl-C was meant for the tests, too
        printed = self._capture.readouterr()
        output = printed.out + printed.err
        assert self._results.is_dir(), output
        folder = store.latest(self._results)
        for one in store.read(folder).measured:
            about = KNOWN.get(base(one.cell.backend))
            if one.outcome.status == UNAVAILABLE and not (about and about.unavailable):
                left_out.skip(f"{one.cell.backend} is needed, which cannot be installed here: {one.outcome.reason}")
        return Finished(status, output, folder)


def own_threads() -> list[str]:
    """The option that gives this test process its share of the cores, where several run at once.

    The threads of two frameworks that spin on the same cores take ten times as long.
    """
    together = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    return ["--threads", str(max(1, cores()[0] // together))] if together > 1 else []


def compare_with_other_tests(run: Finished, folder: Path) -> None:
    """The run's cells and those of other tests have for each example the same model, data and first outputs.

    Every pair is compared: by whichever of the two comes later.
    """
    for measured in run.results().measured:
        here = folder / "runs" / measured.cell.example
        here.mkdir(parents=True, exist_ok=True)
        part = here / f"{measured.cell.id}.part"
        part.write_text(str(run.folder), "utf-8")
        part.rename(part.with_suffix(".run"))
        for path in here.glob("*.run"):
            others = store.read(Path(path.read_text("utf-8"))).measured
            (other,) = (one for one in others if one.cell.id == path.stem)
            own, expected = (first_outputs.of(one) for one in (measured, other))
            assert own is not None and expected is not None
            np.testing.assert_allclose(own.numbers, expected.numbers, RELATIVE, ABSOLUTE, err_msg=path.stem)
            assert fingerprints.differences(fingerprints.fill_in_layers([other, measured])) == {}
