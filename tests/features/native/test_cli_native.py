"""Native backends from end to end: a twin is measured and proved like the Keras rows, and shows what Keras costs."""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from fake_bench import EXAMPLE, INFERENCE, Bench, events_of
from fake_native import TOML, TWIN, add_native

from kbench.analysis.rows import summarised
from kbench.environments import interpreters
from kbench.features.native.comparison import ratio, twin
from kbench.summary import Summary

BOTH = "fake,native/fake"


def rows(bench: Bench) -> Mapping[str, Summary]:
    return {row.backend: row for row in summarised(bench.last())}


def test_a_twin_is_the_model_of_the_keras_row_and_learns_the_same(bench: Bench) -> None:
    add_native(bench)
    said = bench.measure(backends=BOTH)
    assert said.status == 0, said.out + said.err
    keras, native = rows(bench)["keras9/fake"], rows(bench)["native/fake"]
    assert keras.fingerprint == native.fingerprint != ""
    assert keras.differs == native.differs == ()
    assert native.final_loss == pytest.approx(keras.final_loss, abs=1e-5)
    assert native.final_val_accuracy == keras.final_val_accuracy
    assert (native.keras_version, native.backend_version) == ("", "1.0")
    told = [one for one in events_of(bench.last().folder) if one["event"] == "model"]
    assert len({one["weights_sha256"] for one in told}) == 1


def test_what_keras_costs_is_the_ratio_to_the_same_framework_without_it(bench: Bench) -> None:
    add_native(bench)
    bench.measure(backends=BOTH)
    keras, native = rows(bench)["keras9/fake"], rows(bench)["native/fake"]
    assert twin(keras) == "native/fake" and twin(native) == ""
    assert keras.epoch_seconds and native.epoch_seconds
    assert ratio(keras) == pytest.approx(keras.epoch_seconds / native.epoch_seconds, rel=0.5)
    with Path(bench.last().folder, "summary.csv").open(newline="") as text:
        written = {row["backend"]: row for row in csv.DictReader(text)}
    assert float(written["keras9/fake"]["relative_to_native"]) == ratio(keras)


def test_the_pages_and_a_picture_show_what_keras_costs(bench: Bench) -> None:
    add_native(bench)
    bench.draw()
    said = bench.measure(backends=BOTH)
    run = bench.last().folder
    assert "What Keras costs" in said.out
    assert "## What Keras costs" in (run / "summary.md").read_text()
    assert "keras-cost.png" in (run / "summary.md").read_text()
    assert '<h2 id="r0-further1">What Keras costs</h2>' in (run / "report.html").read_text()
    assert (run / "plots" / "keras-cost.png").is_file() and (run / "plots" / "keras-cost.svg").is_file()
    assert bench.measure(backends="fake").status == 0
    assert "What Keras costs" not in (bench.last().folder / "report.html").read_text()


def test_with_the_baseline_native_each_row_is_compared_with_its_own(bench: Bench) -> None:
    add_native(bench)
    said = bench.measure("--baseline", "native", backends=BOTH)
    assert said.status == 0, said.out + said.err
    keras, native = rows(bench)["keras9/fake"], rows(bench)["native/fake"]
    assert keras.baseline == "native" and keras.relative_to_baseline == ratio(keras)
    assert native.verdict == "baseline" and native.relative_to_baseline is None


def test_parity_takes_a_native_backend(bench: Bench) -> None:
    add_native(bench)
    said = bench("parity", "--backends", BOTH, "--examples", "my_example.py", "--device", "cpu")
    assert said.status == 0, said.out + said.err
    with Path(bench.last().folder, "parity.csv").open(newline="") as text:
        written = {row["backend"]: row for row in csv.DictReader(text)}
    assert {row["verdict"] for row in written.values()} == {"same"}
    assert float(written["native/fake"]["10_steps"]) < 1e-5 and written["native/fake"]["reference"] == "numpy"


def test_parity_finds_a_twin_whose_optimizer_is_another_one(bench: Bench) -> None:
    add_native(bench, twin=TWIN.replace("return learning_rate", "return 1.1 * learning_rate"))
    said = bench("parity", "--backends", BOTH, "--examples", "my_example.py", "--device", "cpu")
    assert said.status == 1
    assert "differs" in said.out


def test_a_twin_that_computes_another_model_is_compared_with_none(bench: Bench) -> None:
    add_native(bench, twin=TWIN.replace('@ model["kernel"] + model', '@ model["kernel"] * 2 + model'))
    bench.measure(backends=BOTH)
    native = rows(bench)["native/fake"]
    assert any("in its outputs before training" in how for how in native.differs)
    assert native.relative_to_fastest is None and ratio(rows(bench)["keras9/fake"]) is None


