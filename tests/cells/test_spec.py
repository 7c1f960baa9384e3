"""What a guest is told: spec, keras.json, environment variables, and the versions that it must find."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fake_runs import cell

from kbench import paths
from kbench.cells import spec as specs
from kbench.machine import devices
from kbench.selection import backends, examples
from kbench.values import Data

BACKENDS = backends.load_all(paths.project_folder("backends"))
EXAMPLES = examples.load_all(paths.project_folder("examples_models"))
DATA = Data("mnist", "real", Path("/data"), ("x.npy",), "y.npy", ("v.npy",), "w.npy", 10, 255.0, ((28, 28, 1),), "ab")


def spec(name: str = "keras2/cntk", data: Data = DATA, augment: bool = False, example: str = "cifar10_cnn") -> dict:
    return specs.spec(
        cell(),
        EXAMPLES[example],
        BACKENDS[name],
        data,
        devices.CPU,
        versions={"keras": "2.2.4"},
        augment=augment,
        init="seeded",
        published_weights=None,
        events=Path("/run/events.jsonl"),
    )


@pytest.mark.parametrize("name", BACKENDS)
def test_keras_json_holds_the_four_settings_of_the_cell(name: str) -> None:
    assert specs.keras_json(BACKENDS[name], cell(image_data_format="channels_first")) == {
        "backend": name.partition("/")[2],
        "image_data_format": "channels_first",
        "floatx": "float32",
        "epsilon": 1e-7,
    }


def test_the_spec_repeats_what_keras_must_have_loaded() -> None:
    keras_json = specs.keras_json(BACKENDS["keras2/cntk"], cell())
    told = spec()
    assert told["keras_backend"] == keras_json["backend"]
    assert all(told[name] == keras_json[name] for name in ("image_data_format", "floatx", "epsilon"))
    assert told["versions"] == {"keras": "2.2.4"}


def test_the_forms_of_recurrent_layers_come_from_the_backends_file() -> None:
    assert spec("keras2/cntk")["recurrent"] == dict(BACKENDS["keras2/cntk"].recurrent) != {}
    assert spec("keras3/jax")["recurrent"] == {}


def test_without_validation_data_nothing_is_validated() -> None:
    assert spec()["validation_samples"] == 200
    assert spec(data=replace(DATA, validation=(), validation_labels=""))["validation_samples"] == 0


def test_pictures_are_augmented_where_it_is_asked_for_and_the_example_says_how() -> None:
    assert spec(augment=True)["augment"] is True
    assert spec(augment=False)["augment"] is False
    assert spec(augment=True, example="mnist_mlp")["augment"] is False


def test_results_do_not_name_the_users_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert specs.portable(Path("/home/ada/results/x")) == "~/results/x"
    assert specs.portable(Path("/home/adam/results/x")) == "/home/adam/results/x"


def test_a_guest_inherits_a_short_list_of_variables_and_nothing_secret() -> None:
    inherited = {
        "PATH": "/bin",
        "HOME": "/home/ada",
        "LANG": "C",
        "AWS_SECRET_ACCESS_KEY": "s",
        "GITHUB_TOKEN": "s",
        "KERAS_BACKEND": "torch",
        "PYTHONPATH": "/elsewhere",
        "LD_LIBRARY_PATH": "/lib",
        "CUDA_VISIBLE_DEVICES": "3",
    }
    pinned = {"CUDA_VISIBLE_DEVICES": "GPU-a"}
    made = specs.environment_variables(inherited, {"LD_LIBRARY_PATH": "/env/lib:/lib"}, pinned, Path("/cell/home"))
    assert made == {
        "PATH": "/bin",
        "HOME": "/home/ada",
        "LANG": "C",
        "PYTHONNOUSERSITE": "1",
        "PYTHONIOENCODING": "utf-8",
        "PYTHONUNBUFFERED": "1",
        "LD_LIBRARY_PATH": "/env/lib:/lib",
        "CUDA_VISIBLE_DEVICES": "GPU-a",
        "KERAS_HOME": "/cell/home",
    }


@pytest.mark.parametrize("name", BACKENDS)
def test_every_lock_file_promises_versions_of_keras_and_of_the_backend(name: str) -> None:
    backend = BACKENDS[name]
    for build in backend.builds:
        found = specs.locked_versions(build, backend.distribution)
        assert found.keys() == (set() if build.lock is None else {"keras", "backend"})


def test_a_fork_of_keras_counts_as_keras() -> None:
    backend = BACKENDS["keras2/mxnet"]
    assert specs.locked_versions(backend.builds[-1], backend.distribution)["keras"].startswith("2.2.4")


def test_variables_that_matter_are_the_backends_own_and_those_of_libraries() -> None:
    given = {"PATH": "/bin", "HOME": "/home/a", "OMP_NUM_THREADS": "2", "MKL_CBWR": "AVX2", "LD_PRELOAD": "x.so"}
    given |= {"MY_FLAGS": "1", "KERAS_HOME": "/run/keras", "XLA_FLAGS": "--a=b", "USER": "somebody"}
    assert list(specs.that_matter(given, {"MY_FLAGS"})) == [
        "LD_PRELOAD",
        "MKL_CBWR",
        "MY_FLAGS",
        "OMP_NUM_THREADS",
        "XLA_FLAGS",
    ]


@pytest.mark.parametrize(
    "name", ["MY_TOKEN", "TF_API_KEY", "my_password", "CUDA_SECRET", "MKL_AUTH", "S3_CREDENTIALS"]
)
def test_no_secret_is_kept_whoever_sets_it(name: str) -> None:
    assert specs.that_matter({name: "hunter2"}, {name}) == {}
