"""What a guest is given: spec, keras.json, environment variables, and the versions that it must find."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from fake_backends import write_backend
from fake_runs import request

from kbench.base import paths
from kbench.base.arrays import Data
from kbench.cells import spec as specs
from kbench.cells.spec import RunPaths
from kbench.cli import arguments
from kbench.commands import choices
from kbench.machine import devices
from kbench.planning import plan
from kbench.planning.request import ChosenPython, Request
from kbench.planning.tasks import CellTask, guest_sha256, locked_versions
from kbench.records.values import Backend
from kbench.selection import backends, examples

BACKENDS = backends.load_all(paths.project_folder("backends"))
OF_KERAS = [name for name, backend in BACKENDS.items() if backend.kind == "keras"]
EXAMPLES = examples.load_all(paths.project_folder("examples_models"))
DATA = Data(
    "mnist", "real", Path("/data"), ("x.npy",), ("y.npy",), ("v.npy",), ("w.npy",), 10, 255.0, ((28, 28, 1),), "ab"
)


def task(backend: str = "keras2/cntk", example: str = "cifar10_cnn", **asked: Any) -> CellTask:
    wanted = request(backends=(backend,), examples=(str(EXAMPLES[example].path),), **asked)
    (made,) = plan.make_plan(wanted, BACKENDS, []).tasks
    return made


def spec(the_task: CellTask, data: Data = DATA) -> dict[str, Any]:
    here = RunPaths(
        run=Path.home() / "results",
        devices={"cpu": devices.CPU},
        examples={name: example.path for name, example in EXAMPLES.items()},
        data={(the_task.example, the_task.image_data_format): data},
        published_weights={"resnet50_features": Path("/files/weights.h5")},
        environments={},
        passed={},
    )
    return specs.spec(the_task, here)


@pytest.mark.parametrize("name", OF_KERAS)
def test_keras_json_holds_the_four_settings_of_the_cell(name: str) -> None:
    asked: dict[str, Any] = {"image_data_format": ("channels_first",), "example": "resnet50_features"}
    assert specs.keras_json(task(name, **asked)) == {
        "backend": BACKENDS[name].keras_backend,
        "image_data_format": "channels_first",
        "floatx": "float32",
        "epsilon": 1e-7,
    }


def test_the_spec_is_the_task_and_where_things_lie() -> None:
    made = spec(task(), DATA)
    record = {*task().record} - {"workers"}  # which it has only of several
    assert set(made) == {*record, "schema", "identity", "data", "events", "load", "trained", "driver", "on_error"}
    assert made["data"]["folder"] == "/data" and made["data"]["hash_of"] == "channels_last"
    assert made["example"].endswith("examples_models/cifar10_cnn.py") and made["events"].startswith("~/results/cells")
    assert made["device"] == "cpu"


def test_the_spec_repeats_what_keras_must_have_loaded() -> None:
    keras_json, made = specs.keras_json(task()), spec(task())
    assert made["keras_backend"] == keras_json["backend"]
    assert all(made[name] == keras_json[name] for name in ("image_data_format", "floatx", "epsilon"))


def test_the_guest_finds_the_locked_versions_unless_the_environment_is_the_users() -> None:
    assert task().versions == {"keras": "2.2.4", "backend": "2.7"}
    own = {"keras2/cntk": ChosenPython("python", as_is=True)}
    assert task(pythons=own).versions == {}


def test_the_forms_of_recurrent_layers_come_from_the_backends_file() -> None:
    assert task("keras2/cntk").recurrent == BACKENDS["keras2/cntk"].recurrent != {}
    assert task("keras3/jax").recurrent == {}


def test_without_validation_data_nothing_is_validated() -> None:
    assert spec(task())["validation_samples"] == task().validation_samples > 0
    assert spec(task(), replace(DATA, validation=(), validation_targets=()))["validation_samples"] == 0


def test_published_weights_are_given_to_the_cells_that_begin_from_them() -> None:
    made = task("keras3/jax", "resnet50_features")
    assert spec(made)["published_weights"] == ""
    assert spec(replace(made, published_weights="weights.h5"))["published_weights"] == "/files/weights.h5"


def test_pictures_are_augmented_where_it_is_asked_for_and_the_example_says_how(tmp_path: Path) -> None:
    both = Request(
        backends=("keras3/jax",),
        examples=tuple(str(EXAMPLES[name].path) for name in ("cifar10_cnn", "mnist_mlp")),
        augment=True,
    )
    assert [one.augment for one in plan.make_plan(both, BACKENDS, []).tasks] == [True, False]
    assert task().augment is False


# What a cell's identity holds, and what it does not.


def with_backend(backend: Backend) -> CellTask:
    request = Request(backends=(backend.name,), examples=(str(EXAMPLES["mnist_mlp"].path),))
    (made,) = plan.make_plan(request, {backend.name: backend}, []).tasks
    return made


@pytest.mark.parametrize(
    ("more", "more_build"),
    [
        ('[variables]\nA = "1"', ""),
        ("", '[builds.variables]\nA = "1"'),
        ("", '[builds.locked_variables]\nA = "1"'),
        ("ordered_updates = true", ""),
        ('[recurrent]\nLSTM = "unrolled"', ""),
    ],
)
def test_a_setting_of_the_backends_file_makes_another_cell(tmp_path: Path, more: str, more_build: str) -> None:
    plain = backends.load(write_backend(tmp_path / "plain"))
    other = backends.load(write_backend(tmp_path / "other", more=more, more_build=more_build))
    assert with_backend(plain).identity == with_backend(plain).identity != with_backend(other).identity


def test_a_variable_that_the_user_passes_makes_another_cell_by_its_value_which_is_nowhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    identities = []
    for value in ("hunter2", "hunter3", "hunter2"):
        monkeypatch.setenv("MY_LICENCE", value)
        made = task(pass_env=("MY_LICENCE",))
        identities.append(made.identity)
        kept = json.dumps(spec(made))
        assert value not in kept and hashlib.sha256(value.encode()).hexdigest() not in kept
    first, second, again = identities
    assert first == again != second and first != task().identity


def test_the_guests_code_makes_another_cell_whichever_of_its_files_changes(tmp_path: Path) -> None:
    (tmp_path / "package" / "inner").mkdir(parents=True)
    (tmp_path / "__main__.py").write_text("1")
    (tmp_path / "package" / "inner" / "clock.py").write_text("1")

    def now() -> str:
        guest_sha256.cache_clear()
        return guest_sha256(tmp_path)

    hashes = [now()]
    (tmp_path / "package" / "inner" / "clock.py").write_text("2")
    hashes.append(now())
    (tmp_path / "package" / "inner" / "clock.py").rename(tmp_path / "package" / "clock.py")
    hashes.append(now())
    assert len(set(hashes)) == 3 and now() == hashes[-1]
    guest_sha256.cache_clear()
    assert task().guest_sha256 == guest_sha256()
    assert replace(task(), guest_sha256="another").identity != task().identity


def test_limits_do_not_make_another_cell() -> None:
    assert task(timeout=1.0, memory_limit_mib=100.0).identity == task().identity


# One option is written in three places: its argument, its field, and where it is used; that of an axis is its own.


def test_an_option_of_run_has_the_name_of_its_field_and_reaches_the_guest() -> None:
    options = arguments.parse(["--backends", "jax", "--examples", "mnist_mlp", "--epochs", "7"])
    request = choices.request(vars(options), BACKENDS, [])
    (made,) = plan.make_plan(request, BACKENDS, []).tasks
    assert {field.name for field in fields(Request)} - set(vars(options)) - {"worker_per_machine"} == {
        "data_dir",
        "init",
        "asked",
        "data_sources",
        "example_settings",
        "extra_repeats",
        "named_backends",
        "named_examples",
        "processes",
        "pythons",
        "script",
        "short",
        "steps",
        "threads_each",
        "values",
    }
    assert spec(made)["epochs"] == 7


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
        "LC_CTYPE": "C.UTF-8",
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
        found = locked_versions(build, backend.distribution)
        promised = {"backend"} if backend.kind == "native" else {"keras", "backend"}
        assert found.keys() >= promised if build.lock else not found


def test_a_fork_of_keras_counts_as_keras() -> None:
    backend = BACKENDS["keras2/mxnet"]
    assert locked_versions(backend.builds[-1], backend.distribution)["keras"].startswith("2.2.4")


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
