"""Several workers in a plan: their cores, their part of the batch, and who cannot have any."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from fake_runs import request

from kbench import paths
from kbench.machine import devices
from kbench.planning import plan
from kbench.planning import request as requests
from kbench.planning.tasks import CellTask
from kbench.selection import backends, examples
from kbench.values import Device

BACKENDS = backends.load_all(paths.project_folder("backends"))
EXAMPLES = examples.load_all(paths.project_folder("examples_models"))
NAME = "keras3/torch"
GPUS = [Device("gpu", number, f"GPU-{number}", "H100", 9.0, "580.65", 81559) for number in (0, 1)]


@pytest.fixture(autouse=True)
def eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "cores", lambda: (8,))


def planned(engine: Any = "processes", example: str = "mnist_cnn", gpus: Any = (), **asked: Any) -> plan.Plan:
    known = {NAME: replace(BACKENDS[NAME], workers=engine, no_workers="" if engine else "its engine has none")}
    return plan.make_plan(request(backends=(NAME,), examples=(str(EXAMPLES[example].path),), **asked), known, gpus)


def cells(**asked: Any) -> list[CellTask]:
    return list(planned(**asked).to_measure())


def reasons(**asked: Any) -> list[str]:
    return [one.reason for one in planned(**asked).impossible.values()]


def test_workers_divide_the_cores_unless_the_user_says_how_many_threads_each_has() -> None:
    assert [(one.workers, one.threads) for one in cells(workers=(1, 2, 4))] == [(1, 8), (2, 4), (4, 2)]
    each = cells(workers=(1, 2), threads=(1, 2), threads_each=True)
    assert [(one.workers, one.threads) for one in each] == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert [one.threads for one in cells(workers=(16,))] == [1]
    assert "threads" in cells(workers=(1, 2))[0].varied, "a table says how many each has"


def test_the_batch_is_that_of_all_workers_or_of_each() -> None:
    for scaling, sizes in (("strong", [128, 128]), ("weak", [128, 256])):
        found = cells(workers=(1, 2), scaling=(scaling,))
        assert [one.batch_size for one in found] == sizes
        assert [one.key["batch_size"] for one in found] == [128, 128]
    strong, weak = (cells(workers=(1, 2), scaling=(one,)) for one in ("strong", "weak"))
    assert strong[0].key.work == strong[1].key.work and weak[0].key.work != weak[1].key.work


def test_they_take_turns_with_one_worker_and_are_ranked_within_a_number() -> None:
    one, two = cells(workers=(1, 2))
    assert one.key.side_by_side == two.key.side_by_side and one.key.ranking != two.key.ranking


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"workers": (3,)}, "a batch of 128 cannot be divided among 3 workers"),
        ({"workers": (2,), "engine": ""}, "its engine has none"),
        ({"workers": (2,), "task": ("infer",)}, "only training has several workers"),
        ({"workers": (4,), "device": ("gpu:0",), "gpus": GPUS}, "4 workers need 4 GPUs from gpu:0 on, of which this"),
        ({"workers": (2,), "device": ("gpu:1",), "gpus": GPUS}, "2 workers need 2 GPUs from gpu:1 on, of which this"),
    ],
)
def test_what_cannot_have_several_workers_is_unsupported_with_the_reason(asked: dict[str, Any], reason: str) -> None:
    assert [one.startswith(reason) for one in reasons(**asked)] == [True]
    assert reasons(**{**asked, "workers": (1,)}) == []


def test_one_worker_is_the_same_cell_as_before_there_were_any() -> None:
    (one,), (other,) = cells(), cells(workers=(1,))
    assert (one.identity, one.engine, one.processes) == (other.identity, "", 1)
    assert cells(workers=(2,))[0].identity != one.identity
    assert [one.processes for one in cells(workers=(1, 2), engine="processes")] == [1, 2]
    assert [one.processes for one in cells(workers=(1, 2), engine="devices")] == [1, 1]


def test_a_process_sees_the_gpus_of_its_workers_alone() -> None:
    assert devices.pin_variables(*GPUS)["CUDA_VISIBLE_DEVICES"] == "GPU-0,GPU-1"
    assert devices.pin_variables(devices.CPU)["CUDA_VISIBLE_DEVICES"] == "-1"
