"""`script`: whatever a user's program does to itself, its row says so in a sentence and the other cells go on."""

from __future__ import annotations

import csv
import json
import os
import sys
from pathlib import Path

import pytest
from fake_backends import wheel
from fake_bench import Bench, Said, refused

from kbench import store

BEGIN = """import sys, os
import numpy as np
from keras.layers import Dense
from keras.models import Sequential
from keras.optimizers import SGD

x = np.random.RandomState(0).normal(size=(40, 3))
y = np.eye(3)[x.argmax(axis=1)]
model = Sequential()
layer = Dense(3, activation="softmax")
layer.input_shape = (3,)
model.add(layer)
model.compile("categorical_crossentropy", SGD(lr=0.5), [])

def copied(model):
    other = Sequential()
    other.add(layer)
    other.compile("categorical_crossentropy", SGD(lr=0.5), [])
    return other

def fit(epochs):
    return model.fit(x, y, batch_size=8, epochs=epochs, initial_epoch=0, shuffle=False, verbose=0, callbacks=[])
"""
LINE = BEGIN.count("\n")  # of the call of fit


def script(bench: Bench, text: str, *options: str, backends: str = "fake", name: str = "train.py") -> Said:
    path = bench.example(name, BEGIN + text)
    return measure(bench, path, *options, backends=backends)


def measure(bench: Bench, path: Path | str, *options: str, backends: str = "fake") -> Said:
    asked = ("--backends", backends, "--repeats", "1", "--device", "cpu", "--no-plots")
    return bench("script", str(path), *asked, *options)


def fate(bench: Bench) -> tuple[str, str]:
    (one,) = bench.fates().values()
    return one


def test_each_fit_and_the_whole_program_have_a_table(bench: Bench) -> None:
    said = script(bench, "fit(4)\nprint('done')\n")
    assert said.status == 0, said.err
    assert f"train.py: fit, line {LINE} (40 samples, 4 epochs, batch 8, cpu)" in said.out
    assert "train.py: whole program (cpu)" in said.out
    rows = list(csv.DictReader((bench.runs()[-1] / "epochs.csv").open()))
    assert [row["epoch"] for row in rows if "fit" in row["example"]] == ["1", "2", "3", "4"]
    assert {row["samples"] for row in rows if "fit" in row["example"]} == {"40"}
    for again in ("report", "resume"):
        assert bench(again).status == 0
    found = json.loads(bench("report", "--format", "json").out)["rows"]
    assert [(row["example"], row["unit"]) for row in found] == [
        (f"train.py: fit, line {LINE}", "epoch"),
        ("train.py: outside Keras", "rest"),
        ("train.py: whole program", "run"),
    ]


def test_a_framework_that_the_program_imports_first_is_part_of_the_import(bench: Bench) -> None:
    slow = (Path(__file__).parents[2] / "fake_keras" / "theano.py").read_text()
    bench.example("theano.py", f"import time\ntime.sleep(0.5)\n{slow}")
    path = bench.example("train.py", "import theano\nimport keras\n")
    assert measure(bench, path).status == 0
    (one,) = store.read(bench.runs()[-1]).measured
    assert one.facts.program is not None and 0.5 < one.phases["import"] < one.facts.program.seconds


def test_verbose_shows_each_epoch_and_a_dry_run_the_plan(bench: Bench) -> None:
    said = script(bench, "fit(3)\nimport time\ntime.sleep(0.6)\n", "--verbose")  # until the host has looked
    assert "train.py on keras9/fake: epoch 3, " in said.err
    said = script(bench, "fit(3)\n", "--dry-run", "--", "--mine")
    assert said.status == 0 and "Plan: 1 cell, the script train.py --mine\n" in said.out


def test_it_is_told_its_arguments_and_what_it_prints_can_be_passed_on(bench: Bench) -> None:
    said = script(
        bench, "print(sys.argv, os.getcwd().endswith('files'))\n", "--show-output", "--", "--epochs", "5", "--"
    )
    assert "--- train.py on keras9/fake\n['train.py', '--epochs', '5', '--'] True\n" in said.out


