"""Users' programs run as they would by themselves, on the backends that are asked for, and are seen as they are."""

from __future__ import annotations

import ast
import csv
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from real_runs import Finished, Kbench, own_threads

from kbench import hooks, store
from kbench.analysis.rows import summarised
from kbench.base import paths
from kbench.datasets import fetch
from kbench.environments import ensure
from kbench.features.script import events
from kbench.records.values import CHANNELS_LAST, OK
from kbench.selection import backends

pytestmark = [pytest.mark.timeout(3600), pytest.mark.slow("several backends start")]
BACKENDS = backends.load_all(paths.project_folder("backends"))
PROGRAMS = Path(__file__).parent / "programs"
ONE_OF_EACH = ("keras2/tensorflow", "keras3/jax", "keras3/torch")
# Instead of ONE_OF_EACH: Keras 2 has no compute_loss, and Keras 3.15 cannot train a stateful layer on PyTorch.
ON = {
    "called": ("keras3/tensorflow", "keras3/jax", "keras3/torch"),
    "custom_step": ("keras3/tensorflow", "keras3/jax", "keras3/torch"),
    "slow": ("keras3/tensorflow", "keras3/jax", "keras3/torch"),
    "stateful": ("keras2/tensorflow", "keras3/tensorflow", "keras3/jax"),
}
ARGUMENTS = {"surroundings": ["--status", "3"]}
# They need TensorFlow, a download, or shims.
NOT_BARE = ("cut_short", "functions_of_keras2", "of_tensorflow", "own_data", "words_of_keras2", "words_of_keras3")
INPUT = "first\nsecond\n"
# A file for each output that a program was seen to print by itself; deleted with the test environment.
SEEN = Path(sys.prefix) / "seen"


def check_bare(program: str, backend: str, printed: bytes, status: int | None, folder: Path) -> None:
    """The program prints this without kbench and ends like this.

    It is run for that, unless it has printed this before: the same files, in the same environment and settings.
    """
    about = BACKENDS[backend]
    build = next(build for build in about.builds if build.device == "cpu")
    environment = ensure.ensure(about, build)
    settings = {
        "backend": about.keras_backend,
        "image_data_format": CHANNELS_LAST,
        "floatx": "float32",
        "epsilon": 1e-7,
    }
    variables = ensure.variables(environment, int((own_threads() or ["", "2"])[1]))
    command = [str(environment.python), f"{program}.py", *ARGUMENTS.get(program, [])]
    files = [(path.name, path.read_bytes()) for path in sorted(PROGRAMS.rglob("*.py"))]
    found = (
        command,
        sorted(variables.items()),
        sorted(settings.items()),
        files,
        INPUT,
        shown(printed, backend),
        status,
    )
    seen = SEEN / hashlib.sha256(repr(found).encode()).hexdigest()
    if seen.exists():
        return
    shutil.copytree(PROGRAMS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    home = folder.parent / f"{folder.name}-home"
    home.mkdir()
    (home / "keras.json").write_text(json.dumps(settings))
    ended = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **variables, "KERAS_HOME": str(home), "PYTHONIOENCODING": "utf-8"},
        input=INPUT.encode(),
        stdout=subprocess.PIPE,
    )
    assert shown(printed, backend) == shown(ended.stdout, backend), backend
    assert status == ended.returncode
    SEEN.mkdir(exist_ok=True)
    seen.touch()


def script(kbench: Kbench, program: str, *options: str, names: tuple[str, ...] = ()) -> Finished:
    arguments = ARGUMENTS.get(program, [])
    names = names or ON.get(program, ONE_OF_EACH)
    return kbench.script(PROGRAMS / f"{program}.py", ",".join(names), *options, "--", *arguments)


# One for each way in which a program trains, and for what it finds around it; the others are of other models.
IN_SHORT = ("called", "custom_step", "generator", "surroundings")


