"""`parity` from end to end on fake backends: tables, exit statuses, and a backend that computes something else."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from fake_bench import EXAMPLE, INFERENCE, Bench, refused

from kbench import store
from kbench.features.parity import events

BACKENDS = "fake,keras9/second,keras9/third"
DROPOUT = EXAMPLE.replace("import Dense, Flatten", "import Dense, Dropout, Flatten").replace(
    "    model.add(Dense(", '    model.add(Dropout(0.5, name="drop"))\n    model.add(Dense('
)
OFF = '[variables]\nFAKE_KERAS_DENSE_IS_OFF_BY = "0.01"\n'
STEPS_OFF = '[variables]\nFAKE_KERAS_STEP_IS_OFF_BY = "0.5"\n'


def compare(
    bench: Bench, *options: str, backends: str = BACKENDS, examples: str = "my_example.py"
) -> tuple[int, str]:
    said = bench("parity", "--backends", backends, "--examples", examples, "--device", "cpu", *options)
    assert "Traceback" not in said.err
    return said.status, said.out


def table(run: Path) -> dict[str, dict[str, str]]:
    with (run / "parity.csv").open(newline="") as text:
        return {row["backend"]: row for row in csv.DictReader(text)}


@pytest.fixture
def three(bench: Bench) -> Bench:
    for name in ("keras9/second", "keras9/third"):
        bench.backend(name)
    return bench


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("parity") / "agreed"


@pytest.fixture
def agreed(three: Bench, kept: Path) -> Bench:
    """With a run in which all three agree: a copy of the session's."""
    run = three.results / kept.name
    if not kept.exists():
        assert compare(three, "--name", run.name)[0] == 0
        shutil.copytree(run, kept)
    else:
        shutil.copytree(kept, run)
    return three


def test_backends_that_compute_the_same_agree_with_numpy_and_each_other(three: Bench) -> None:
    status, out = compare(three)
    assert status == 0, out
    assert "my_example (against the numpy reference, cpu)" in out
    assert "Plan: 3 cells, parity: one batch, dropout off, real data" in out
    (run,) = three.runs()
    for row in table(run).values():
        assert row["verdict"] == "same" and row["reference"] == "numpy"
        assert float(row["outputs"]) < 1e-6 and float(row["loss"]) < 1e-6
        assert float(row["1_step"]) == 0.0 and float(row["10_steps"]) == 0.0
    assert "keras9/second" in (run / "parity.md").read_text()
    tables = out.partition("\n\n")[2]
    assert all(len(line) <= 100 for line in tables.splitlines())


def test_the_environments_are_kept_with_their_packages_as_by_run(three: Bench) -> None:
    assert compare(three)[0] == 0
    kept = three.last().provenance["environments"]
    assert sorted(kept) == ["keras9/fake", "keras9/second", "keras9/third"]
    assert kept["keras9/fake"]["packages"] == {"fake-framework": "1.0", "keras-fake": "2.99.1"}
    assert len(kept["keras9/fake"]["lock_sha256"]) == 64


def test_a_backend_that_computes_something_else_is_found_and_the_layer_named(three: Bench) -> None:
    three.backend("keras9/second", more=OFF)
    status, out = compare(three)
    assert status == 1
    assert "dense (Dense)" in out and "differs" in out
    (run,) = three.runs()
    found = table(run)
    assert {name: row["verdict"] for name, row in found.items()} == {
        "keras9/fake": "same",
        "keras9/second": "differs",
        "keras9/third": "same",
    }
    assert (found["keras9/second"]["first_layer"], found["keras9/second"]["first_layer_class"]) == ("dense", "Dense")
    assert float(found["keras9/second"]["first_layer_deviation"]) > 1e-4
    assert found["keras9/fake"]["first_layer"] == ""


def test_a_backend_whose_steps_are_other_ones_is_found_though_its_outputs_are_right(three: Bench) -> None:
    three.backend("keras9/third", more=STEPS_OFF)
    status, out = compare(three)
    assert status == 1
    found = table(three.runs()[0])
    assert [row["verdict"] for row in found.values()] == ["same", "same", "differs"]
    assert float(found["keras9/third"]["outputs"]) < 1e-6
    assert float(found["keras9/third"]["1_step"]) > 1e-4
    assert "after 1 step the largest deviation is in dense (Dense)" in out