def test_backends_do_not_see_each_others_files_and_copies_are_kept_if_asked_for(bench: Bench) -> None:
    text = "print(os.listdir('.'))\nopen('mine', 'x').close()\n"
    bench.backend("keras9/other")
    assert script(bench, text, backends="fake,other").status == 0
    assert not (bench.folder / "mine").exists() and not list(bench.results.glob("*/cells/*/files"))
    assert script(bench, text, "--keep-files").status == 0
    assert len(list(bench.results.glob("*/cells/*/files/mine"))) == 1
    assert script(bench, text, "--workdir", "same").status == 0
    assert (bench.folder / "mine").exists()


def test_the_loop_of_its_own_is_timed_as_a_whole(bench: Bench) -> None:
    said = script(bench, "for _ in range(3):\n    model._forward(x)\n")
    assert said.status == 0 and "it calls no fit, evaluate or predict: timed as a whole" in said.out


def test_calls_in_a_loop_are_a_row_of_seconds_a_call(bench: Bench) -> None:
    said = script(bench, "for _ in range(50):\n    model.train_on_batch(x, y)\n")
    assert said.status == 0 and f"train.py: train_on_batch, line {LINE + 2}" in said.out and "s/call" in said.out


def test_models_that_are_no_more_used_are_freed(bench: Bench) -> None:
    text = "import gc, weakref\nfit(2)\ngone = weakref.ref(model)\nmodel = copied(model)\nfit(2)\ngc.collect()\n"
    said = script(bench, text + "print(gone())\n", "--show-output")
    assert said.status == 0 and "\nNone\n" in said.out


def test_a_model_that_cannot_be_observed_is_trained_all_the_same(bench: Bench) -> None:
    odd = "class Odd(Sequential):\n    __hash__ = None\n\nmodel.__class__ = Odd\nprint(len(fit(2).history['loss']))\n"
    said = script(bench, odd, "--show-output")
    assert said.status == 0 and "\n2\n" in said.out
    assert "not all of its calls could be observed (TypeError: " in said.out


def test_a_second_model_at_the_same_line_compiles_anew_and_that_is_no_steady_epoch(bench: Bench) -> None:
    text = "for _ in range(2):\n    fit(2)\n    model = copied(model)\n"
    assert script(bench, text).status == 0
    rows = [row for row in csv.DictReader((bench.runs()[-1] / "epochs.csv").open()) if "fit" in row["example"]]
    assert [row["epoch"] for row in rows] == ["1", "2", "3"], "not the further model's first one"


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [
        ("sys.exit(3)\n", 3, "ended with exit status 3"),
        ("raise ValueError('too\\nlong')\n", 1, f"line {LINE + 2}: ValueError: too"),
        (
            "import nothing_like_this\n",
            1,
            f"line {LINE + 2}: ModuleNotFoundError: No module named 'nothing_like_this'",
        ),
        ("input()\n", 1, f"line {LINE + 2}: EOFError: EOF when reading a line"),
        ("os._exit(7)\n", 7, "ended with exit status 7"),
        ("os.kill(os.getpid(), 9)\n", -9, "killed by SIGKILL"),
        ("os.execv('/bin/true', ['true'])\n", 0, "ended without a result"),
        ("import tensorflow as tf\ntf.constant(1)\n", 1, f"line {LINE + 3} uses tensorflow.constant"),
        ("from tensorflow.data import Dataset\n", 1, f"line {LINE + 2} uses tensorflow.data"),
    ],
)
def test_how_it_ended_is_one_sentence(bench: Bench, text: str, status: int, reason: str) -> None:
    said = script(bench, "fit(2)\n" + text)
    assert said.status == 1
    assert fate(bench)[0] in ("failed", "unsupported") and fate(bench)[1].startswith(reason), fate(bench)
    (one,) = bench.last().measured
    assert one.outcome.exit_code == status
    assert len(one.epochs) == 2, "what was measured is kept"


@pytest.mark.parametrize(
    "text",
    [
        "os._exit(0)\n",
        "sys.exit()\n",
        "pid = os.fork()\nif not pid:\n    fit(2)\n    os._exit(5)\nos.waitpid(pid, 0)\n",
        "import shutil\nshutil.rmtree(os.getcwd())\n",
        "import threading\nthreading.Thread(target=lambda: print('late')).start()\n",
        "import atexit\natexit.register(print, 'at exit')\n",
    ],
)
def test_what_ends_well_is_ok(bench: Bench, text: str) -> None:
    assert script(bench, "fit(3)\n" + text).status == 0, fate(bench)
    (one,) = bench.last().measured
    assert len([epoch for epoch in one.epochs if (epoch.site or "").startswith("fit")]) == 3