def cases() -> Iterator[Any]:
    """Those of IN_SHORT on one of their backends, which take turns; with -m "" each program on all of its own."""
    for number, program in enumerate(sorted({path.stem for path in PROGRAMS.glob("*.py")} - {*NOT_BARE})):
        names = tuple(ON.get(program, ONE_OF_EACH))
        if program in IN_SHORT:
            yield pytest.param(program, (names[number % len(names)],), id=program)
        yield pytest.param(program, names, id=f"{program}-all", marks=pytest.mark.thorough)


@pytest.mark.parametrize(("program", "names"), [*cases()])
def test_a_program_prints_what_it_prints_by_itself_and_its_scores_are_kept(
    program: str, names: tuple[str, ...], kbench: Kbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THE_USER", "a value")
    given = tmp_path / "input"
    given.write_text(INPUT)
    with given.open() as file:
        monkeypatch.setattr("sys.stdin", file)
        run = script(kbench, program, names=names)
    assert run.status == (1 if program in ARGUMENTS else 0), run.output
    for one in run.results().measured:
        printed = store.cell_folder(run.folder, one.cell).stdout.read_bytes()
        name = one.cell.backend
        assert printed.strip()
        check_bare(program, name, printed, one.outcome.exit_code, tmp_path / name.replace("/", "-"))
    if program == "called":
        check_calls(run, names)
    told = [row for row in epochs(run) if ": fit" in row["example"]]
    assert told or program in ("called", "gan", "on_batch")
    rows = {(row["example"], row["backend"]) for row in told}  # the same lines on all of them
    assert len(rows) == len({example for example, _ in rows}) * len({backend for _, backend in rows})
    texts = {backend: printed_by(run, backend) for backend in names}
    if program != "several_fits":  # which prints other scores
        for row in told:
            for name in ("loss", "val_loss"):
                if row[name] and (name == "loss" or "val_loss" in texts[row["backend"]]):
                    assert repr(float(row[name])) in texts[row["backend"]], (row, name)
    assert not [
        path
        for path in PROGRAMS.iterdir()
        if path.name in ("written.txt", "kept.weights.h5", "model.h5", "model.keras")
    ]
    assert not list(run.folder.glob("cells/*/files"))


def check_calls(run: Finished, names: tuple[str, ...]) -> None:
    """A model that is called has a row of its calls."""
    rows = [row for row in epochs(run) if row["example"] == "called.py: call, line 14"]
    assert {row["backend"] for row in rows} == set(names)
    assert {row["samples"] for row in rows} == {"8"}
    assert "it calls no fit" not in run.output, "which have their tables"


def shown(printed: bytes, backend: str) -> bytes:
    """What has to be the same. Nothing orders TensorFlow 1's gradients and updates: its numbers differ each time.

    (That no number is changed there either is shown by those that kbench noted, which are exact.)
    """
    return re.sub(rb"\d+\.[\de+-]+", b"a number", printed) if backend == "keras2/tensorflow" else printed


def epochs(run: Finished) -> list[dict[str, str]]:
    with (run.folder / "epochs.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def printed_by(run: Finished, backend: str) -> str:
    (one,) = (one for one in run.results().measured if one.cell.backend == backend)
    return store.cell_folder(run.folder, one.cell).stdout.read_text()


@pytest.mark.parametrize("names", [("keras3/jax",), pytest.param(("keras2/tensorflow",), marks=pytest.mark.thorough)])
def test_keras_of_tensorflow_is_keras_itself_on_the_backend_that_was_asked_for(
    kbench: Kbench, names: tuple[str, ...]
) -> None:
    run = script(kbench, "of_tensorflow", names=names)
    assert run.status == 0, run.output
    for backend in names:
        assert printed_by(run, backend).split() == ["tensorflow", BACKENDS[backend].keras_backend, "True"]


def test_keras_datasets_are_there_without_a_download(kbench: Kbench, monkeypatch: pytest.MonkeyPatch) -> None:
    no_downloads(monkeypatch)
    run = script(kbench, "own_data", names=("keras2/tensorflow", "keras3/jax"))
    assert run.status == 0, run.output
    printed = {printed_by(run, backend).rpartition("[")[0] for backend in ("keras2/tensorflow", "keras3/jax")}
    (line,) = {text.partition("['2.")[0] for text in printed}
    whole = "(60000, 28, 28) uint8 uint8 (10000, 28, 28) [7 2 1 0 4]"
    part = "(10000, 28, 28) uint8 uint8 (5000, 28, 28) [7 2 1 0 4]"
    assert line.strip() in (whole, part)
    assert (line.strip() == part) == ("not all of MNIST: the first 10,000 of 60,000" in " ".join(run.output.split()))


@pytest.mark.thorough
def test_reviews_of_keras_are_lists_or_one_sentence_says_which_file_to_bring(
    kbench: Kbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_downloads(monkeypatch)
    program = tmp_path / "reviews.py"
    program.write_text(
        "from keras.datasets import imdb\n\n(words, liked), _ = imdb.load_data(num_words=1000)\n"
        "print(len(words), type(words[0]), words[0][:1], sorted(set(liked.tolist())))\n"
    )
    run = kbench.script(program, "keras2/tensorflow")
    if run.status == 0:
        assert printed_by(run, "keras2/tensorflow") == "25000 <class 'list'> [1] [0, 1]\n"
    else:
        assert run.cell().outcome.reason.startswith("imdb.npz from https://storage.googleapis.com/")
        assert "cannot be downloaded: put it into" in run.cell().outcome.reason


def no_downloads(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object, **__: object) -> None:
        raise fetch.NotDownloaded("no download in a test")

    monkeypatch.setattr(fetch, "_download", failing)


@pytest.mark.thorough
def test_what_else_of_tensorflow_is_used_is_unsupported_where_it_is_not(kbench: Kbench, tmp_path: Path) -> None:
    program = tmp_path / "data.py"
    program.write_text(
        "import numpy as np\nimport tensorflow as tf\nfrom tensorflow import keras\n\n"
        "x = np.ones((64, 3), 'float32')\n"
        "batches = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).batch(16)\n"
        "model = keras.Sequential([keras.layers.Dense(1)])\nmodel.compile('sgd', 'mse')\n"
        "stop = keras.callbacks.EarlyStopping('loss')\n"  # and no list around it
        "print(model.fit(batches, epochs=2, verbose=0, callbacks=stop).history['loss'])\n"
    )
    run = kbench.script(program, "keras3/tensorflow,keras3/jax")
    assert run.status == 1
    there = {one.cell.backend: one for one in run.results().measured}
    assert there["keras3/tensorflow"].outcome.status == OK, run.output
    assert "data.py: fit, line 10 (2 epochs, cpu)" in run.output
    assert there["keras3/jax"].outcome.status == "unsupported"
    lacks = "line 6 uses tensorflow.data, and this backend has no TensorFlow"
    assert there["keras3/jax"].outcome.reason == f"{lacks}; for its data alone, --with tensorflow-cpu installs it"
    program.write_text(
        "import numpy as np\nimport tensorflow as tf\nimport keras\n\nclass Mine(keras.layers.Layer):\n"
        "    def call(self, x):\n        return tf.nn.relu(x)\n\n"
        "model = keras.Sequential([Mine(), keras.layers.Dense(1)])\nmodel.compile('sgd', 'mse')\n"
        "model.fit(np.ones((64, 3)), np.ones((64, 1)), verbose=0)\n"
    )
    (inside,) = kbench.script(program, "keras3/jax").results().measured  # Keras puts it into an error of its own
    assert inside.outcome.reason == "line 7 uses tensorflow.nn, and this backend has no TensorFlow"


CALLED_OFTEN = """import time

import keras
import numpy as np

x, y = np.random.RandomState(0).rand(4096, 20), np.ones((4096, 1))


def made():
    model = keras.Sequential([keras.layers.Dense(32), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


for _ in range(3):
    made().fit(x[:64], y[:64], epochs=2, verbose=0)
model, took = made(), []
for _ in range(6):
    began = time.perf_counter()
    model.fit(x, y, verbose=0)
    took.append(time.perf_counter() - began)
print(sum(took[1:]))
made().evaluate(x, y, verbose=0)
"""


def test_what_calls_cost_is_what_the_program_measures_and_all_rows_add_up_to_it(
    kbench: Kbench, tmp_path: Path
) -> None:
    program = tmp_path / "often.py"
    program.write_text(CALLED_OFTEN)
    run = kbench.script(program, "keras3/jax")
    assert run.status == 0, run.output
    rows = {row.example.removeprefix("often.py: "): row for row in summarised(run.results())}
    folds, often, rest, whole = (
        rows[name] for name in ("fit, line 16", "fit, line 20", "outside Keras", "whole program")
    )
    assert (folds.calls, folds.first_calls, folds.epochs) == (3, 3, 6) and (folds.compile_seconds or 0) > 0
    assert (often.calls, often.first_calls, often.epochs) == (6, 1, 6)
    later = (often.total_seconds or 0.0) - (often.first_epoch_seconds or 0.0)
    assert later == pytest.approx(float(printed_by(run, "keras3/jax")), rel=0.05)
    parts = [row.total_seconds or 0.0 for row in rows.values() if row is not whole]
    assert sum(parts) == pytest.approx(whole.epoch_seconds, rel=0.02)
    assert (rest.total_seconds or 0.0) > rest.phases["import"]


OLD_WORDS = ["keras.layers.core", "lr", "decay", "fit_generator", "keras.utils.np_utils"]
NEW_WORDS = ["keras.ops", "learning_rate", "jit_compile", "set_random_seed"]


@pytest.mark.parametrize(
    ("program", "without", "lacks", "served", "printed"),
    [
        # What keras2/theano and keras2/cntk print.
        ("words_of_keras2", "keras3/jax", "keras3/jax", OLD_WORDS, "['0.8441', '0.7388', '0.6713'] 2\n"),
        pytest.param(
            "functions_of_keras2",
            "keras2/tensorflow",
            "keras3/jax",
            ["ImageDataGenerator", "preprocessing.text", "data_utils", "backend"],
            "",
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            "words_of_keras3",
            "keras2/tensorflow,keras3/jax",
            "keras2/tensorflow",
            NEW_WORDS,
            "",
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_words_of_the_other_generation_are_served_if_asked_for(
    program: str, without: str, lacks: str, served: list[str], printed: str, kbench: Kbench
) -> None:
    names = tuple(without.split(","))
    run = script(kbench, program, names=names)
    for one in run.results().measured:
        if one.cell.backend == lacks:
            assert one.outcome.reason.endswith("; --shims may serve it")
        else:
            assert one.outcome.status == OK, run.output
    served_run = script(kbench, program, "--shims", names=(lacks,))
    assert served_run.status == 0, served_run.output
    notes = served_run.cell().facts.notes
    assert notes and all(word in notes[0] for word in served), notes
    assert printed_by(served_run, lacks) == (printed or printed_by(run, names[-1]))


def test_fits_can_be_cut_short_and_begin_with_the_same_weights(kbench: Kbench, tmp_path: Path) -> None:
    cut = ("--max-epochs", "2", "--max-steps", "3", "--init", "seeded")
    run = script(kbench, "conv1d_text", *cut, names=("keras2/tensorflow", "keras3/jax"))
    assert run.status == 0, run.output
    rows = epochs(run)
    assert {(row["epoch"], row["samples"]) for row in rows if ": fit" in row["example"]} == {("1", "48"), ("2", "48")}
    assert "weights: seeded" not in run.output and "another initial weights" not in run.output
    losses = [float(row["loss"]) for row in rows if ": fit" in row["example"] and row["epoch"] == "1"]
    assert max(losses) / min(losses) < 1.001


LOOPS = """
import keras
from kbench_script.watching import fallbacks
from keras.layers import GRU, LSTM, Bidirectional, Dense, SimpleRNN

kept = [LSTM(3), GRU(3, dropout=0.1), Bidirectional(LSTM(3, activation="tanh")), Dense(3)]
looped = [LSTM(3, recurrent_dropout=0.5, unroll=True), Bidirectional(GRU(3, reset_after=False)), SimpleRNN(3)]
for on_gpu, layers in ((True, kept), (True, looped), (False, kept[:2])):
    model = keras.Model()
    model.all = layers
    print([why for _, _, why in fallbacks.loops(model, fallbacks.HAVE_KERNELS, on_gpu)])
"""


def test_what_keeps_a_recurrent_layer_from_its_fused_kernel_is_known(tmp_path: Path) -> None:
    about = BACKENDS["keras3/jax"]
    environment = ensure.ensure(about, next(build for build in about.builds if build.device == "cpu"))
    variables = {**os.environ, **ensure.variables(environment, 1), "KERAS_HOME": str(tmp_path)}
    variables |= {"PYTHONPATH": f"{paths.GUEST}:{hooks.guest_folder('script')}", "KERAS_BACKEND": "jax"}
    found = subprocess.run([str(environment.python), "-c", LOOPS], env=variables, capture_output=True, text=True)
    kernel, none = "the fused kernel cannot compute", "Keras has no fused kernel for it"
    assert [ast.literal_eval(line) for line in found.stdout.splitlines()] == [
        [],
        [f"{kernel} recurrent_dropout=0.5, unroll=True", f"{kernel} reset_after=False", none],
        [f"{none} on the CPU"] * 2,
    ], found.stderr


@pytest.mark.thorough  # of an example by default, in test_real_layers.py
@pytest.mark.parametrize("names", [("keras3/jax",), ("keras3/jax", "keras3/torch")])
def test_why_a_program_is_slow_is_explained(kbench: Kbench, names: tuple[str, ...]) -> None:
    """Its data wait for 30 ms; a length that is new in each epoch makes JAX compile again; its LSTM runs eagerly."""
    run = script(kbench, "slow", "--explain", names=names)
    assert run.status == 0, run.output
    said = " ".join(run.output.split())
    for name in names:
        assert re.search(
            rf"{name}: \d+% of a step is spent on its data \(\d+% to \d+%\): it takes [\d.]+ ms, and", said
        ), said
    assert "on keras3/jax: compiled again 3 times in its 4 epochs after the first" in said, said
    assert "torch: compiled" not in said, said
    assert "on keras3/jax: run_eagerly starts each operation of a step from Python." in said, said
    if len(names) > 1:  # what is measured: while other tests run, the difference may be unclear
        assert re.search(r"on keras3/jax: without run_eagerly a step takes [\d.]+ ms instead of", said), said
    assert "copying a batch" not in said, said
    for sites in (events.sites(one.facts) for one in run.results().measured if one.cell.backend == "keras3/torch"):
        loop = "starts each operation of each time step from Python: Keras has no fused kernel for it on the CPU"
        assert [site.facts["fallbacks"] for site in sites.values()] == [[], [f"reader (LSTM) {loop}"]]
    alike = "From the same weights and on the same batches all backends compute the same"
    assert (alike in said) == (len(names) > 1), said
    assert "% of a step is spent on its data" in (run.folder / "summary.md").read_text()
    assert "% of a step is spent on its data" in (run.folder / "report.html").read_text()
    assert sorted(path.name for path in store.parts(run.folder)) == ["inside", "other-jit", "parity", "same-batch"]
