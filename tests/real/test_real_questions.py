"""Questions that people ask of their own programs, answered on real backends."""

from __future__ import annotations

from pathlib import Path

import pytest
from real_runs import KNOWN, Finished, Kbench

from kbench.analysis.rows import summarised
from kbench.causes.explained import Explained
from kbench.summary import TO_DEFAULT, Summary
from kbench.values import FAILED, OK

pytestmark = pytest.mark.timeout(3600)

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


def test_the_import_of_keras_is_part_of_the_program_on_every_backend(kbench: Kbench, tmp_path: Path) -> None:
    finished = kbench.script(program(tmp_path, "import keras"), "all")
    assert finished.status == 0
    measured = finished.results().measured
    assert {one.cell.backend for one in measured} == {one.name for one in KNOWN.values() if one.kind == "keras"}
    for one in measured:
        assert one.facts.program is not None
        assert 0.1 < one.phases["import"] <= one.facts.program.seconds, one.cell.backend


@pytest.mark.parametrize(("backend", "setting"), [("keras3/jax", "jit=off"), ("keras2/tensorflow2", "jit=on")])
def test_jit_compile_in_a_row_s_name_is_that_of_the_program_s_models(
    backend: str, setting: str, kbench: Kbench, tmp_path: Path
) -> None:
    text = f"{DATA}{DENSE}model.compile('sgd', 'mse')\nmodel.fit(x, y, epochs=3, verbose=0)\n"
    finished = kbench.script(program(tmp_path, text), f"{backend},{backend}+{setting}")
    assert finished.status == 0
    usual, other = (one.facts.jit for one in finished.results().measured)
    assert usual is None and other == setting.partition("=")[2]


def test_a_policy_in_a_row_s_name_is_that_of_the_program_s_layers(kbench: Kbench, tmp_path: Path) -> None:
    text = f"{DATA}{DENSE}model.compile('sgd', 'mse')\nmodel.fit(x, y, epochs=3, verbose=0)\n"
    finished = kbench.script(program(tmp_path, text), "keras3/torch,keras3/torch+policy=mixed_bfloat16")
    assert finished.status == 0
    assert finished.results().measured[1].facts.computes_in == ("bfloat16",)


def test_a_program_that_sets_another_policy_fails_under_that_name(kbench: Kbench, tmp_path: Path) -> None:
    own = "import keras\nkeras.mixed_precision.set_global_policy('float32')\n"
    text = f"{own}{DATA}{DENSE}model.compile('sgd', 'mse')\nmodel.fit(x, y, verbose=0)\n"
    finished = kbench.script(program(tmp_path, text), "keras3/torch+policy=mixed_bfloat16")
    assert finished.status == 1
    assert "its layers compute in float32, not in bfloat16" in finished.cell().outcome.reason


def test_a_validation_of_one_step_epochs_is_observed_in_turns(kbench: Kbench, tmp_path: Path) -> None:
    fit = "model.fit(x, y, epochs=20, batch_size=320, verbose=0, validation_data=(x, y))"
    text = f"{DATA}{DENSE}model.compile('adam', 'mse')\n{fit}\n"
    finished = kbench.script(program(tmp_path, text), "keras3/jax,keras3/tensorflow")
    assert finished.status == 0
    assert not [note for one in finished.results().measured for note in one.facts.notes if "observed" in note]
    for row in rows(finished).values():
        if row.example.partition(": ")[2].startswith("fit"):
            assert row.evaluation_seconds and row.epoch_seconds


def test_data_drawn_after_the_import_are_the_same_with_jax(kbench: Kbench, tmp_path: Path) -> None:
    text = f"import keras\nimport numpy as np\n{DATA}{DENSE}model.compile('sgd', 'mse')\nmodel.fit(x, y, verbose=0)\n"
    finished = kbench.script(program(tmp_path, text), "keras3/jax,keras3/torch,keras2/tensorflow")
    assert finished.status == 0, finished.output
    hashes = {
        site.facts["content_sha256"] for one in finished.results().measured for site in one.facts.sites.values()
    }
    assert len(hashes) == 1


