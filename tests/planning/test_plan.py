"""From a request to cells: their order, their numbers, and what is known not to work."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_runs import request

from kbench.base import paths
from kbench.errors import UserError
from kbench.machine import devices, host
from kbench.planning import plan
from kbench.planning.plan import Plan
from kbench.planning.request import ChosenPython, cores
from kbench.records.values import FAILED, OK, TIMEOUT, UNAVAILABLE, UNSUPPORTED, Device, Measured, Outcome
from kbench.selection import backends, examples, names

BACKENDS = backends.load_all(paths.project_folder("backends"))
EXAMPLES = examples.load_all(paths.project_folder("examples_models"))
H100 = Device("gpu", 0, "GPU-aaaa", "NVIDIA H100", 9.0, "580.65", 81559)
T4 = Device("gpu", 1, "GPU-bbbb", "Tesla T4", 7.5, "580.65", 15360)


def make(backends: str, examples: str, device: Device = devices.CPU, **more: Any) -> Plan:
    chosen = names.select_backends(backends, BACKENDS)
    named = names.select_examples(examples, EXAMPLES)
    asked = request(
        backends=tuple(one.name for one in chosen.chosen),
        named_backends=tuple(chosen.named),
        examples=tuple(str(one.path) for one in named.chosen),
        named_examples=tuple(named.named),
        device=(device.label,),
        **more,
    )
    return plan.make_plan(asked, BACKENDS, [device] if device.kind == "gpu" else [])


def order(made: Plan) -> list[str]:
    return [task.backend for task in made.tasks]


def test_there_is_a_cell_for_each_example_and_backend() -> None:
    made = make("jax,torch", "mnist_mlp,mnist_cnn")
    assert [(task.example, task.backend) for task in made.tasks] == [
        ("mnist_mlp", "keras3/jax"),
        ("mnist_mlp", "keras3/torch"),
        ("mnist_cnn", "keras3/jax"),
        ("mnist_cnn", "keras3/torch"),
    ]
    assert len({task.id for task in made.tasks}) == 4


def test_another_backend_begins_in_each_repeat() -> None:
    made = make("cntk,theano,mxnet", "mnist_mlp", repeats=3)
    cntk, theano, mxnet = "keras2/cntk", "keras2/theano", "keras2/mxnet"
    assert order(made) == [cntk, theano, mxnet, theano, mxnet, cntk, mxnet, cntk, theano]
    assert [task.repeat for task in made.tasks] == [1, 1, 1, 2, 2, 2, 3, 3, 3]


@pytest.mark.parametrize(
    ("asked", "layouts"),
    [
        ("native", ["channels_first", "channels_last"]),
        ("channels_first", ["channels_first", "channels_first"]),
        ("channels_last", ["channels_last", "channels_last"]),
        ("both", ["channels_first", "channels_last", "channels_first", "channels_last"]),
    ],
)
def test_pictures_run_in_the_layouts_that_were_asked_for(asked: str, layouts: list[str]) -> None:
    made = make("theano,keras2/tensorflow", "mnist_cnn", image_data_format=(asked,))
    assert [task.image_data_format for task in made.tasks] == layouts


def test_what_has_no_pictures_runs_once_whatever_the_layout() -> None:
    made = make("theano,keras2/tensorflow", "mnist_mlp,imdb_gru", image_data_format=("both",))
    assert [task.image_data_format for task in made.tasks] == ["channels_last"] * 4


def test_a_gpu_has_a_native_layout_of_its_own() -> None:
    (on_cpu,) = make("keras2/tensorflow", "mnist_cnn").tasks
    (on_gpu,) = make("keras2/tensorflow", "mnist_cnn", T4).tasks
    assert on_cpu.image_data_format == BACKENDS["keras2/tensorflow"].image_data_format
    assert on_gpu.image_data_format == BACKENDS["keras2/tensorflow"].gpu_image_data_format


def test_numbers_are_the_examples_unless_the_user_gives_others() -> None:
    (cell,) = make("jax", "mnist_mlp", profile="full").tasks
    assert (cell.batch_size, cell.samples, cell.validation_samples, cell.epochs) == (128, 60000, 10000, 20)
    (cell,) = make("jax", "mnist_mlp", epochs=1, samples=(300,), batch_size=(100,), seed=5).tasks
    assert (cell.batch_size, cell.samples, cell.epochs, cell.seed, cell.profile) == (100, 300, 1, 5, "quick")


def test_repeats_have_the_same_seed_unless_different_ones_are_asked_for_and_backends_share_them() -> None:
    def seeds(**more: Any) -> list[tuple[int, str, int]]:
        made = make("jax,torch", "mnist_mlp", repeats=2, seed=5, **more)
        return sorted((p.repeat, p.backend, p.seed) for p in made.tasks)

    assert {seed for _, _, seed in seeds()} == {5}
    assert seeds(seeds="different") == [
        (1, "keras3/jax", 5),
        (1, "keras3/torch", 5),
        (2, "keras3/jax", 6),
        (2, "keras3/torch", 6),
    ]


def test_seeds_beyond_what_numpy_takes_are_one_sentence() -> None:
    last = 2**32 - 1
    assert make("jax", "mnist_mlp", seed=last, repeats=3).tasks[-1].seed == last
    assert make("jax", "mnist_mlp", seed=last - 2, repeats=3, seeds="different").tasks[-1].seed == last
    with pytest.raises(UserError, match="--seeds different: 3 seeds from 4294967294 on go beyond 4,294,967,295"):
        make("jax", "mnist_mlp", seed=last - 1, repeats=3, seeds="different")


def test_more_samples_than_there_are_and_fewer_than_a_batch_are_one_sentence() -> None:
    with pytest.raises(UserError, match="--samples 60001: mnist_mlp has 60000 samples; ask for that many or fewer"):
        make("jax", "mnist_mlp", samples=(60001,))
    with pytest.raises(UserError, match="mnist_mlp: 127 samples are fewer than one batch of 128"):
        make("jax", "mnist_mlp", samples=(127,))


def test_the_time_limit_of_a_cell_grows_with_what_it_does() -> None:
    def limit(example: str, **asked: Any) -> float:
        (cell,) = make("jax", example, **asked).tasks
        return cell.timeout

    counts = EXAMPLES["mnist_mlp"].profiles["smoke"]
    smoke = limit("mnist_mlp", profile="smoke")
    assert smoke == 900 + 0.2 * (counts.samples + counts.validation_samples) * counts.epochs
    assert smoke < limit("mnist_mlp") < limit("mnist_mlp", epochs=10) < limit("mnist_mlp", profile="full")
    assert limit("resnet50_features", profile="smoke") == 900 + 5.0 * 32 * 2
    assert limit("cifar10_cnn", profile="full") == 48 * 3600  # a night and a day, however large


def test_a_backend_that_cannot_train_is_unsupported_with_its_own_reason_and_needs_no_environment() -> None:
    made = make("openvino", "mnist_mlp,resnet50_features")
    training, inference = made.tasks
    assert made.impossible == {training.id: Outcome(UNSUPPORTED, BACKENDS["keras3/openvino"].cannot)}
    assert made.to_measure() == (inference,)
    assert make("openvino", "mnist_mlp").environments() == []


def test_each_environment_is_needed_once() -> None:
    made = make("cntk,theano", "mnist_mlp,imdb_gru", repeats=2, image_data_format=("both",))
    assert [(backend.name, build.name) for backend, build in made.environments()] == [
        ("keras2/cntk", "cpu"),
        ("keras2/theano", "cpu"),
    ]


# On a GPU, against stand-ins for the hardware.


def test_a_gpu_plan_names_the_device_and_takes_the_builds_that_fit_it() -> None:
    made = make("all", "mnist_cnn", H100)
    built = {task.backend: task.build for task in made.tasks if task.build}
    assert {task.device for task in made.tasks} == {"gpu:0"}
    assert built["keras3/jax"].startswith("cuda") and built["keras3/torch"].startswith("cuda")
    assert all(build.device == "gpu" for _, build in made.environments())


def test_a_backend_without_a_build_for_the_gpu_is_unsupported_and_says_why() -> None:
    made = make("keras2/tensorflow,cntk,openvino", "resnet50_features", H100)
    reasons = {task.backend: made.impossible[task.id] for task in made.tasks}
    newest = "its newest build knows GPUs up to compute capability 7.5; NVIDIA H100 has 9.0"
    assert reasons["keras2/tensorflow"] == reasons["keras2/cntk"] == Outcome(UNSUPPORTED, newest)
    openvino = "keras3/openvino has no build for a GPU: use --device cpu"
    assert reasons["keras3/openvino"] == Outcome(UNSUPPORTED, openvino)


def test_an_environment_of_the_users_own_lifts_the_limits_of_the_builds() -> None:
    own = {"keras2/tensorflow": ChosenPython("python", as_is=True)}
    made = make("keras2/tensorflow", "mnist_cnn", H100, pythons=own)
    (task,) = made.to_measure()
    ((_, build),) = made.environments()
    assert (build.device, task.versions, task.lock_sha256) == ("gpu", {}, "")


def test_device_gpu_without_a_gpu_is_refused() -> None:
    with pytest.raises(UserError, match="no NVIDIA GPU was found on this machine; use --device cpu"):
        devices.choose("gpu", ())


# What lets a run count as ok although a cell is not.


@pytest.mark.parametrize(
    ("backends", "examples", "status", "acceptable"),
    [
        ("openvino", "mnist_mlp", UNSUPPORTED, False),
        ("openvino", "all", UNSUPPORTED, True),
        ("keras3", "mnist_mlp", UNSUPPORTED, True),
        ("all", "all", UNSUPPORTED, True),
        ("openvino", "all", UNAVAILABLE, False),
        ("openvino", "mnist_mlp", UNAVAILABLE, False),
        ("keras3", "mnist_mlp", UNAVAILABLE, True),
        ("all,openvino", "mnist_mlp", UNSUPPORTED, False),
        ("all", "all", FAILED, False),
        ("all", "all", TIMEOUT, False),
        ("openvino", "mnist_mlp", OK, True),
    ],
)
def test_nobody_asked_for_it_by_name(backends: str, examples: str, status: str, acceptable: bool) -> None:
    made = make(backends, examples)
    task = next(one for one in made.tasks if one.backend == "keras3/openvino")
    named = made.request.named_backends, made.request.named_examples
    assert plan.is_acceptable(*named, [Measured(task, Outcome(status, "a reason"))]) is acceptable


@pytest.mark.parametrize(("quota", "threads"), [("200000 100000", 2), ("150000 100000", 1), ("50000 100000", 1)])
def test_a_cell_gets_no_more_threads_than_its_container_has_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quota: str, threads: int
) -> None:
    (tmp_path / "self").write_text("0::/mine\n")
    (tmp_path / "cgroups" / "mine").mkdir(parents=True)
    (tmp_path / "cgroups" / "mine" / "cpu.max").write_text(quota)
    monkeypatch.setattr(host, "_OWN_CGROUP", tmp_path / "self")
    monkeypatch.setattr(host, "_CGROUPS", tmp_path / "cgroups")
    monkeypatch.setattr(host.os, "sched_getaffinity", lambda process: set(range(64)), raising=False)
    assert make("jax", "mnist_mlp").tasks[0].threads == threads


def test_a_plan_is_a_value() -> None:
    made = make("jax", "mnist_mlp")
    assert replace(made) == make("jax", "mnist_mlp")
    assert made.tasks[0].threads == cores()[0] >= 1
    assert make("jax", "mnist_mlp", threads=(3,)).tasks[0].threads == 3


def test_several_values_are_a_row_each_in_every_combination_smallest_first() -> None:
    made = make("jax,torch", "mnist_mlp", batch_size=(128, 32), threads=(1, 2))
    assert [(task.batch_size, task.threads) for task in made.tasks[::2]] == [(32, 1), (32, 2), (128, 1), (128, 2)]
    assert len({task.id for task in made.tasks}) == 8
    assert {task.varied for task in made.tasks} == {("batch_size", "threads")}
    assert make("jax", "mnist_mlp", batch_size=(32,)).tasks[0].varied == (), "one value for all is in no name"


def test_max_doubles_the_batch_until_an_epoch_is_one() -> None:
    made = make("jax", "mnist_mlp", samples=(1000,), batch_size=(200, "max"))
    assert [task.batch_size for task in made.tasks] == [200, 400, 800]
    assert [task.batch_size for task in make("jax", "mnist_mlp", samples=(600,), batch_size=("max",)).tasks] == [
        128,
        256,
        512,
    ]


def test_a_cpu_and_a_gpu_are_rows_of_one_run_with_environments_of_their_own() -> None:
    chosen = names.select_backends("keras2/tensorflow", BACKENDS)
    example = names.select_examples("mnist_mlp", EXAMPLES).chosen[0]
    asked = request(
        backends=(chosen.chosen[0].name,), examples=(str(example.path),), device=("cpu", T4.label), threads=(2,)
    )
    made = plan.make_plan(asked, BACKENDS, [T4])
    assert [task.device for task in made.tasks] == ["cpu", "gpu:1"]
    assert len({task.environment for task in made.tasks}) == 2 == len(made.environments())


def test_extra_repeats_are_of_one_row() -> None:
    both: dict[str, Any] = {"image_data_format": ("both",)}
    row = make("jax", "mnist_cnn", **both).tasks[0].row_id
    assert [task.repeat for task in make("jax", "mnist_cnn", extra_repeats={row: (2,)}, **both).tasks] == [1, 1, 2]


def test_values_of_variables_that_differ_in_a_slash_or_colon_are_other_cells() -> None:
    made = make("jax+A=x/y,jax+A=x-y,jax+A=x:y,jax+A=xy", "mnist_mlp")
    folders = {task.id for task in made.tasks}
    assert len(folders) == 4 and not any("/" in name or ":" in name for name in folders)


def test_two_names_of_the_same_variant_are_one_sentence() -> None:
    with pytest.raises(UserError, match="are the same: leave one out"):
        make("jax+jit=off+policy=float64,jax+policy=float64+jit=off", "mnist_mlp")
