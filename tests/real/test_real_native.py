"""Every twin trains as the Keras row does: from the same weights, on the same batches, to the same weights."""

from __future__ import annotations

from pathlib import Path

import pytest
from documentation_commands import CHECKOUT
from real_runs import Finished, Kbench, compare_with_other_tests

from kbench.analysis.rows import summarised
from kbench.base import paths
from kbench.selection import backends

pytestmark = [pytest.mark.timeout(3600), pytest.mark.slow("each framework starts")]
BACKENDS = backends.load_all(paths.project_folder("backends"))
UNDER_THE_ROOT = ("native/caffe2", "native/gluon", "native/lasagne", "native/mxnet-module")
# Not to be asked: their builds for the CPU know no other device.
DEVICES = dict.fromkeys(("native/caffe", "native/lasagne"), "unknown")
WHY_NOT = {name: backend.unavailable for name, backend in BACKENDS.items() if backend.unavailable}
NATIVE = [name for name, backend in BACKENDS.items() if backend.kind == "native" and name not in WHY_NOT]


def check_measured(run: Finished, learns: bool = True) -> None:
    rows = [row for row in summarised(run.results()) if row.backend not in WHY_NOT]
    for row in rows:
        assert (row.status, row.differs) == ("ok", ()), row
    (fingerprint,) = {row.fingerprint for row in rows}
    assert fingerprint
    validated: set[str | None] = set()
    for one in run.results().measured:
        if one.cell.backend in WHY_NOT:
            continue
        assert one.facts.weights_left == () and one.facts.device == DEVICES.get(one.cell.backend, "cpu")
        assert one.facts.backend_version not in ("", "unknown") and one.facts.libraries
        assert one.facts.received.keys() == {epoch.epoch for epoch in one.epochs}
        validated |= {of_epoch.validation_sha256 for of_epoch in one.facts.received.values()}
        first, *_, last = one.epochs
        assert not learns or last.val_loss < first.val_loss  # type: ignore[operator]
        for epoch in one.epochs:
            assert len(epoch.step_seconds) == epoch.samples // one.cell.batch_size
            assert sum(epoch.step_seconds) == pytest.approx(epoch.seconds, abs=1e-5)
        if one.cell.backend in NATIVE:
            assert one.facts.keras_version == ""
    assert len(validated) == 1 and None not in validated, "what twins scored is hashed as what Keras did"


@pytest.mark.parametrize(
    "asked",
    [
        "native/torch",
        *(pytest.param(one, marks=pytest.mark.thorough) for one in ("native/torch,native/jax", "native")),
    ],
)
def test_frameworks_train_mnist_mlp_without_keras_as_keras_does(kbench: Kbench, asked: str) -> None:
    run = kbench.measure_apart(f"keras3/torch,{asked}", "mnist_mlp", "--repeats", "1")
    assert run.status == 0, run.output
    check_measured(run)
    rows = {row.backend: row for row in summarised(run.results())}
    assert rows["keras3/torch"].value("native") == "native/torch"
    assert rows["keras3/torch"].value("relative_to_native")
    assert "What Keras costs" in run.output
    if asked != "native":
        assert set(rows) == {"keras3/torch", *asked.split(",")}
        return
    assert set(rows) == {"keras3/torch", *NATIVE, *WHY_NOT}
    for name, why in WHY_NOT.items():
        assert (rows[name].status, rows[name].reason) == ("unavailable", why)
    (caffe,) = (one for one in run.results().measured if one.cell.backend == "native/caffe")
    assert "libopenblasp-r0.3.13.so" in str(caffe.facts.libraries)  # Debian's plain BLAS is many times slower


@pytest.mark.thorough
def test_pictures_are_computed_alike_with_channels_first_and_last(kbench: Kbench, shared_folder: Path) -> None:
    """And as test_real_backends.py sees Keras compute them."""
    run = kbench.measure("native/torch,native/jax", "mnist_cnn", "--repeats", "1")
    assert run.status == 0, run.output
    check_measured(run)
    compare_with_other_tests(run, shared_folder)


def with_twin(example: str) -> list[str]:
    folder = CHECKOUT / "examples_models" / "native"
    return [name for name in NATIVE if (folder / name.partition("/")[2] / f"{example}.py").is_file()]