def test_what_returned_is_measured_whatever_the_program_comes_to(bench: Bench) -> None:
    said = script(
        bench, "fit(4)\nfor _ in range(3):\n    model.train_on_batch(x, y)\nmodel.train_on_batch(x, None)\n"
    )
    assert said.status == 1
    rows = {row["example"]: row for row in json.loads(bench("report", "--format", "json").out)["rows"]}
    fit = rows[f"train.py: fit, line {LINE}"]
    assert fit["status"] == "ok" and fit["epoch_seconds"] > 0
    assert rows["train.py: whole program"]["status"] == "failed"
    assert {row["status"] for name, row in rows.items() if f"line {LINE + 4}" in name} <= {"failed"}


def test_what_returned_is_measured_if_the_backend_cannot_do_what_follows(bench: Bench) -> None:
    assert script(bench, "fit(4)\nfrom tensorflow.data import Dataset\n").status == 1
    rows = {row["example"]: row for row in json.loads(bench("report", "--format", "json").out)["rows"]}
    assert rows[f"train.py: fit, line {LINE}"]["status"] == "ok"
    assert rows["train.py: whole program"]["status"] == "unsupported"


def test_a_line_that_fits_often_is_timed_by_its_calls_which_are_counted(bench: Bench) -> None:
    said = script(bench, "for _ in range(6):\n    fit(2)\n")
    assert f"train.py: fit, line {LINE} (40 samples, 12 epochs in 6 calls, batch 8, cpu)" in said.out
    assert "s/call" in said.out and "around (s)" in said.out and "steps/s" not in said.out
    fit, rest, whole = json.loads(bench("report", "--format", "json").out)["rows"]
    assert (fit["unit"], fit["calls"], fit["first_calls"], fit["epochs"]) == ("call", 6, 1, 12)
    assert fit["epoch_seconds"] > fit["steady_epoch_seconds"] > 0
    assert fit["total_seconds"] + rest["total_seconds"] == pytest.approx(whole["epoch_seconds"], rel=1e-6)


def test_models_trained_once_each_compile_in_every_call(bench: Bench) -> None:
    said = script(bench, "for _ in range(4):\n    fit(2)\n    model = copied(model)\n")
    assert "Each call compiles: compilation is part of the time of a call." in said.out
    fit, *_ = json.loads(bench("report", "--format", "json").out)["rows"]
    assert (fit["calls"], fit["first_calls"], fit["resampled_values"]) == (4, 4, 3)


def test_two_runs_of_a_script_are_compared_line_by_line(bench: Bench) -> None:
    for name in ("before", "after"):
        script(bench, "fit(4)\n", "--name", name)
    said = bench("compare", "before", "after")
    assert said.status == 0, said.err
    assert f"train.py: fit, line {LINE} (40 samples, 4 epochs, batch 8, cpu)" in said.out
    assert "train.py: whole program (cpu)" in said.out


@pytest.mark.thorough
def test_a_program_that_hangs_is_ended_and_the_next_one_runs(bench: Bench) -> None:
    bench.backend("keras9/other")
    hangs = "if 'other' in os.environ['KERAS_HOME']:\n    import time\n    time.sleep(600)\nfit(2)\n"
    assert script(bench, hangs, "--timeout", "3", backends="other,fake").status == 1
    found = {one.cell.backend: (one.outcome.status, one.outcome.reason) for one in bench.last().measured}
    assert found["keras9/fake"][0] == "ok"
    assert found["keras9/other"] == (
        "timeout",
        "not done after 3 s (it had not ended); give it longer with --timeout",
    )


def test_output_without_end_is_cut_in_the_middle(bench: Bench) -> None:
    text = "for _ in range(40):\n    sys.stdout.write('x' * 2**20)\nprint('the end')\n"
    assert script(bench, text).status == 0
    (one,) = bench.last().measured
    printed = store.cell_folder(bench.runs()[-1], one.cell).stdout.read_bytes()
    assert (
        len(printed) < 2**24 and printed.endswith(b"xthe end\n") and b"the middle of this log is left out" in printed
    )