TAPE = """
import keras
import tensorflow as tf
optimizer = keras.optimizers.SGD(0.01)
DECORATOR
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_weights), model.trainable_weights))
for epoch in range(4):
    for start in range(0, 320, 10):
        step(tf.constant(x[start:start + 10], "float32"), tf.constant(y[start:start + 10], "float32"))
"""
TORCH = """
import torch
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(4):
    for start in range(0, 320, 10):
        optimizer.zero_grad()
        out = model(torch.tensor(x[start:start + 10], dtype=torch.float32))
        ((out - torch.tensor(y[start:start + 10], dtype=torch.float32)) ** 2).mean().backward()
        optimizer.step()
"""
JAX = """
import jax
optimizer = keras.optimizers.SGD(0.01)
optimizer.build(model.trainable_variables)
def loss(trained, others, x, y):
    out, others = model.stateless_call(trained, others, x, training=True)
    return ((out - y) ** 2).mean(), others
gradient = jax.value_and_grad(loss, has_aux=True)
@jax.jit
def step(state, x, y):
    trained, others, of_optimizer = state
    (value, others), grads = gradient(trained, others, x, y)
    trained, of_optimizer = optimizer.stateless_apply(of_optimizer, grads, trained)
    return value, (trained, others, of_optimizer)
state = tuple([one.value for one in each] for each in (
    model.trainable_variables, model.non_trainable_variables, optimizer.variables,
))
for epoch in range(4):
    for start in range(0, 320, 10):
        value, state = step(state, x[start:start + 10], y[start:start + 10])
"""


@pytest.mark.parametrize(
    ("text", "ends", "backend"),
    [
        (TAPE.replace("DECORATOR", ""), "optimizer.apply_gradients", "keras3/tensorflow"),
        (TAPE.replace("DECORATOR", "@tf.function"), "step(tf.constant", "keras3/tensorflow"),
        (TAPE.replace("DECORATOR", ""), "optimizer.apply_gradients", "keras2/tensorflow2"),
        (TORCH, "optimizer.step", "keras3/torch"),
        (JAX, "state = step(state", "keras3/jax"),
    ],
    ids=["tape", "tape compiled", "tape on Keras 2", "torch", "jax"],
)
def test_a_loop_of_the_program_s_own_is_a_row(
    text: str, ends: str, backend: str, kbench: Kbench, tmp_path: Path
) -> None:
    path = program(tmp_path, f"{DATA}{DENSE}{text}")
    finished = kbench.script(path, backend)
    assert finished.status == 0, finished.output
    found = rows(finished)
    row = found[f"loop, line {line_of(path, ends)}", backend]
    assert row.calls == 4 * 32 - 1 and row.parameters == 8 * 4 + 4 + 4 + 1
    whole = found["whole program", backend]
    assert row.epoch_seconds and row.total_seconds and whole.total_seconds
    outside = found["outside Keras", backend].total_seconds
    assert outside is not None and 0 <= outside <= whole.total_seconds - row.total_seconds + 1e-6


MODES = """
import numpy as np
import keras
from keras import layers
random = np.random.RandomState(0)
x = random.rand(64, 16).astype("float32")
x[32:] *= 0.7
y = np.repeat([0, 1], 32).astype("float32")
model = keras.models.Sequential([
    layers.Dense(16, input_shape=(16,)), layers.BatchNormalization(), layers.Dense(1, activation="sigmoid"),
])
model.compile(loss="binary_crossentropy", optimizer=keras.optimizers.Adam(0.1), metrics=["accuracy"])
model.fit(x, y, batch_size=8, epochs=2, verbose=0)
bn = model.layers[1]
values = bn.get_weights()
bn.set_weights([*values[:2], values[2] + 50, values[3]])
model.evaluate(x, y, verbose=0)
"""


@pytest.mark.parametrize("backends", ["keras2/tensorflow,keras3/jax", "keras2/theano,keras2/tensorflow2"])
def test_why_fit_and_evaluate_disagree_is_told(backends: str, kbench: Kbench, tmp_path: Path) -> None:
    finished = kbench.script(program(tmp_path, MODES), backends)
    assert finished.status == 0, finished.output
    told = [row.afterwards for row in rows(finished).values() if row.afterwards]
    assert len(told) == 2
    for one in told:
        assert "in training mode and" in one and one.endswith("by BatchNormalization"), one