@pytest.mark.thorough
@pytest.mark.parametrize("example", ["cifar10_vgg", "fcn_r", "alexnet_r", "resnet56"])
def test_the_networks_of_published_comparisons_train_without_keras_as_with_it(example: str, kbench: Kbench) -> None:
    native = with_twin(example)
    assert len(native) >= 6
    run = kbench.measure(",".join(["keras3/torch", *native]), example, "--repeats", "1")
    assert run.status == 0, run.output
    assert {row.backend for row in summarised(run.results())} == {"keras3/torch", *native}
    check_measured(run, learns=example == "cifar10_vgg")  # the others need more steps than those of smoke
    if example in ("fcn_r", "alexnet_r"):  # without dropout, and rounding hardly grows
        _, *others = losses = [one.epochs[-1].val_loss for one in run.results().measured]
        assert others == pytest.approx([losses[0]] * len(others), rel=1e-4)


@pytest.mark.thorough
@pytest.mark.parametrize("example", ["imdb_transformer", "char_gpt"])
def test_a_transformer_trains_without_keras_as_with_it(kbench: Kbench, example: str) -> None:
    run = kbench.measure("keras3/torch,native/torch,native/jax", example, "--repeats", "1")
    assert run.status == 0, run.output
    rows = summarised(run.results())
    assert [(row.status, row.differs) for row in rows] == [("ok", ())] * 3
    assert len({row.fingerprint for row in rows}) == 1


@pytest.mark.thorough
@pytest.mark.parametrize(
    "example",
    [
        "tabular_mlp",
        "segmentation_unet",
        "cifar10_efficientnet",
    ],
)
@pytest.mark.parametrize("all_of_them", [False, True], ids=["torch", "all"])
def test_tables_and_pictures_of_today_are_learnt_without_keras_as_with_it(
    kbench: Kbench, example: str, all_of_them: bool
) -> None:
    """Named inputs, load_data, zeros and ones as targets; transposed and depthwise convolutions."""
    native = with_twin(example)
    assert len(native) == 4
    small = ("--samples", "32", "--batch-size", "16", "--epochs", "2", "--repeats", "1")
    # In a process that had run other examples a step of the deep one was once 5 % off; alone it is the same to 1e-5.
    measure = kbench.measure_apart if example == "cifar10_efficientnet" else kbench.measure
    run = measure(",".join(["keras3/torch", *(native if all_of_them else ["native/torch"])]), example, *small)
    assert run.status == 0, run.output
    check_measured(run, learns=False)  # few steps
    first, *others = [one.facts.first_step for one in run.results().measured]
    assert first is not None and first.loss
    assert all(one is not None and one.loss == pytest.approx(first.loss, rel=1e-5) for one in others)


@pytest.mark.thorough
def test_a_deep_network_gives_the_features_that_keras_gives(kbench: Kbench, shared_folder: Path) -> None:
    """Keras gives them in test_real_backends.py."""
    small = ("--samples", "8", "--batch-size", "4", "--repeats", "1")
    run = kbench.measure("native/torch", "resnet50_features", *small)
    assert run.status == 0, run.output
    (native,) = summarised(run.results())
    assert native.differs == () and native.fingerprint and native.parameters == 23587712
    compare_with_other_tests(run, shared_folder)


@pytest.mark.thorough  # after two epochs they are, as the test of their training shows
def test_all_frameworks_are_where_keras_is_after_some_steps(kbench: Kbench) -> None:
    measured = {"keras2/tensorflow", *NATIVE}
    compared = kbench.parity("keras2/tensorflow,native", "mnist_mlp")
    assert compared.status == 0, compared.output
    rows = {row["backend"]: row for row in compared.parity() if row["backend"] in measured}
    assert set(rows) == measured
    for name, row in rows.items():
        assert row["verdict"] in ("same", "explained"), (name, row)
        assert row["reference"] == "numpy" and float(row["outputs"]) < 1e-5 and float(row["loss"]) < 1e-5
        # Gluon and Lasagne have epsilon under the root. After ten steps rounding alone can part a twin from itself.
        assert float(row["1_step"]) < (0.05 if name in UNDER_THE_ROOT else 1e-5), (name, row)


@pytest.mark.thorough
def test_the_framework_that_the_page_adds_trains_as_the_others_do(
    kbench: Kbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KBENCH_BACKENDS", str(CHECKOUT / "docs" / "my_backends"))
    run = kbench.measure_apart("native/chainer,native/tinygrad", "mnist_mlp", "--repeats", "1")
    assert run.status == 0, run.output
    chainer, tinygrad = sorted(summarised(run.results()), key=lambda row: row.backend)
    assert chainer.differs == tinygrad.differs == () and chainer.fingerprint == tinygrad.fingerprint != ""
    assert tinygrad.backend_version == "0.13.0"
    assert tinygrad.final_val_accuracy == pytest.approx(chainer.final_val_accuracy, abs=0.1)
