"""Several workers in a plan: their cores, their part of the batch, and who cannot have any."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_runs import request

from kbench.base import paths
from kbench.cells.place import Place
from kbench.cells.spec import RunPaths
from kbench.errors import UserError
from kbench.features.workers import processes
from kbench.machine import devices
from kbench.planning import plan
from kbench.planning import request as requests
from kbench.planning.tasks import CellTask
from kbench.records import axes
from kbench.records.values import Device
from kbench.selection import backends, examples

BACKENDS = backends.load_all(paths.project_folder("backends"))
EXAMPLES = examples.load_all(paths.project_folder("examples_models"))
NAME = "keras3/torch"
GPUS = [Device("gpu", number, f"GPU-{number}", "H100", 9.0, "580.65", 81559) for number in (0, 1)]


@pytest.fixture(autouse=True)
def eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "cores", lambda: (8,))


def planned(
    engine: Any = "processes",
    example: str = "mnist_cnn",
    gpus: Any = (),
    keys: Any = (),
    **asked: Any,
) -> plan.Plan:
    none = "" if engine else "its engine has none"
    known = {NAME: replace(BACKENDS[NAME], workers=engine, no_workers=none, **dict(keys))}
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


def test_without_the_feature_a_run_of_several_workers_is_not_planned_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = request(backends=(NAME,), examples=(str(EXAMPLES["mnist_cnn"].path),), workers=(2,))
    monkeypatch.setattr(axes, "every", lambda: axes.AXES)
    with pytest.raises(UserError, match="does not have the feature that measures with several workers"):
        plan.make_plan(asked, {NAME: BACKENDS[NAME]}, ())
    assert len(plan.make_plan(asked.at(workers=(1,)), {NAME: BACKENDS[NAME]}, ()).tasks) == 1


def test_the_batch_is_that_of_all_workers_or_of_each() -> None:
    for scaling, sizes in (("strong", [128, 128]), ("weak", [128, 256])):
        found = cells(workers=(1, 2), scaling=(scaling,))
        assert [one.batch_size for one in found] == sizes
        assert [one.key["batch_size"] for one in found] == [128, 128]
    with pytest.raises(UserError, match="200 samples are fewer than one batch of 256"):
        cells(workers=(1, 2), scaling=("weak",), samples=(200,))
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
    assert (one.identity, one.engine, processes.count(one)) == (other.identity, "", 1)
    assert cells(workers=(2,))[0].identity != one.identity
    assert [processes.count(one) for one in cells(workers=(1, 2), engine="processes")] == [1, 2]
    assert [processes.count(one) for one in cells(workers=(1, 2), engine="devices")] == [1, 1]


def test_a_worker_on_a_machine_of_its_own_has_all_its_cores_and_one_of_its_gpus() -> None:
    one, two = cells(workers=(1, 2), worker_per_machine=True)
    assert (one.threads, two.threads) == (8, 8) and "threads" not in two.varied
    assert (one.engine, two.engine, processes.count(two)) == ("", "machines", 2)
    assert one.identity == cells(workers=(1,))[0].identity and two.identity != cells(workers=(2,))[0].identity
    asked: dict[str, Any] = {"workers": (4,), "device": ("gpu:0",), "gpus": GPUS, "worker_per_machine": True}
    (four,) = cells(**asked)
    here = RunPaths(
        run=Path(), devices={"gpu:0": GPUS[0]}, examples={}, data={}, published_weights={}, environments={},
        passed={}, gpus=GPUS, place=Place(3, ("10.0.0.1",) * 4, "a"),
    )  # fmt: skip
    assert processes.numbers(four, here) == [3] and processes.devices(four, here, 3) == GPUS[:1]


def test_a_backend_whose_workers_hang_with_several_threads_is_not_started_so() -> None:
    def said(**asked: Any) -> list[str]:
        return reasons(engine="devices", keys={"one_thread_each": "its library hangs"}, **asked)

    assert said(workers=(1, 8)) == said(workers=(1, 2), threads=(1,), threads_each=True) == []
    assert said(workers=(2,)) == ["its library hangs: give each one thread with --threads 1"]
    assert said(workers=(2,), device=("gpu:0",), gpus=GPUS) == []


def test_workers_that_are_devices_of_one_process_are_on_one_machine() -> None:
    asked: dict[str, Any] = {"workers": (1, 2), "worker_per_machine": True}
    said = "its workers are devices of one process, so they are on one machine"
    assert reasons(engine="devices", **asked) == [said] and reasons(**asked) == []
    assert reasons(engine="", **asked) == ["its engine has none"]
    assert reasons(engine="devices", keys={"one_machine": "fit fails"}, **asked) == ["fit fails"]
    _, two = cells(engine="devices", keys={"workers_apart": True}, **asked)
    assert (two.engine, processes.count(two), processes.apart(two)) == ("machines, dividing batches", 2, True)


def test_all_machines_find_the_same_address_for_a_cell_and_the_next_attempt_another() -> None:
    one, two = cells(workers=(2, 4), worker_per_machine=True)
    hosts = ("10.0.0.1", "10.0.0.2", "10.0.0.2", "10.0.0.3")
    first, second = Place(0, hosts, "a"), Place(1, hosts, "a")
    assert first.addresses(one) == second.addresses(one) == first.addresses(one)[:2] != first.addresses(two)[:2]
    assert first.addresses(one) != replace(first, token="b").addresses(one)
    told = [address.partition(":") for address in first.addresses(two)]
    assert tuple(host for host, _, _ in told) == hosts and all(20_000 <= int(port) < 32_000 for _, _, port in told)
    assert len({port for _, _, port in told}) == 4  # some may be on one machine


def test_a_machine_takes_part_in_the_cells_that_have_its_worker_and_waits_for_all_before_it() -> None:
    tasks = cells(workers=(1, 2, 4), worker_per_machine=True, timeout=60.0)
    seen = [[(one.workers, one.timeout) for one in Place(rank, ("a",), "").own(tasks)] for rank in range(4)]
    assert seen == [
        [(1, 60.0), (2, 60.0), (4, 60.0)],
        [(2, 120.0), (4, 180.0)],
        [(4, 180.0)],
        [(4, 180.0)],
    ]


def test_a_machine_without_the_environment_says_so_before_others_wait_for_it() -> None:
    alone, several = cells(workers=(1, 2), worker_per_machine=True)
    place, lacking = Place(1, ("a", "b"), ""), {alone.environment: "no Python 3.11"}
    place.check_environments([alone], lacking)
    with pytest.raises(UserError, match=r"keras3/torch is unavailable on this machine: no Python 3\.11"):
        place.check_environments([alone, several], lacking)


def test_a_process_sees_the_gpus_of_its_workers_alone() -> None:
    assert devices.pin_variables(*GPUS)["CUDA_VISIBLE_DEVICES"] == "GPU-0,GPU-1"
    assert devices.pin_variables(devices.CPU)["CUDA_VISIBLE_DEVICES"] == "-1"
