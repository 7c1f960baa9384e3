"""A backend with another model, other initial weights or another optimizer is marked in tables, plots and pages."""

from __future__ import annotations

import csv
import re

import pytest
from fake_bench import EXAMPLE, Bench, events_of

from kbench.analysis.summaries import summarise

# What a file may do that knows where it runs: the variable is set in one backend's environment.
CHEATING = "import os\n\nCHEAT = os.environ.get('CHEAT', '')\nfrom keras.layers"
HONEST = EXAMPLE.replace("from keras.layers", CHEATING)
OTHER_OPTIMIZER = f'{HONEST}\n\nif CHEAT == "optimizer":\n    OPTIMIZER["learning_rate"] = 0.25\n'
OTHER_MODEL = OTHER_OPTIMIZER.replace('"softmax"', '("sigmoid" if CHEAT == "model" else "softmax")')


def cheats(bench: Bench, *names: str) -> str:
    """Add a backend that does not cheat and one for each way to; returns all backends as --backends takes them."""
    bench.backend("keras9/honest")
    for name in names:
        bench.backend(f"keras9/{name}", more=f'[variables]\nCHEAT = "{name}"\n')
    return ",".join(["fake", "honest", *names])


def test_a_planted_cheat_is_marked_in_table_page_and_csv(bench: Bench) -> None:
    sentences = {
        "keras9/model": "its model: layer 2, Dense, has activation sigmoid instead of softmax",
        "keras9/optimizer": "its optimizer: learning_rate 0.25 instead of 0.5",
    }
    bench.example("my_example.py", OTHER_MODEL)
    said = bench.measure(backends=cheats(bench, "model", "optimizer"))
    assert said.status == 0, said
    (run,) = bench.runs()
    with (run / "summary.csv").open(newline="") as file:
        rows = {row["backend"]: row for row in csv.DictReader(file)}
    for name, sentence in sentences.items():
        (line,) = [line for line in said.out.splitlines() if line.startswith(name)]
        # Steps of microseconds may earn a row another footnote, so that this one has not always the same number.
        footnote = re.search(rf"(\[\d+\]) unlike keras9/fake in {re.escape(sentence)}", " ".join(said.out.split()))
        assert footnote is not None, said.out
        assert " ok, differs [" in line and footnote[1] in line
        assert sentence in (run / "summary.md").read_text().replace("\\_", "_")
        assert rows[name]["differs"] == f"unlike keras9/fake in {sentence}"
        assert rows[name]["relative_to_fastest"] == ""
        assert rows[name]["fingerprint"] != rows["keras9/fake"]["fingerprint"]
    assert rows["keras9/fake"]["differs"] == rows["keras9/honest"]["differs"] == ""
    assert rows["keras9/fake"]["fingerprint"] == rows["keras9/honest"]["fingerprint"] != ""


CALLBACKS = """from keras.callbacks import Callback


class Own(Callback):
    def on_train_begin(self, *args, **kwargs):
        if CHEAT == "rate":
            self.model.optimizer.lr = 0.125

    def on_batch_end(self, *args, **kwargs):
        if CHEAT == "rate_later":
            self.model.optimizer.lr = 0.125

    def on_epoch_begin(self, *args, **kwargs):
        if CHEAT == "weights":
            self.model.set_weights([0 * one for one in self.model.get_weights()])


def callbacks():
    return [Own()]


METRICS = ["accuracy", "acc"] if CHEAT == "metrics" else ["acc"]
BATCH_SIZE"""
FIT = """

_FIT = Sequential.fit


def fit(self, x, *args, **given):
    if CHEAT == "fewer":
        x, given["y"] = x[:16], given["y"][:16]
    elif CHEAT == "data_later":
        x = x * (given["epochs"] < 2)
    elif CHEAT == "targets":
        given["y"] = given["y"][::-1]
    elif CHEAT == "patched_weights":
        self.set_weights([0 * one for one in self.get_weights()])
    return _FIT(self, x, *args, **given)


if CHEAT in ("fewer", "data_later", "targets", "patched_weights"):
    Sequential.fit = fit

_PREDICT = Sequential.predict


def predict(self, x, *args, **given):
    return _PREDICT(self, x[::-1] if len(x) == 16 else x, *args, **given)


if CHEAT == "validation":
    Sequential.predict = predict
"""
OTHER_WORK = {
    "fewer": "the number of samples: trained on 16 in epoch 1 instead of 32",
    "data_later": "the data that its training received in epoch 2",
    "targets": "the data that its training received in epoch 1",
    "rate": "its learning rate at the start of epoch 1: 0.125 instead of 0.500",
    "rate_later": "its learning rate at the end of epoch 1: 0.125 instead of 0.500",
    "weights": "its weights, which were changed outside training, before epoch 1",
    "patched_weights": "its weights, which were changed outside training, before epoch 1",
    "validation": "the data that its validation received in epoch 1",
    "metrics": 'its metrics: ["accuracy", "accuracy"] instead of ["accuracy"]',
}