def test_one_that_never_imports_keras_failed(bench: Bench) -> None:
    path = bench.example("nothing.py", "print('hello')\n")
    assert measure(bench, path).status == 1
    assert fate(bench) == ("failed", "it never imported Keras, so there is nothing to measure")


def test_an_error_is_shown_as_python_shows_it(bench: Bench) -> None:
    script(bench, "def f():\n    return 1 / 0\n\nf()\n")
    (one,) = bench.last().measured
    log = store.cell_folder(bench.runs()[-1], one.cell).log.read_text()
    assert log.startswith("Traceback (most recent call last):\n  File ") and "kbench_guest" not in log
    assert log.endswith("ZeroDivisionError: division by zero\n")


def test_the_users_variables_are_there_and_the_backend_is_the_one_that_was_asked_for(bench: Bench) -> None:
    bench.patch.setenv("MY_TOKEN", "secret")
    bench.patch.setenv("XLA_FLAGS", "--a_flag_that_matters")
    bench.patch.setenv("KERAS_BACKEND", "another")
    text = "import keras\nprint(os.environ['MY_TOKEN'], os.environ.get('KERAS_BACKEND'), keras.backend.backend())\n"
    said = script(bench, text, "--show-output")
    assert "secret None theano" in said.out
    kept = [path.read_text(errors="replace") for path in bench.runs()[-1].rglob("*.json")]
    assert not any("secret" in text for text in kept)
    (environment,) = bench.last().provenance["environments"].values()
    assert environment["variables"]["XLA_FLAGS"] == "--a_flag_that_matters"
    path = bench.example(
        "sets.py", "import os\nos.environ['KERAS_BACKEND'] = 'jax'\n" + BEGIN + text.replace("MY_", "MY_")
    )
    assert "secret jax theano" in measure(bench, path, "--show-output").out


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("missing.py", None, "There is no script"),
        ("folder.py", "", "folder.py has no __main__.py"),
        ("broken.py", "def f(:\n", "The script broken.py is not valid Python, line 1"),
        ("binary.py", b"\xff\xfe\x00", "The script binary.py is not valid Python"),
    ],
)
def test_what_is_no_program_is_one_sentence(
    bench: Bench, name: str, content: str | bytes | None, sentence: str
) -> None:
    path = bench.folder / name
    if name == "folder.py":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    said = measure(bench, path)
    refused(said, sentence)


@pytest.fixture
def shelf(bench: Bench, tmp_path: Path) -> Bench:
    """Two packages, of which one needs the other, and one that wants another Keras."""
    wheels = tmp_path / "wheels"
    needs = "Requires-Dist: small-one\n"
    wheel(wheels, "small-one", "1.5", {"small_one.py": "VALUE = 7\n"})
    wheel(wheels, "large-one", "2.0", {"large_one.py": "from small_one import VALUE\n"}, needs)
    wheel(wheels, "wants-another", "1.0", {"wants_another.py": ""}, "Requires-Dist: keras-fake==1.0\n")
    bench.patch.setenv("PIP_FIND_LINKS", f"{os.environ['PIP_FIND_LINKS']} {wheels}")
    return bench


@pytest.mark.parametrize("how", ["option", "of its own"])
def test_packages_are_added_and_named_in_the_spec(shelf: Bench, how: str) -> None:
    text = "import large_one\nprint(large_one.VALUE)\n"
    if how == "option":
        said = script(shelf, text, "--with", "large-one>=1", "--show-output")
    else:
        named = '# /// script\n# dependencies = ["large-one", "keras-fake>=2"]\n# ///\n'
        said = measure(shelf, shelf.example("named.py", named + BEGIN + text), "--show-output")
    assert said.status == 0 and "\n7\n" in said.out, said.err
    (one,) = shelf.last().measured
    spec = store.spec(shelf.runs()[-1], one.cell)
    assert spec["script"]["packages"] == {"large-one": "2.0", "small-one": "1.5"}
    if how == "option":
        assert "installing" not in script(shelf, text, "--with", "large-one>=1").err, "it is kept"


