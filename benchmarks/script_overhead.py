"""What kbench costs a user's program: an epoch of its fits, and the whole of it.

    python benchmarks/script_overhead.py [--pairs N] [--processes N] [--backends LIST] [--model dense|conv]

For an epoch, one program under `script` fits its model again and again, in pairs in random order: once through
`fit` as kbench observes it, once through the method that Keras has, which kbench keeps. An epoch lasts until the next
one begins, so that it holds all that kbench does between the two; a fit's first is left out. For the whole, the
program with a single fit runs by itself and under `script`, in pairs of processes. Printed are the medians of the
pairs' ratios, and of the seconds that a process takes more, with their intervals. The goals: 1 % of an epoch, and 2 %
and a second of the whole. `dense` has steps of about a millisecond, in which each microsecond counts; `conv` has some
of tens of milliseconds, as most programs do. Nothing else should run. It takes about five minutes on two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import real_command

from kbench import store
from kbench.analysis.times import intervals
from kbench.base import paths
from kbench.environments import ensure
from kbench.planning.request import cores
from kbench.records.values import CHANNELS_LAST, Backend
from kbench.selection import backends

# Its arguments are the number of pairs, and the model; with 0 it fits once, as a user's program would.
PROGRAM = """
import random
import sys
import time

import numpy as np
from keras.callbacks import Callback
from keras.layers import Conv2D, Dense, Flatten, MaxPooling2D
from keras.models import Sequential


class Begins(Callback):
    def on_train_begin(self, logs=None):
        self.times = []

    def on_epoch_begin(self, epoch, logs=None):
        self.times.append(time.perf_counter())


if sys.argv[2] == "dense":
    x = np.random.RandomState(0).normal(size=(10000, 256)).astype("float32")
    layers = [Dense(512, activation="relu", input_shape=(256,)), Dense(512, activation="relu"), Dense(1)]
else:
    x = np.random.RandomState(0).normal(size=(1024, 28, 28, 1)).astype("float32")
    layers = [Conv2D(32, 3, activation="relu", input_shape=(28, 28, 1)), MaxPooling2D(), Flatten(), Dense(1)]
y = x.reshape(len(x), -1)[:, :1]
model = Sequential(layers)
model.compile("adam", "mse")


def steady_epoch(fit, epochs):
    begins = Begins()
    fit(model, x, y, batch_size=64, epochs=epochs, verbose=0, callbacks=[begins])
    return (begins.times[-1] - begins.times[1]) / (epochs - 2)


steady_epoch(type(model).fit, 6)
for pair in range(int(sys.argv[1])):
    ways = [("observed", type(model).fit), ("bare", type(model).fit.__wrapped__)]
    random.shuffle(ways)
    print(" ".join("%s %r" % (name, steady_epoch(fit, 4)) for name, fit in ways))
"""


def bare(program: Path, backend: Backend, home: Path, model: str) -> float:
    """Seconds of the program's process by itself."""
    environment = ensure.ensure(backend, next(build for build in backend.builds if build.device == "cpu"))
    settings = {"backend": backend.keras_backend, "image_data_format": CHANNELS_LAST}
    (home / "keras.json").write_text(json.dumps({**settings, "floatx": "float32", "epsilon": 1e-7}))
    start = time.monotonic()
    subprocess.run(
        [str(environment.python), program.name, "0", model],
        cwd=program.parent,
        env={**os.environ, **ensure.variables(environment, cores()[0]), "KERAS_HOME": str(home)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    return time.monotonic() - start


def observed(
    program: Path, backend: Backend, results: Path, name: str, model: str, pairs: int = 0
) -> tuple[str, float]:
    """What the program prints under kbench, and the seconds of its process."""
    command = ("script", str(program), "--backends", backend.name, "--interleave", "off")
    (one,) = real_command.measured(command, results / name, arguments=(str(pairs), model))
    return store.cell_folder(results / name, one.cell).stdout.read_text(), one.outcome.seconds or 0.0


def ratios(printed: str) -> list[float]:
    """Of each pair that the program printed: a steady epoch's seconds observed over bare."""
    found = []
    for line in printed.splitlines():
        words = line.split()
        seconds = dict(zip(words[::2], map(float, words[1::2]), strict=True))
        found.append(seconds["observed"] / seconds["bare"])
    return found


def shown(values: Sequence[float]) -> str:
    """The median and its interval."""
    interval = intervals.of_median(values)
    return f"{median(values):.3f}" + (f" ({interval.low:.3f} to {interval.high:.3f})" if interval else "")


def main() -> None:
    """Measure, and print a line for each backend."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=25, help="of epochs")
    parser.add_argument("--processes", type=int, default=3, help="pairs of them")
    parser.add_argument("--backends", default="keras2/tensorflow,keras3/jax,keras3/torch")
    parser.add_argument("--model", choices=("dense", "conv"), default="dense")
    asked = parser.parse_args()
    known = backends.load_all(paths.project_folder("backends"))
    with tempfile.TemporaryDirectory() as made:
        program, home, results = Path(made, "program", "train.py"), Path(made, "home"), Path(made, "results")
        for folder in (program.parent, home):
            folder.mkdir()
        program.write_text(PROGRAM)
        for name in asked.backends.split(","):
            run = name.replace("/", "-")
            printed, _ = observed(program, known[name], results, run, asked.model, asked.pairs)
            print(f"{name:18} epoch x {shown(ratios(printed))} in {asked.pairs} pairs", end="", flush=True)
            alone, together = [], []
            for pair in range(asked.processes):
                for way in ("bare", "kbench")[:: 1 if pair % 2 else -1]:
                    if way == "bare":
                        alone.append(bare(program, known[name], home, asked.model))
                    else:
                        together.append(observed(program, known[name], results, f"{run}-{pair}", asked.model)[1])
            both = list(zip(together, alone, strict=True))
            if both:
                more = f"{shown([ours - bare for ours, bare in both])} s more"
                print(f"; process x {shown([ours / bare for ours, bare in both])}, {more}", end="")
            print(flush=True)


if __name__ == "__main__":
    main()