@pytest.mark.thorough
def test_a_training_that_did_other_work_is_named(bench: Bench) -> None:
    bench.example("my_example.py", HONEST.replace("BATCH_SIZE", CALLBACKS, 1) + FIT)
    said = bench.measure(backends=cheats(bench, *OTHER_WORK))
    assert said.status == 0, said
    rows = {row.backend: row for row in summarise(bench.last().measured)}
    for name, sentence in OTHER_WORK.items():
        assert f"unlike keras9/fake in {sentence}" in rows[f"keras9/{name}"].differs, name
    assert rows["keras9/fake"].differs == rows["keras9/honest"].differs == ()


PREDICT = """

_PREDICT = Sequential.predict


def predict(self, x, *args, **given):
    return _PREDICT(self, x[:8], *args, **given)


if CHEAT:
    Sequential.predict = predict
"""


def test_a_pass_over_a_part_of_the_samples_is_named(bench: Bench) -> None:
    honest = HONEST.replace('DATA = "patterns', 'TASK = "infer"\nDATA = "patterns')
    bench.example("my_example.py", honest + PREDICT)
    bench.measure(backends=cheats(bench, "fewer"))
    rows = {row.backend: row for row in summarise(bench.last().measured)}
    fewer = "unlike keras9/fake in the number of samples: run on 8 in epoch 1 instead of 32"
    assert fewer in rows["keras9/fewer"].differs
    assert rows["keras9/honest"].differs == ()


def test_a_backend_whose_name_says_another_framework_is_noted(bench: Bench) -> None:
    bench.backend("keras9/fasttorch")
    bench.backend("keras9/theano2")
    said = bench.measure(backends="fasttorch,theano2")
    assert "theano 1.0 does the computing, unlike what the name says" in " ".join(said.out.split())
    facts = {one.cell.backend: one.facts for one in bench.last().measured}
    assert [facts[f"keras9/{name}"].notes for name in ("fasttorch", "theano2")] == [
        ("theano 1.0 does the computing, unlike what the name says",),
        (),
    ]
    assert facts["keras9/fasttorch"].frameworks == ("theano 1.0",)


def test_a_first_step_that_trains_otherwise_is_marked(bench: Bench) -> None:
    bench.backend("keras9/honest")
    bench.backend("keras9/cheat", more='[variables]\nFAKE_KERAS_STEP_IS_OFF_BY = "0.1"\n')
    said = bench.measure(backends="fake,honest,cheat")
    assert said.status == 0, said
    assert "unlike keras9/fake in the first optimizer step: Dense 1's kernel changes by " in " ".join(
        said.out.split()
    )
    assert said.out.count(" ok, differs [") == 1


def test_a_keras_that_no_longer_calls_a_hook_is_measured_and_its_row_says_so(bench: Bench) -> None:
    bench.backend("keras9/other", more='[variables]\nFAKE_KERAS_CALLS_NO_HOOK = "1"\n')
    said = bench.measure(backends="fake,other")
    words = " ".join(said.out.split())
    assert said.status == 0 and "differs [" not in said.out, said.out
    assert "Keras 2.99.1 did not call _make_train_function, so no step was seen: its epochs are timed whole" in words


def test_a_known_difference_of_the_first_step_is_a_note_and_no_more(bench: Bench) -> None:
    known = '[[explained]]\nwhat = ["1 step"]\nbound = 0.1\nbound_of_change = 0.2\nreason = "It is known."\n'
    bench.backend("keras9/known", more='[variables]\nFAKE_KERAS_STEP_IS_OFF_BY = "0.1"\n\n' + known)
    said = bench.measure(backends="fake,known")
    assert said.status == 0 and "differs [" not in said.out
    note = "known difference from keras9/fake in its first step: It is known."
    assert note not in " ".join(said.out.split()), "it is harmless, so the page has it"
    assert note in (bench.runs()[0] / "summary.md").read_text("utf-8")


@pytest.mark.thorough
def test_a_cheat_is_marked_in_the_plots_too(bench: Bench) -> None:
    bench.draw()
    backends = cheats(bench, "optimizer")
    bench.measure(backends=backends)
    honest = {path.name: path.read_bytes() for path in (bench.runs()[0] / "plots").glob("*.png")}
    bench.example("my_example.py", OTHER_OPTIMIZER)
    bench.measure("--name", "cheated", backends=backends)
    marked = {path.name: path.read_bytes() for path in (bench.results / "cheated" / "plots").glob("*.png")}
    assert honest.keys() == marked.keys() and len(marked) == 3
    assert all(honest[name] != marked[name] for name in marked)


def test_what_the_backend_holds_is_told(bench: Bench) -> None:
    bench.measure()
    told = {event["event"]: event for event in events_of(bench.runs()[0])}
    assert told["model"]["layers"] == [
        ["Flatten", {}, []],
        ["Dense", {"activation": "softmax", "units": 3, "use_bias": True}, [[16, 3], [3]]],
    ]
    assert told["model"]["dtypes"] == ["float32"]
    assert told["compiled"]["optimizer"] == {"class_name": "SGD", "learning_rate": 0.5}
    assert told["compiled"]["loss"] == "categorical_crossentropy" and told["compiled"]["batch_size"] == 8
