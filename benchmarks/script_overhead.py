"""What kbench costs a user's program: the program times itself, by itself and under `script`, in pairs.

    python benchmarks/script_overhead.py [--pairs N] [--backends LIST]

Printed is, for each backend, the median ratio of the steady epoch, as the program's own callback times it, and of the
whole process, beside how many seconds that is more; each with its interval. The goals: 1 % of an epoch, and 2 % and a
second of the whole. Nothing else should run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from kbench import paths, store
from kbench.analysis import intervals
from kbench.environments import ensure
from kbench.machine import reference_work
from kbench.planning.request import cores
from kbench.selection import backends
from kbench.values import CHANNELS_LAST, Backend

PROGRAM = """
import time

import numpy as np
from keras.callbacks import Callback
from keras.layers import Dense
from keras.models import Sequential


class Times(Callback):
    def on_epoch_begin(self, epoch, logs=None):
        self.start = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        print(time.perf_counter() - self.start)


x = np.random.RandomState(0).normal(size=(20000, 256)).astype("float32")
model = Sequential([Dense(512, activation="relu", input_shape=(256,)), Dense(512, activation="relu"), Dense(1)])
model.compile("adam", "mse")
model.fit(x, x[:, :1], batch_size=64, epochs=6, verbose=0, callbacks=[Times()])
"""


def bare(program: Path, backend: Backend, home: Path) -> tuple[str, float]:
    """What the program prints by itself, and the seconds of its process."""
    environment = ensure.ensure(backend, next(build for build in backend.builds if build.device == "cpu"))
    settings = {"backend": backend.keras_backend, "image_data_format": CHANNELS_LAST}
    (home / "keras.json").write_text(json.dumps({**settings, "floatx": "float32", "epsilon": 1e-7}))
    reference_work.measure(12, cores(), dict(os.environ))  # as before a cell: an idle processor begins slowly
    start = time.monotonic()
    done = subprocess.run(
        [str(environment.python), program.name],
        cwd=program.parent,
        env={**os.environ, **ensure.variables(environment, cores()), "KERAS_HOME": str(home)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout, time.monotonic() - start


def observed(program: Path, backend: Backend, results: Path, name: str) -> tuple[str, float]:
    """The same under kbench."""
    options = ("--repeats", "1", "--interleave", "off", "--device", "cpu", "--no-plots", "--quiet")
    subprocess.run(
        [
            *(sys.executable, str(CHECKOUT / "run.py"), "script", str(program), "--backends", backend.name, *options),
            *("--results", str(results), "--name", name),
        ],
        check=True,
        cwd=CHECKOUT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    (one,) = store.read(results / name).measured
    return store.cell_folder(results / name, one.cell).stdout.read_text(), one.outcome.seconds or 0.0


def epoch(printed: str) -> float:
    """The median of the steady epochs that the program printed."""
    return median(float(line) for line in printed.split()[1:])


def shown(values: list[float]) -> str:
    """The median and its interval."""
    interval = intervals.of_median(values)
    return f"{median(values):.3f}" + (f" ({interval.low:.3f} to {interval.high:.3f})" if interval else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--backends", default="keras2/tensorflow,keras3/jax,keras3/torch")
    asked = parser.parse_args()
    known = backends.load_all(paths.project_folder("backends"))
    with tempfile.TemporaryDirectory() as made:
        program = Path(made, "program", "train.py")
        for folder in (program.parent, Path(made, "home")):
            folder.mkdir()
        program.write_text(PROGRAM)
        for name in asked.backends.split(","):
            epochs, totals, more = [], [], []
            for pair in range(asked.pairs):
                found: dict[str, tuple[str, float]] = {}
                for way in ("bare", "kbench")[:: 1 if pair % 2 else -1]:
                    if way == "bare":
                        found[way] = bare(program, known[name], Path(made, "home"))
                    else:
                        run = f"{name.replace('/', '-')}-{pair}"
                        found[way] = observed(program, known[name], Path(made, "results"), run)
                (plain, alone), (watched, together) = found["bare"], found["kbench"]
                epochs.append(epoch(watched) / epoch(plain))
                totals.append(together / alone)
                more.append(together - alone)
            print(f"{name:18} epoch x {shown(epochs)}; process x {shown(totals)}, {shown(more)} s more", flush=True)


if __name__ == "__main__":
    main()
