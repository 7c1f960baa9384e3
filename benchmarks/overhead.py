"""What measuring costs: steady epochs under kbench over those of a bare script with the same model and data.

    python benchmarks/overhead.py [--pairs N] [--backends LIST] [--examples LIST]     where kbench is installed

Each pair is one cell of kbench, with all that it records, and one bare `model.fit` in a fresh process of the same
environment; which of them comes first alternates. Prints the median of the ratios with its 95 % interval. The goal is
at most 1.01. The real data are needed, or KBENCH_DATA.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from kbench import backends, devices, environments, intervals, launcher, paths, plan, results, specs  # noqa: E402
from kbench.values import Backend, Cell, Measured  # noqa: E402

SAMPLES = {"mnist_mlp": 10000, "mnist_cnn": 2560}
EPOCHS = 6
BARE = """\
import importlib.util, json, os, sys, time
spec = json.load(open(sys.argv[1]))
import keras
import numpy as np
loaded = importlib.util.spec_from_file_location("example", os.path.expanduser(spec["example"]))
example = importlib.util.module_from_spec(loaded)
loaded.loader.exec_module(example)
data = spec["data"]
read = lambda name: np.load(os.path.join(os.path.expanduser(data["folder"]), name))[:spec["samples"]]
used = spec["samples"] // spec["batch_size"] * spec["batch_size"]
x = (read(data["train"][0]) / np.float32(data["divisor"])).astype("float32")[:used]
y = np.eye(data["num_classes"], dtype="float32")[read(data["train_labels"])][:used]
settings = dict(example.OPTIMIZER)
optimizer = getattr(keras.optimizers, settings.pop("class_name"))
if keras.__version__.startswith("2"):
    settings["lr"] = settings.pop("learning_rate")
model = example.build_model(tuple(data["input_shapes"][0]), data["num_classes"])
model.compile(loss=example.LOSS, optimizer=optimizer(**settings), metrics=["accuracy"])
class Timer(keras.callbacks.Callback):
    seconds = []
    def on_epoch_begin(self, epoch, logs=None):
        self.start = time.perf_counter()
    def on_epoch_end(self, epoch, logs=None):
        self.seconds.append(time.perf_counter() - self.start)
model.fit(x, y, batch_size=spec["batch_size"], epochs=spec["epochs"], shuffle=True, verbose=0, callbacks=[Timer()])
print("seconds", json.dumps(Timer.seconds))
"""


def hosted(backend: str, example: str, folder: Path) -> tuple[float, Measured, Path]:
    """Median seconds of the steady epochs of one cell; the cell, and its folder."""
    command = [sys.executable, "-m", "kbench", "run", "--backends", backend, "--examples", example, "--device", "cpu"]
    counts = ["--samples", str(SAMPLES[example]), "--epochs", str(EPOCHS), "--results", str(folder)]
    subprocess.run([*command, *counts], cwd=CHECKOUT, check=True, capture_output=True)
    run = results.latest(folder)
    (one,) = results.read(run).measured
    return statistics.median(epoch.seconds for epoch in one.epochs[1:]), one, results.cell_folder(run, one.cell).path


def bare(backend: Backend, cell: Cell, cell_folder: Path) -> float:
    """Median seconds of the steady epochs of a bare fit, with the variables and the keras.json of that cell."""
    environment = environments.ensure(backend, devices.pick_build(backend, devices.CPU))
    variables = specs.environment_variables(
        os.environ,
        environments.variables(environment, plan.cores()),
        devices.pin_variables(devices.CPU),
        cell_folder / "keras_home",
    )
    log = cell_folder / "bare.txt"
    script = cell_folder / "bare.py"
    script.write_text(BARE, "utf-8")
    ended = launcher.launch(
        [str(environment.python), str(script), str(cell_folder / "spec.json")],
        variables=variables,
        folder=cell_folder,
        log=log,
        timeout=1800.0,
        watch=lambda: None,
    )
    said = log.read_text("utf-8", "replace")
    assert ended.code == 0, said[-2000:]
    seconds = json.loads(said.rpartition("seconds ")[2].splitlines()[0])
    assert len(seconds) == cell.epochs
    return statistics.median(seconds[1:])


def main() -> None:
    """Measure and print a line for each example and backend."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--backends", default="keras2/tensorflow,keras3/tensorflow,keras3/jax,keras3/torch")
    parser.add_argument("--examples", default="mnist_mlp,mnist_cnn")
    options = parser.parse_args()
    known = backends.load_all(paths.project_folder("backends"))
    print(f"{'example':12} {'backend':20} {'kbench':>8} {'bare':>8}   ratio")
    for example in options.examples.split(","):
        for name in options.backends.split(","):
            pairs = []
            with tempfile.TemporaryDirectory() as folder:
                _, one, cell_folder = hosted(name, example, Path(folder))  # warms caches, and says where things are
                for number in range(options.pairs):
                    if number % 2:
                        alone = bare(known[name], one.cell, cell_folder)
                        pairs.append((hosted(name, example, Path(folder))[0], alone))
                    else:
                        with_kbench = hosted(name, example, Path(folder))[0]
                        pairs.append((with_kbench, bare(known[name], one.cell, cell_folder)))
            ratios = [with_kbench / alone for with_kbench, alone in pairs]
            interval = intervals.of_median(tuple(ratios))
            print(
                f"{example:12} {name:20} {statistics.median(a for a, _ in pairs):8.3f} "
                f"{statistics.median(b for _, b in pairs):8.3f}   {statistics.median(ratios):.3f}"
                + (f" ({interval.low:.3f}-{interval.high:.3f})" if interval else ""),
                flush=True,
            )


if __name__ == "__main__":
    main()