def test_without_a_twin_the_row_says_which_file_to_write(bench: Bench) -> None:
    file = add_native(bench, twin="")
    said = bench.measure(backends="native/fake")
    assert said.status == 1  # it was asked for by name
    wanted = f"{bench.folder.name}/native/fake/my_example.py"
    assert bench.fates() == {
        "my_example": ("unsupported", f"there is no twin of my_example for native/fake: write {wanted}")
    }
    file.write_text(TWIN)
    assert bench.measure(backends="native/fake").status == 0


@pytest.mark.parametrize(
    ("line", "options", "reason"),
    [
        ("CLASS_WEIGHT = {0: 2.0}", (), "my_example has CLASS_WEIGHT, which only Keras can use"),
        ('METRICS = [["mae"]]', (), "my_example has METRICS other than accuracy"),
        ("def callbacks(): return []", (), "my_example has callbacks, which only Keras can use"),
        ("OPTIMIZER = dict", (), "the OPTIMIZER of my_example is made by Keras"),
        ('LOSS = "mse"', (), "the LOSS of my_example is not one of"),
        ("", ("--image-data-format", "channels_first"), "its twins compute with channels_last"),
    ],
)
def test_what_a_twin_cannot_do_is_said_in_advance(
    bench: Bench, line: str, options: tuple[str, ...], reason: str
) -> None:
    bench.example("my_example.py", EXAMPLE + f"\n\n{line}\n")
    add_native(bench)
    assert bench.measure(*options, backends="native/fake").status == 1
    status, said = bench.fates()["my_example"]
    assert status == "unsupported" and said.startswith(reason)


def test_data_of_load_data_come_from_a_backend_with_keras(bench: Bench) -> None:
    returned = "import numpy as np\n    x, y = np.ones((60, 4, 4, 1)), np.arange(60) % 3"
    load = f"\n\ndef load_data():\n    {returned}\n    return (x[:48], y[:48]), (x[48:], y[48:])\n"
    bench.example("my_example.py", EXAMPLE.replace('DATA = "patterns.npz"\n', "") + load)
    add_native(bench)
    assert bench.measure(backends="native/fake").status == 1
    why = "load_data of my_example needs Keras: add a backend with Keras"
    assert bench.fates() == {"my_example": ("unsupported", why)}
    said = bench.measure(backends="native/fake,fake")
    assert said.status == 0, said.out + said.err
    assert "load_data() runs on keras9/fake, for all backends" in said.err
    assert rows(bench)["native/fake"].fingerprint == rows(bench)["keras9/fake"].fingerprint != ""


def test_a_twin_may_lie_beside_the_backends_file(bench: Bench) -> None:
    add_native(bench, twin="")
    place = bench.backends / "native" / "fake" / "my_example.py"
    place.parent.mkdir()
    place.write_text(TWIN)
    assert bench.measure(backends="native/fake").status == 0


def test_of_a_framework_that_nobody_knows_whole_epochs_are_timed(bench: Bench) -> None:
    add_native(bench, toml=TOML.replace('framework = "theano"', 'framework = "unheard-of"'))
    assert bench.measure(backends=BOTH).status == 0
    keras, native = rows(bench)["keras9/fake"], rows(bench)["native/fake"]
    assert native.epoch_seconds and native.step_seconds_median is None
    assert native.fingerprint == keras.fingerprint and twin(keras) == ""


@pytest.mark.parametrize(
    ("twin", "reason"),
    [
        (
            TWIN.replace('{"kernel": weights[0],', '{"kernel": weights[0] * 2,'),
            "weight 1 is not the one that build was given",
        ),
        (TWIN.replace("learning_rate, momentum)", "learning_rate)"), "is not made for the example's OPTIMIZER"),
        (TWIN.replace("(16, 3), (3,)", "(16, 3)"), "Keras has other weights there"),
        (TWIN.replace("(16, 3)", "(15, 3)"), "the twin has 48 parameters, where the example states 51"),
        (TWIN.replace("import numpy as np", "import nothing_of_the_kind"), "my_example.py raises on import"),
    ],
)
def test_a_wrong_twin_fails_with_a_reason(bench: Bench, twin: str, reason: str) -> None:
    add_native(bench, twin=twin)
    assert bench.measure(backends="native/fake").status == 1
    assert reason in bench.reason()