def test_what_predict_on_batch_takes_is_told_of_a_loop_of_small_predictions(kbench: Kbench, tmp_path: Path) -> None:
    loop = "for _ in range(40):\n    model.predict(np.ones((1, 8)), verbose=0)\n"
    finished = kbench.script(program(tmp_path, f"{DATA}{DENSE}{loop}"), "keras3/tensorflow,keras3/torch")
    assert finished.status == 0, finished.output
    told = {row.backend: row.on_batch_seconds for row in rows(finished).values() if row.on_batch_seconds}
    assert "keras3/tensorflow" in told
    assert "For so few samples predict_on_batch takes 0.0" in " ".join(finished.output.split())


def test_nothing_is_told_of_predict_on_batch_where_each_call_has_another_size(kbench: Kbench, tmp_path: Path) -> None:
    """Each size is compiled, so the time of one of them is not what the loop would take."""
    loop = "for size in range(1, 41):\n    model.predict(np.ones((size, 8)), verbose=0)\n"
    finished = kbench.script(program(tmp_path, f"{DATA}{DENSE}{loop}"), "keras3/tensorflow")
    assert finished.status == 0, finished.output
    assert not any(row.on_batch_seconds for row in rows(finished).values())


def test_calls_that_each_compile_are_compared_by_all_of_them(kbench: Kbench, tmp_path: Path) -> None:
    text = """
import numpy as np
from keras.models import Sequential
from keras.layers import Dense
x, y = np.random.rand(270, 8), np.random.rand(270, 1)
for fold in range(12):
    model = Sequential([Dense(12, input_dim=8, activation="relu"), Dense(8, activation="relu"), Dense(1)])
    model.compile(loss="mse", optimizer="adam")
    model.fit(x, y, epochs=3, batch_size=10, verbose=0)
"""
    finished = kbench.script(program(tmp_path, text), "keras2/tensorflow")
    (row,) = [row for (line, _), row in rows(finished).items() if line.startswith("fit")]
    assert row.epoch_seconds and row.calls and row.total_seconds
    assert row.epoch_seconds == pytest.approx(row.total_seconds / row.calls, rel=0.3), "the first call counts, too"


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
    finished = kbench.script(program(tmp_path, text), "keras3/jax,keras3/torch", "--variant=--wide")
    assert finished.status == 0, finished.output
    fits = {name: row for (line, name), row in rows(finished).items() if line.startswith("fit")}
    assert sorted(fits) == ["keras3/jax", "keras3/jax+args=--wide", "keras3/torch", "keras3/torch+args=--wide"]
    for name, row in fits.items():
        assert row.status == OK and not row.differs
        if "+" in name:
            assert row.ratios[TO_DEFAULT].value > 1.2
            assert any(
                "give it another model: layer 1, Dense, has units 1024 instead of 4" in one for one in row.notes
            )


def test_lines_of_one_program_are_compared(kbench: Kbench, tmp_path: Path) -> None:
    text = f"""{DATA}
import keras
def made(units):
    model = keras.models.Sequential()
    for layer in (keras.layers.Dense(units, input_shape=(8,)), keras.layers.Dense(units), keras.layers.Dense(1)):
        model.add(layer)
    model.compile("sgd", "mse")
    return model
made(4).fit(x, y, epochs=8, verbose=0)
made(2048).fit(x, y, epochs=8, verbose=0)
"""
    path = program(tmp_path, text)
    small, large = line_of(path, "made(4)"), line_of(path, "made(2048)")
    finished = kbench.script(path, "keras3/jax,keras2/tensorflow", "--compare-lines", f"{small},{large},999")
    found = Explained(finished.results()).remarks
    for backend in ("keras3/jax", "keras2/tensorflow"):
        (one,) = [text for text in found if text.startswith(f"On {backend}")]
        assert f"fit, line {large} takes" in one and f"times as long as fit, line {small}" in one
    assert "No call of a model was measured in line 999." in found