def test_dependencies_that_are_no_list_are_one_sentence(bench: Bench) -> None:
    for wrong in ("5", "{a = 1}", f"{'[' * 3000}{']' * 3000}"):
        said = measure(bench, bench.example("named.py", f"# /// script\n# dependencies = {wrong}\n# ///\n"))
        refused(said, "of named.py is not")


def test_what_does_not_go_with_the_backend_makes_it_unavailable(shelf: Bench) -> None:
    assert script(shelf, "fit(2)\n", "--with", "wants-another").status == 1
    status, reason = fate(shelf)
    assert status == "unavailable" and reason.startswith("wants-another cannot be added to its environment: ")


def test_a_missing_package_says_how_to_add_it(bench: Bench) -> None:
    script(bench, "import sklearn.svm\n")
    assert fate(bench)[1].endswith("No module named 'sklearn'; --with scikit-learn installs it")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--with", "not a package!"), "'not a package!' is not a package, such as pandas"),
        (("--with", "a @ https://host/\udcff"), "is not a package, such as pandas"),
        (("--max-epochs", "0"), "'0' is not a whole number from 1"),
        (("--workdir", "elsewhere"), "there is no 'elsewhere'"),
        (("--epochs", "3"), "Unrecognized arguments: --epochs 3"),
    ],
)
def test_wrong_options_are_one_sentence(bench: Bench, options: tuple[str, ...], sentence: str) -> None:
    said = script(bench, "fit(2)\n", *options)
    refused(said, sentence)


def test_standard_input_is_given_to_each(bench: Bench, tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.write_text("one\ntwo\n")
    bench.backend("keras9/other")
    with given.open() as file:
        bench.patch.setattr(sys, "stdin", file)
        said = script(bench, "print(sys.stdin.read().split())\n", "--show-output", backends="fake,other")
    assert said.out.count("['one', 'two']") == 2


def test_what_differs_is_explained_if_asked_for(bench: Bench) -> None:
    bench.backend("keras9/second", more='[variables]\nFAKE_KERAS_DENSE_IS_OFF_BY = "0.01"\n')
    said = script(bench, "fit(6)\n", "--explain", backends="fake,keras9/second")
    assert said.status == 0, said.err
    assert "Explaining: the first batch only." in said.err
    line = " ".join(said.out.split())
    assert "train.py on keras9/second computes something else" in line
    again = " ".join(bench("report").out.split())
    assert "computes something else" in again
    (run,) = bench.runs()
    assert sorted(path.name for path in store.parts(run)) == ["inside", "other-jit", "parity", "same-batch"]
    same = store.read(run / "explain" / "same-batch").measured
    assert same and all(one.epochs for one in same)
    assert {one.outcome.status for one in store.read(run / "explain" / "other-jit").measured} == {"unsupported"}


def test_a_program_that_does_not_fit_is_run_again_for_its_results_alone(bench: Bench) -> None:
    said = script(bench, "for _ in range(9):\n    model.predict(x, batch_size=8)\n", "--explain")
    assert said.status == 0, said.err
    assert "the program does not call fit" in said.err and "the first batch only" not in said.err
    assert "Not checked, because the program does not call fit: input data, copies" in said.out
    assert [path.name for path in store.parts(bench.runs()[-1])] == ["parity"]


def test_what_failed_is_not_explained(bench: Bench) -> None:
    said = script(bench, "fit(2)\nraise ValueError('mine')\n", "--explain")
    assert said.status == 1 and not store.parts(bench.runs()[-1])


def test_a_program_may_be_written_in_another_encoding(bench: Bench) -> None:
    path = bench.folder / "latin.py"
    path.write_bytes(b"# -*- coding: latin-1 -*-\n" + BEGIN.encode() + "print(len('\xe9'))\n".encode("latin-1"))
    assert "\n1\n" in measure(bench, path, "--show-output").out


def test_an_example_that_runs_nothing_by_itself_has_another_command(bench: Bench) -> None:
    path = bench.example("ex.py", "def build_model():\n    pass\n")
    said = bench("script", str(path), "--backends", "fake", "--dry-run")
    text = " ".join(said.out.split())  # folded
    assert f"note ex.py is an example, which runs nothing by itself: --examples {path} measures it" in text
    path.write_text("def build_model():\n    pass\n\nbuild_model().fit([1])\n")
    assert "is an example" not in bench("script", str(path), "--backends", "fake", "--dry-run").out