def test_a_twin_that_predicts_needs_no_optimizer_and_may_have_other_initializers(bench: Bench) -> None:
    bench.example("my_example.py", INFERENCE)
    twin = TWIN.replace("def optimizer", "def _optimizer").replace("def step", "def _step")
    add_native(bench, twin=twin)
    assert bench.measure(backends=BOTH).status == 0
    assert len({row.fingerprint for row in rows(bench).values()}) == 1
    add_native(bench, twin=twin.replace("def build", 'INITIALIZERS = {"Dense": ("Ones", "Zeros")}\n\n\ndef build'))
    assert bench.measure(backends=BOTH).status == 0
    assert any("unlike keras9/fake in its initial weights" in how for how in rows(bench)["native/fake"].differs)


def test_a_twin_without_a_function_is_refused_before_anything_is_measured(bench: Bench) -> None:
    add_native(bench, twin=TWIN.replace("def predict", "def forward"))
    said = bench.measure(backends="native/fake")
    assert said.status == 2 and said.err == "kbench: error: The twin fake/my_example.py has no function predict.\n"


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("native/fake+jit=on", "native/fake does not use Keras, so +jit=on does not apply"),
        ("native/fake+keras=3.0", "native/fake does not use Keras, so +keras=3.0 does not apply"),
    ],
)
def test_settings_of_keras_are_none_of_a_native_backends(bench: Bench, option: str, message: str) -> None:
    add_native(bench)
    said = bench.measure(backends=option)
    assert said.status == 2 and message in said.err


def test_an_environment_of_the_users_own_needs_the_framework_and_no_keras(bench: Bench) -> None:
    add_native(bench)
    said = bench.measure("--python", f"native/fake={sys.executable},as-is", backends="native/fake")
    assert said.status == 2 and "has no theano: install it there" in said.err


def test_all_and_a_bare_name_mean_keras(bench: Bench) -> None:
    add_native(bench)
    add_native(bench, "other")
    for asked in ("all", "fake"):
        said = bench("run", "--backends", asked, "--examples", "my_example.py", "--dry-run")
        assert "native/" not in said.out.partition("examples")[0], said.out
    said = bench("run", "--backends", "native", "--examples", "my_example.py", "--dry-run")
    assert "native/fake, native/other" in said.out and "keras9/fake" not in said.out
    said = bench("run", "--backends", "other", "--examples", "my_example.py")
    assert said.status == 2 and "did you mean native/other?" in said.err


def test_a_framework_that_kbench_cannot_install_is_a_row_that_says_why(bench: Bench) -> None:
    add_native(bench)
    why = "unpackaged"
    toml = f'title = "Other"\nkind = "native"\ncolor = "#00AA00"\nunavailable = "{why}"\n'
    add_native(bench, "other", toml=toml, twin="")
    said = bench.measure(backends="native")
    assert said.status == 0, said.out + said.err
    fake, other = rows(bench)["native/fake"], rows(bench)["native/other"]
    assert (fake.status, other.status, other.reason) == ("ok", "unavailable", why)
    assert bench.measure(backends="native/other").status == 1  # it was asked for by name
    bench.patch.setattr(interpreters, "probe_once", lambda path: None)  # whatever this machine has
    for command in (("list", "backends"), ("doctor",), ("setup", "--backends", "native/other")):
        assert why in " ".join(bench(*command).out.split()), command


def test_it_can_be_measured_in_an_environment_of_the_users_own(bench: Bench) -> None:
    add_native(bench)
    assert bench.measure(backends="native/fake").status == 0
    own = next(bench.environment().glob("native-fake-*/bin/python"))
    toml = TOML.replace('requirements = ["fake-framework==1.0"]', "requirements = []")
    add_native(bench, toml='unavailable = "it is in no package"\n' + toml)
    assert bench.measure(backends="native/fake").status == 1
    said = bench.measure("--python", f"native/fake={own},as-is", backends="native/fake")
    assert said.status == 0, said.out + said.err


def test_a_script_is_no_program_of_a_native_backend(bench: Bench) -> None:
    add_native(bench)
    (bench.folder / "mine.py").write_text("import keras\n")
    bench("script", "mine.py", "--backends", "native/fake")
    assert [one.outcome.status for one in bench.last().measured] == ["unsupported"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('kind = "native"\n', ""), "lie in a folder called native"),
        (('module = "theano"\n', ""), "lacks the key `module`"),
    ],
)
def test_a_wrong_file_of_a_native_backend_is_named(bench: Bench, change: tuple[str, str], message: str) -> None:
    add_native(bench, toml=TOML.replace(*change))
    said = bench.measure(backends="fake")
    assert said.status == 2 and message in said.err