def test_scores_are_compared_over_seeds(kbench: Kbench, tmp_path: Path) -> None:
    text = f"""import keras
import numpy as np
keras.utils.set_random_seed(7)
{DATA}
y = (x.sum(1) > 4).astype("float32")
model = keras.models.Sequential()
model.add(keras.layers.Dense(8, activation="relu", input_shape=(8,)))
model.add(keras.layers.Dense(1, activation="sigmoid"))
rate = 0.0 if keras.backend.backend() == "torch" else 0.05
model.compile(keras.optimizers.Adam(rate), "binary_crossentropy", metrics=["accuracy"])
model.fit(x, y, epochs=10, verbose=0)
"""
    finished = kbench._run(
        "script", str(program(tmp_path, text)), "--backends", "keras3/jax,keras3/torch", "--seeds", "4", "--no-plots"
    )
    assert finished.status == 0, finished.output
    scores = {name: row.score for (line, name), row in rows(finished).items() if line.startswith("fit")}
    best, other = scores["keras3/jax"], scores["keras3/torch"]
    assert best and other and best.seeds == 4 and other.best == "keras3/jax"
    assert other.difference.high < -0.05
    losses = {one.epochs[-1].loss for one in finished.results().measured if one.cell.backend == "keras3/jax"}
    assert len(losses) == 4, "each training has a seed of its own, although the program sets one"
    assert "Over 4 seeds accuracy is best on keras3/jax" in " ".join(finished.output.split())


def test_a_failure_is_the_first_sentence(kbench: Kbench, tmp_path: Path) -> None:
    text = f"{DATA}{DENSE}model.compile('sgd', 'mse')\nmodel.fit(x, y, epochs=3, verbose=0)\n"
    text += "if keras.backend.backend() == 'jax':\n    raise KeyError(0)\n"
    finished = kbench.script(program(tmp_path, text), "keras3/jax,keras3/torch")
    assert finished.status == 1
    assert any(one.outcome.status == FAILED for one in finished.results().measured)
    assert "program.py failed on keras3/jax: line 9: KeyError: 0. " in " ".join(finished.output.split())


def test_the_packages_are_named_for_which_importing_keras_takes_time(kbench: Kbench, tmp_path: Path) -> None:
    finished = kbench.script(program(tmp_path, "import keras"), "keras3/torch,keras2/theano", "--explain")
    assert finished.status == 0, finished.output
    (one,) = [text for text in finished.output.split("\n\n") if text.startswith("Importing Keras on keras3/torch")]
    assert "torch " in one and " s: " in one
    assert "Importing Keras on keras2/theano" not in finished.output, "Python 3.6 cannot tell"


REST = """
import time
class Slow(keras.callbacks.Callback):
    def on_batch_end(self, batch, logs=None):
        time.sleep(0.005)
    def on_epoch_end(self, epoch, logs=None):
        time.sleep(0.1)
class Batches(keras.utils.Sequence):
    def __len__(self):
        return 10
    def __getitem__(self, number):
        time.sleep(0.02)
        return x[number * 32:number * 32 + 32], y[number * 32:number * 32 + 32]
slow = [Slow()]
model.fit(x, y, epochs=3, verbose=0, callbacks=slow)  # callbacks
assert "on_batch_end" not in vars(slow[0])
fit = getattr(model, "fit_generator", model.fit)
fit(Batches(), epochs=3, verbose=0)  # batches
for _ in range(8):
    model.train_on_batch(x[:32], y[:32])  # steps
for number in range(12):
    model.predict(x[:10 + number])  # sizes
"""


def test_what_callbacks_and_batches_take_of_a_fit_is_told(kbench: Kbench, tmp_path: Path) -> None:
    seeded = "import numpy as np\nnp.random.seed(3)\n"
    path = program(tmp_path, f"{seeded}{DATA}{DENSE}model.compile('sgd', 'mse')\n{REST}")
    names = "keras2/tensorflow,keras3/jax,keras3/torch"
    finished = kbench.script(path, names, "--init", "seeded")
    assert finished.status == 0
    found = rows(finished)
    for name in names.split(","):
        fit = found[f"fit, line {line_of(path, '# callbacks')}", name]
        assert 0.15 <= (fit.callback_seconds or 0) <= 0.5 and 0.1 <= (fit.outside_callback_seconds or 0) <= 0.3
        fit = found[f"fit, line {line_of(path, '# batches')}", name]
        assert 0.2 <= (fit.batch_making_seconds or 0) <= 0.3, "of ten batches"
        steps = found[f"train_on_batch, line {line_of(path, '# steps')}", name]
        assert len(steps.first_losses) == 5 and steps.final_loss
    of_steps = [row.first_losses for (line, _), row in found.items() if line.startswith("train_on_batch")]
    assert all(other == pytest.approx(of_steps[0], rel=1e-3) for other in of_steps)
    again = found[f"predict, line {line_of(path, '# sizes')}", "keras3/jax"].compiled_again
    assert again >= 11, "once for each size"
