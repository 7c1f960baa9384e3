"""Questions that people ask of their own programs, answered on real backends."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from real_runs import KNOWN, Finished, Kbench

from kbench.analysis.rows import summarised
from kbench.features.script import events
from kbench.features.script.lines.line_details import details
from kbench.outputs.told import ToldRun
from kbench.records.values import FAILED, OK, Measured
from kbench.summary import TO_DEFAULT, Summary

pytestmark = [
    pytest.mark.timeout(3600),
    pytest.mark.slow("backends run a long program"),
]

DATA = """
import numpy as np
x, y = np.random.rand(320, 8), np.random.randint(0, 2, (320, 1))
"""
DENSE = """
import keras
model = keras.models.Sequential([keras.layers.Dense(4, activation="relu", input_shape=(8,)), keras.layers.Dense(1)])
"""


def program(folder: Path, text: str) -> Path:
    path = folder / "program.py"
    path.write_text(text.lstrip(), "utf-8")
    return path


def line_of(path: Path, text: str) -> int:
    return next(number for number, line in enumerate(path.read_text("utf-8").splitlines(), 1) if text in line)


def rows(finished: Finished) -> dict[tuple[str, str], Summary]:
    """By what the row is of, such as `fit, line 9`, and its backend."""
    return {(row.example.partition(": ")[2], row.backend): row for row in summarised(finished.results())}


def by_backend(finished: Finished) -> dict[str, Measured]:
    return {measured.cell.backend: measured for measured in finished.results().measured}


def check_imports(finished: Finished, names: Iterable[str]) -> None:
    """The import of Keras is part of the program."""
    programs = by_backend(finished)
    assert set(programs) == set(names)
    for name, program_run in programs.items():
        assert program_run.facts.program is not None
        assert 0.1 < program_run.phases["import"] <= program_run.facts.program.seconds, name


def test_the_import_of_keras_is_part_of_the_program(asked: Finished) -> None:
    check_imports(asked, by_backend(asked))


@pytest.mark.thorough
def test_the_import_of_keras_is_part_of_the_program_on_every_other_backend(kbench: Kbench, tmp_path: Path) -> None:
    asked_elsewhere = {*IN_SHORT, *FURTHER, *IMPORTED}
    others = [name for name, one in KNOWN.items() if one.kind == "keras" and name not in asked_elsewhere]
    finished = kbench.script(program(tmp_path, "import keras"), ",".join(others))
    assert finished.status == 0
    check_imports(finished, others)


SET = "keras3/jax+jit=off+policy=mixed_bfloat16"


@pytest.fixture
def settings(kbench: Kbench, tmp_path: Path, kept: dict[str, Finished]) -> dict[str, Measured]:
    """One program under the settings in the names of its rows, measured once for the tests of this file."""
    if "settings" not in kept:
        text = f"{DATA}{DENSE}model.compile('sgd', 'mse')\nmodel.fit(x, y, epochs=3, verbose=0)\n"
        kept["settings"] = kbench.script(program(tmp_path, text), f"keras3/jax,{SET}")
    assert kept["settings"].status == 0, kept["settings"].output
    return by_backend(kept["settings"])


def test_jit_compile_in_a_row_s_name_is_that_of_the_program_s_models(settings: dict[str, Measured]) -> None:
    assert [settings[name].facts.jit for name in ("keras3/jax", SET)] == [None, "off"]


def test_a_policy_in_a_row_s_name_is_that_of_the_program_s_layers(settings: dict[str, Measured]) -> None:
    assert settings[SET].facts.computes_in == ("bfloat16",)
    assert settings["keras3/jax"].facts.computes_in != ("bfloat16",)


@pytest.mark.thorough
def test_a_program_that_sets_another_policy_fails_under_that_name(kbench: Kbench, tmp_path: Path) -> None:
    own = "import keras\nkeras.mixed_precision.set_global_policy('float32')\n"
    text = f"{own}{DATA}{DENSE}model.compile('sgd', 'mse')\nmodel.fit(x, y, verbose=0)\n"
    finished = kbench.script(program(tmp_path, text), "keras3/jax+policy=mixed_bfloat16")
    assert finished.status == 1
    assert "its layers compute in float32, not in bfloat16" in finished.cell().outcome.reason


ASKED = Path(__file__).parent / "questions" / "asked.py"
IN_SHORT = ("keras2/tensorflow", "keras3/jax")  # of each generation one
FURTHER = ("keras2/tensorflow2", "keras3/tensorflow", "keras3/torch")


def answered(names: Sequence[str], kbench: Kbench, kept: dict[str, Finished]) -> Finished:
    """The program of several questions, measured once for the tests of this file."""
    key = ",".join(names)
    if key not in kept:
        lines = ",".join(str(line_of(ASKED, text)) for text in ("# narrow", "# wide"))
        options = ("--init", "seeded", "--compare-lines", f"{lines},{line_of(ASKED, '# no model')}")
        kept[key] = kbench.script(ASKED, key, *options)
    assert kept[key].status == 0, kept[key].output
    return kept[key]


@pytest.fixture(params=[IN_SHORT, pytest.param(FURTHER, marks=pytest.mark.thorough)], ids=["two", "others"])
def asked(request: pytest.FixtureRequest, kbench: Kbench, kept: dict[str, Finished]) -> Finished:
    return answered(request.param, kbench, kept)


@pytest.fixture
def in_short(kbench: Kbench, kept: dict[str, Finished]) -> Finished:
    return answered(IN_SHORT, kbench, kept)


@pytest.fixture
def further(kbench: Kbench, kept: dict[str, Finished]) -> Finished:
    return answered(FURTHER, kbench, kept)


def row_of(asked: Finished, call: str, comment: str, backend: str) -> Summary:
    return rows(asked)[f"{call}, line {line_of(ASKED, comment)}", backend]


def test_a_validation_of_one_step_epochs_is_observed_in_turns(asked: Finished) -> None:
    assert not [note for ran in by_backend(asked).values() for note in ran.facts.notes if "observed" in note]
    for name in by_backend(asked):
        row = row_of(asked, "fit", "# one step", name)
        assert row.evaluation_seconds and row.epoch_seconds


def test_data_drawn_after_the_import_are_the_same_with_jax(asked: Finished) -> None:
    site = f"fit, line {line_of(ASKED, '# one step')}"
    hashes = {events.sites(ran.facts)[site].facts["content_sha256"] for ran in by_backend(asked).values()}
    assert len(hashes) == 1


@pytest.mark.parametrize(
    ("comment", "backend"),
    [
        pytest.param("# tape", "keras3/tensorflow", marks=pytest.mark.thorough),
        pytest.param("# compiled", "keras3/tensorflow", marks=pytest.mark.thorough),
        pytest.param("# tape", "keras2/tensorflow2", marks=pytest.mark.thorough),
        pytest.param("# torch", "keras3/torch", marks=pytest.mark.thorough),
        ("# jax", "keras3/jax"),
    ],
)
def test_a_loop_of_the_program_s_own_is_a_row(
    comment: str, backend: str, kbench: Kbench, kept: dict[str, Finished]
) -> None:
    asked = answered(IN_SHORT if backend in IN_SHORT else FURTHER, kbench, kept)
    row = row_of(asked, "loop", comment, backend)
    assert row.calls == 4 * 32 - 1 and row.parameters == 8 * 4 + 4 + 4 + 1
    whole = rows(asked)["whole program", backend]
    assert row.epoch_seconds and row.total_seconds and whole.total_seconds
    outside = rows(asked)["outside Keras", backend].total_seconds
    assert outside is not None and 0 <= outside <= whole.total_seconds - row.total_seconds + 1e-6


def test_why_fit_and_evaluate_disagree_is_told(asked: Finished) -> None:
    told = {row.backend: text for row in rows(asked).values() if (text := details(row).afterwards)}
    assert set(told) == set(by_backend(asked))
    for sentence in told.values():
        assert "in training mode and" in sentence and sentence.endswith("by BatchNormalization"), sentence


MODES = """
import numpy as np
import keras
random = np.random.RandomState(0)
x = random.rand(64, 16).astype("float32")
x[32:] *= 0.7
y = np.repeat([0, 1], 32).astype("float32")
model = keras.models.Sequential([
    keras.layers.Dense(16, input_shape=(16,)), keras.layers.BatchNormalization(),
    keras.layers.Dense(1, activation="sigmoid"),
])
model.compile(loss="binary_crossentropy", optimizer=keras.optimizers.Adam(0.1), metrics=["accuracy"])
model.fit(x, y, batch_size=8, epochs=2, verbose=0)
bn = model.layers[1]
values = bn.get_weights()
bn.set_weights([*values[:2], values[2] + 50, values[3]])
model.evaluate(x, y, verbose=0)
"""


@pytest.mark.thorough
def test_why_fit_and_evaluate_disagree_is_told_on_theano(kbench: Kbench, tmp_path: Path) -> None:
    """In a program of its own: Theano compiles C for each model."""
    finished = kbench.script(program(tmp_path, MODES), "keras2/theano")
    assert finished.status == 0, finished.output
    (told,) = [text for row in rows(finished).values() if (text := details(row).afterwards)]
    assert "in training mode and" in told and told.endswith("by BatchNormalization")


@pytest.mark.thorough
def test_what_predict_on_batch_takes_is_told_of_a_loop_of_small_predictions(further: Finished) -> None:
    assert details(row_of(further, "predict", "# small predictions", "keras3/tensorflow")).on_batch_seconds
    assert "For so few samples predict_on_batch takes 0.0" in " ".join(further.output.split())


@pytest.mark.thorough
def test_nothing_is_told_of_predict_on_batch_where_each_call_has_another_size(further: Finished) -> None:
    """Each size is compiled, so the time of one of them is not what the loop would take."""
    assert not details(row_of(further, "predict", "# growing predictions", "keras3/tensorflow")).on_batch_seconds


@pytest.mark.thorough
def test_a_validation_is_timed_without_the_callbacks_behind_it(further: Finished) -> None:
    site = f"fit, line {line_of(ASKED, '# validated')}"
    epochs = by_backend(further)["keras3/torch"].epochs
    seconds = [epoch.evaluation_seconds or 0 for epoch in epochs if epoch.site == site]
    assert len(seconds) == 3 and min(seconds) > 0 and max(seconds) < 1


@pytest.mark.thorough
def test_a_model_whose_first_step_makes_its_weights_is_described_with_them(further: Finished) -> None:
    sites = events.sites(by_backend(further)["keras3/tensorflow"].facts)
    assert sites[f"fit, line {line_of(ASKED, '# late')}"].facts["parameters"] == 8 * 16 + 16 + 16 + 1


def test_calls_that_each_compile_are_compared_by_all_of_them(in_short: Finished) -> None:
    row = row_of(in_short, "fit", "# folds", "keras2/tensorflow")
    assert row.epoch_seconds and row.calls == 12 and row.total_seconds
    assert row.epoch_seconds == pytest.approx(row.total_seconds / row.calls, rel=0.3), "the first call counts, too"


def test_lines_of_one_program_are_compared(in_short: Finished) -> None:
    """By their times, or on a machine that is too busy by a sentence that says so."""
    remarks = ToldRun(in_short.results()).remarks
    wide, narrow = (f"fit, line {line_of(ASKED, comment)}" for comment in ("# wide", "# narrow"))
    for backend in ("keras3/jax", "keras2/tensorflow"):
        (sentence,) = [text for text in remarks if text.startswith(f"On {backend}, {wide}")]
        of_times = rf"{wide} takes [0-9.]+ times as long as {narrow}( \(.+\))?: [0-9.]+ instead of [0-9.]+ s"
        busy = rf"{wide} and {narrow} could not be compared( \(.+\))?: other programs"
        too_busy = f"{wide} is slower than {narrow}, but by how much is not known: other programs"
        assert re.search(f"{of_times}|{busy}|{too_busy}", sentence), sentence
        long, short = (row_of(in_short, "fit", comment, backend).epoch_seconds for comment in ("# wide", "# narrow"))
        assert long and short and long > 2 * short
    assert any(f"measured in line {line_of(ASKED, '# no model')}, but in lines " in text for text in remarks)


def test_what_callbacks_and_batches_take_of_a_fit_is_told(asked: Finished) -> None:
    of_steps = []
    for name in by_backend(asked):
        fit = row_of(asked, "fit", "# callbacks", name)
        assert 0.15 <= (fit.callback_seconds or 0) <= 0.5 and 0.0 < details(fit).callback_share < 1.0
        fit = row_of(asked, "fit", "# batches", name)
        assert 0.2 <= (fit.batch_making_seconds or 0) <= 0.3, "of ten batches"
        steps = row_of(asked, "train_on_batch", "# steps", name)
        assert len(details(steps).first_losses) == 5 and steps.final_loss
        of_steps.append(details(steps).first_losses)
    assert all(other == pytest.approx(of_steps[0], rel=1e-3) for other in of_steps)


def test_each_size_that_is_compiled_again_is_counted(in_short: Finished) -> None:
    again = details(row_of(in_short, "predict", "# sizes", "keras3/jax")).compiled_again
    assert again is not None and again >= 11, "once for each size"


@pytest.mark.thorough
def test_variants_of_one_program_are_compared(kbench: Kbench, tmp_path: Path) -> None:
    text = f"""import sys
{DATA}
import keras
units = 1024 if "--wide" in sys.argv else 4
model = keras.models.Sequential()
for layer in (keras.layers.Dense(units, input_shape=(8,)), keras.layers.Dense(units), keras.layers.Dense(1)):
    model.add(layer)