@pytest.mark.parametrize(("bound", "verdict", "status"), [("0.1", "explained", 0), ("0.001", "differs", 1)])
def test_a_declared_difference_is_explained_up_to_its_bound(
    three: Bench, bound: str, verdict: str, status: int
) -> None:
    why = f'[[explained]]\nwhat = ["outputs", "layers", "loss", "1 step", "10 steps"]\nbound = {bound}\n'
    three.backend("keras9/second", more=OFF + why + 'layer = "Dense"\nreason = "it is a cheat"\n')
    ended, out = compare(three)
    assert (ended, table(three.runs()[0])["keras9/second"]["verdict"]) == (status, verdict)
    assert ("it is a cheat" in out) == (verdict == "explained")


def test_dropout_is_off_on_all_and_the_example_stays_as_it_is(three: Bench) -> None:
    path = three.example("my_example.py", DROPOUT)
    assert compare(three)[0] == 0
    assert path.read_text() == DROPOUT
    (told, *_) = three.last().measured
    forward = events.stages(told.facts)["forward"]  # type: ignore[index]
    assert [layer.class_name for layer in forward.layers or ()] == ["Flatten", "Dropout", "Dense"]


def test_a_backend_that_cannot_train_shows_its_outputs_and_layers(three: Bench) -> None:
    three.backend("keras9/half", can='["infer"]')
    status, out = compare(three, backends=f"{BACKENDS},half")
    assert status == 0, out
    row = table(three.runs()[0])["keras9/half"]
    assert (row["verdict"], row["1_step"]) == ("same", "")
    assert "outputs and layers only: nothing is trained" in out


def test_inference_is_compared_without_steps(three: Bench) -> None:
    three.example("features.py", INFERENCE)
    assert compare(three, examples="features.py")[0] == 0
    assert {row["10_steps"] for row in table(three.runs()[0]).values()} == {""}


def test_a_layer_that_the_reference_does_not_know_is_compared_with_the_majority(three: Bench) -> None:
    own = "\n\nclass Mine(Flatten):\n    pass\n"
    three.example("my_example.py", EXAMPLE.replace("model.add(Flatten(", "model.add(Mine(") + own)
    three.backend("keras9/second", more=OFF)
    status, out = compare(three)
    assert status == 1
    assert "my_example (against the median of 3 backends, cpu)" in out
    assert [row["verdict"] for row in table(three.runs()[0]).values()] == ["same", "differs", "same"]


def test_one_backend_alone_with_nothing_to_compare_is_no_agreement(three: Bench) -> None:
    own = "\n\nclass Mine(Flatten):\n    pass\n"
    three.example("my_example.py", EXAMPLE.replace("model.add(Flatten(", "model.add(Mine(") + own)
    status, out = compare(three, backends="fake")
    assert status == 1
    assert "nothing to compare it with" in out


def test_a_failed_cell_is_shown_and_does_not_hide_the_others(three: Bench) -> None:
    three.backend("keras9/second", more='[variables]\nFAKE_KERAS_VERSION = "2.98.0"\n')
    status, out = compare(three)
    assert status == 1
    assert [row["verdict"] for row in table(three.runs()[0]).values()] == ["same", "failed", "same"]
    assert "Keras loaded keras_version 2.98.0" in out


def test_all_that_was_computed_is_kept_and_the_report_is_made_anew_from_it(three: Bench) -> None:
    _, out = compare(three, "--name", "mine", "--seed", "7", "--batch-size", "4")
    run = three.results / "mine"
    record = json.loads((run / "run.json").read_text())
    assert record["plan"]["kind"] == "parity" and record["request"]["seed"] == 7
    cells = sorted((run / "cells").iterdir())
    names = {"spec.json", "events.jsonl", "log.txt", "outcome.json", "forward.npz", "step_1.npz", "step_10.npz"}
    for cell in cells:
        assert names <= {path.name for path in cell.iterdir()}
        spec = json.loads((cell / "spec.json").read_text())
        assert (spec["part"]["steps"], spec["batch_size"], spec["samples"]) == ([1, 10], 4, 40)
        with np.load(cell / "forward.npz", allow_pickle=False) as arrays:
            assert arrays["outputs"].shape == (4, 3)
    before = (run / "parity.csv").read_bytes()
    (run / "parity.csv").unlink()
    said = three("report", "mine")
    assert said.status == 0 and out.rstrip().endswith(said.out.strip())
    assert (run / "parity.csv").read_bytes() == before