model.compile("sgd", "mse")
model.fit(x, y, epochs=6, verbose=0)
"""
    finished = kbench.script(program(tmp_path, text), "keras3/jax", "--variant=--wide")
    assert finished.status == 0, finished.output
    fits = {name: row for (line, name), row in rows(finished).items() if line.startswith("fit")}
    assert sorted(fits) == ["keras3/jax", "keras3/jax+args=--wide"]
    for name, row in fits.items():
        assert row.status == OK and not row.differs
        if "+" in name:
            assert row.ratios[TO_DEFAULT].value > 1.2
            assert any(
                "give it another model: layer 1, Dense, has units 1024 instead of 4" in one for one in row.notes
            )


@pytest.mark.parametrize(
    ("names", "seeds"),
    [(("keras3/jax",), 2), pytest.param(("keras3/jax", "keras3/torch"), 3, marks=pytest.mark.thorough)],
)
def test_scores_are_compared_over_seeds(kbench: Kbench, tmp_path: Path, names: tuple[str, ...], seeds: int) -> None:
    text = f"""import keras
import numpy as np
keras.utils.set_random_seed(7)
{DATA}
y = (x.sum(1) > 4).astype("float32")
model = keras.models.Sequential()
model.add(keras.layers.Dense(8, activation="relu", input_shape=(8,)))
model.add(keras.layers.Dense(1, activation="sigmoid", kernel_initializer="zeros"))
rate = 0.0 if keras.backend.backend() == "torch" else 0.05
model.compile(keras.optimizers.Adam(rate), "binary_crossentropy", metrics=["accuracy"])
model.fit(x, y, epochs=10, verbose=0)
"""
    finished = kbench._run(
        *("script", str(program(tmp_path, text)), "--no-plots"),
        *("--backends", ",".join(names), "--seeds", str(seeds)),
    )
    assert finished.status == 0, finished.output
    losses = {one.epochs[-1].loss for one in finished.results().measured if one.cell.backend == "keras3/jax"}
    assert len(losses) == seeds, "each training has a seed of its own, although the program sets one"
    if len(names) > 1:
        scores = {name: row.score for (line, name), row in rows(finished).items() if line.startswith("fit")}
        best, other = (scores[name] for name in names)
        assert best and other and best.seeds == seeds and other.best == "keras3/jax"
        assert other.difference.high < -0.05
        assert "Over 3 seeds accuracy is best on keras3/jax" in " ".join(finished.output.split())


@pytest.mark.thorough  # on fake backends in tests/features/script
def test_a_failure_is_the_first_sentence(kbench: Kbench, tmp_path: Path) -> None:
    text = f"{DATA}{DENSE}model.compile('sgd', 'mse')\nmodel.fit(x, y, epochs=3, verbose=0)\n"
    text += "if keras.backend.backend() == 'jax':\n    raise KeyError(0)\n"
    finished = kbench.script(program(tmp_path, text), "keras3/jax,keras3/torch")
    assert finished.status == 1
    assert any(one.outcome.status == FAILED for one in finished.results().measured)
    assert "program.py failed on keras3/jax: line 9: KeyError: 0. " in " ".join(finished.output.split())


IMPORTED = ("keras3/torch", "keras2/theano")


@pytest.mark.thorough
def test_the_packages_are_named_for_which_importing_keras_takes_time(kbench: Kbench, tmp_path: Path) -> None:
    finished = kbench.script(program(tmp_path, "import keras"), ",".join(IMPORTED), "--explain")
    assert finished.status == 0, finished.output
    check_imports(finished, IMPORTED)
    (one,) = [text for text in finished.output.split("\n\n") if text.startswith("Importing Keras on keras3/torch")]
    assert "torch " in one and " s: " in one
    assert "Importing Keras on keras2/theano" not in finished.output, "Python 3.6 cannot tell"