def test_damaged_arrays_are_that_cells_failure(agreed: Bench) -> None:
    run = store.latest(agreed.results)
    (file,) = run.glob("cells/*third*/forward.npz")
    for damage in (b"", b"not a zip file", b"PK\x03\x04"):
        file.write_bytes(damage)
        said = agreed("report")
        assert said.status == 0
        assert [row["verdict"] for row in table(run).values()] == ["same", "same", "failed"], damage
        assert "its results cannot be read" in said.out


def test_arrays_outside_the_cells_folder_or_of_objects_are_not_read(agreed: Bench) -> None:
    run = store.latest(agreed.results)
    (file,) = run.glob("cells/*third*/forward.npz")
    np.savez(file, outputs=np.array([{}], dtype=object))
    (events,) = run.glob("cells/*second*/events.jsonl")
    events.write_text(events.read_text().replace('"forward.npz"', '"../forward.npz"'))
    assert agreed("report").status == 0
    assert [row["verdict"] for row in table(run).values()] == ["same", "failed", "failed"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "required: --backends"),
        (("--backends", "fakke"), "did you mean fake"),
        (("--backends", "fake", "--examples", "no.py"), "There is no example file no.py"),
        (("--backends", "fake", "--form", "best"), "there is no 'best'"),
        (("--backends", "fake", "--format", "xml"), "there is no 'xml'"),
        (("--backends", "fake", "--epochs", "3"), "Unrecognized arguments: --epochs"),
        (("--backends", "fake", "--batch-size", "0"), "whole number from 1"),
        (("--backends", "fake", "--examples", "my_example.py", "--batch-size", "999"), "fewer than one batch"),
        (("--backends", "fake", "--seed", "-1"), "whole number from 0"),
        (("--backends", "fake", "--device", "tpu"), "use auto, cpu"),
        (("--backends", "fake", "--results", "patterns.npz"), "choose another place"),
        (("--backends", "fake", "--examples", "my_example.py", "--name", "a/b"), "plain folder name"),
    ],
)
def test_a_wrong_request_is_one_sentence_and_status_2(bench: Bench, arguments: tuple[str, ...], words: str) -> None:
    refused(bench("parity", *arguments), words)
    assert bench.runs() == []


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ('what = ["speed"]\nbound = 1.0\nreason = "x"', "`what` (some of outputs"),
        ('what = ["loss"]\nbound = 0\nreason = "x"', "`bound` (a number above 0)"),
        ('what = ["loss"]\nreason = "x"', "it must be [[explained]] tables with"),
        ('what = ["loss"]\nbound = 1.0\nreason = "x"\nunlike = "keras2"', "it must be [[explained]] tables with"),
        ('what = ["loss"]\nbound = 1.0\nreason = "x"\nwhy = "y"', "it must be [[explained]] tables with"),
    ],
)
def test_a_wrong_explanation_is_said_with_its_key(bench: Bench, more: str, words: str) -> None:
    bench.backend(more=f"[[explained]]\n{more}\n")
    said = bench("parity", "--backends", "fake")
    assert said.status == 2 and "`explained`" in said.err and words in said.err


def test_with_another_format_stdout_holds_that_alone(three: Bench) -> None:
    status, out = compare(three, "--format", "json")
    (run,) = three.runs()
    reports = {form: three("report", "--format", form).out for form in ("markdown", "csv", "json")}
    assert status == 0 and out == reports["json"]
    assert [row["verdict"] for row in json.loads(out)["rows"]] == ["same"] * 3
    assert reports["csv"] == (run / "parity.csv").read_text()
    assert reports["markdown"].startswith("**my_example (")


def test_with_another_format_plan_and_folder_are_on_stderr(three: Bench) -> None:
    arguments = ("--backends", "fake", "--examples", "my_example.py", "--device", "cpu", "--format", "csv")
    said = three("parity", *arguments)
    assert "Plan: 1 cell, parity" in said.err and "start with parity.md" in said.err
    assert "Plan" not in said.out and "start with" not in said.out


def test_parity_has_no_plots_to_style(agreed: Bench) -> None:
    for option in ("--plot-style=ggplot", "--plot-size=3x2"):
        said = agreed("report", option)
        assert said.status == 2 and "is of `parity`, which has no plots: leave --plot-style" in said.err


def test_parity_has_help(bench: Bench) -> None:
    said = bench("parity", "--help")
    assert said.status == 0 and "exit status: 0 everything compared is the same or explained" in said.out


PROGRAM = """import numpy as np
from keras.layers import Dense
from keras.models import Sequential
from keras.optimizers import SGD

x = np.random.RandomState(0).normal(size=(40, 3))
y = np.eye(3)[x.argmax(axis=1)]
model = Sequential()
model.add(Dense(3, activation="softmax", input_shape=(3,)))
model.compile("categorical_crossentropy", SGD(lr=0.5), [])
print("it trains")
model.fit(x, y, 8, 1, 0, False, 0, [])
print("never printed")
"""


def of_script(bench: Bench, text: str, *options: str) -> tuple[int, str]:
    path = bench.example("train.py", text)
    said = bench("parity", "--backends", BACKENDS, "--script", str(path), "--device", "cpu", *options)
    assert "Traceback" not in said.err
    return said.status, said.out


def test_a_users_program_is_compared_by_the_first_model_that_it_trains(three: Bench) -> None:
    """Its weights and batches are those of the first backend, whatever each one draws."""
    own = "import os\nmodel.set_weights([np.full((3, 3), os.getpid() % 97), y[0]])\nprint("
    status, out = of_script(three, PROGRAM.replace("print(", own, 1), "--", "--mine")
    assert status == 0, out
    (run,) = three.runs()
    assert {row["verdict"] for row in table(run).values()} == {"same"}
    assert all(row["10_steps"] for row in table(run).values())
    cell = store.cell_folder(run, three.last().measured[0].cell)
    assert cell.stdout.read_text() == "it trains\n"
    with np.load(run / "saved" / "captured.npz", allow_pickle=False) as kept:
        batches = json.loads(str(kept["known"]))["batches"]
        assert len(batches) == 5 and kept[f"arr_{batches[4][0]}"].shape == (8, 3)


def test_a_backend_that_computes_something_else_in_a_program_is_found(three: Bench) -> None:
    three.backend("keras9/second", more=OFF)
    status, out = of_script(three, PROGRAM)
    assert status == 1 and "dense (Dense)" in out
    assert table(three.runs()[0])["keras9/second"]["verdict"] == "differs"


def test_a_program_that_trains_and_runs_nothing_has_nothing_to_compare(three: Bench) -> None:
    status, out = of_script(three, PROGRAM.replace("model.fit", "print"))
    assert status == 1
    assert "it trains no model by fit or train_on_batch and runs none" in " ".join(out.split())


def test_of_a_program_that_trains_nothing_each_line_that_runs_a_model_is_compared(three: Bench) -> None:
    predicts = PROGRAM.replace("model.fit(x, y, 8, 1, 0, False, 0, [])", "model.predict(x, batch_size=8)")
    status, out = of_script(three, predicts)
    compared = [line.split(" (against")[0] for line in out.splitlines() if " (against" in line]
    assert status == 0, out
    assert compared == ["train.py: predict, line 12"]
    assert {row["verdict"] for row in table(three.runs()[0]).values()} == {"same"}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--script", "gone.py"), "There is no script gone.py in "),
        (("--script", "my_example.py", "--examples", "my_example.py"), "--examples and --script: give one"),
        (("--script", "my_example.py", "--form", "right"), "A script runs as it is: --form right"),
        (("--script", "my_example.py", "--batch-size", "4"), "A script runs as it is: --form right and --batch-size"),
        (("--workdir", "same"), "--with, --workdir, --shims and what follows -- are for a program of your own"),
        (("--", "--mine"), "--with, --workdir, --shims and what follows -- are for a program of your own"),
    ],
)
def test_options_of_a_script_and_of_examples_do_not_stand_together(
    bench: Bench, options: tuple[str, ...], sentence: str
) -> None:
    said = bench("parity", "--backends", "fake", *options)
    assert said.status == 2 and sentence in said.err and not bench.runs()
