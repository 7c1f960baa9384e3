"""GPUs, the one that is asked for, and the build that fits it: against a stand-in for NVML."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from kbench.base import paths
from kbench.errors import Unsupported, UserError
from kbench.machine import devices
from kbench.records.values import Device
from kbench.selection import backends, builds

SHIPPED = backends.load_all(paths.project_folder("backends"))
H100 = Device("gpu", 0, "GPU-aaaa", "NVIDIA H100", 9.0, "580.65", 81559)


@dataclass
class Nvml:
    """Answers as pynvml does, for GPUs given as (name, (major, minor))."""

    cards: tuple[tuple[str, tuple[int, int]], ...] = ()
    driver: str = "580.65.06"
    no_driver: bool = False
    shut: int = 0

    def nvmlInit(self) -> None:
        if self.no_driver:
            raise RuntimeError("NVML Shared Library Not Found")

    def nvmlShutdown(self) -> None:
        self.shut += 1

    def nvmlSystemGetDriverVersion(self) -> str:
        return self.driver

    def nvmlDeviceGetCount(self) -> int:
        return len(self.cards)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetUUID(self, handle: int) -> str:
        return f"GPU-{handle}{handle}{handle}{handle}"

    def nvmlDeviceGetName(self, handle: int) -> str:
        return self.cards[handle][0]

    def nvmlDeviceGetCudaComputeCapability(self, handle: int) -> tuple[int, int]:
        return self.cards[handle][1]

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> SimpleNamespace:
        return SimpleNamespace(total=16 * 2**30)


TWO = Nvml((("Tesla T4", (7, 5)), ("NVIDIA H100", (9, 0))))


def test_gpus_are_read_whole_and_nvml_is_shut_again() -> None:
    nvml = Nvml((("GeForce RTX 5090", (12, 0)),))
    (gpu,) = devices.gpus(nvml, {})
    assert gpu == Device("gpu", 0, "GPU-0000", "GeForce RTX 5090", 12.0, "580.65.06", 16384)
    assert nvml.shut == 1


def test_without_a_driver_there_are_no_gpus() -> None:
    assert devices.gpus(Nvml(no_driver=True), {}) == ()


@pytest.mark.parametrize(
    ("shown", "indexes"),
    [("1", [1]), ("1,0", [1, 0]), ("GPU-11", [1]), ("", []), ("-1", []), ("0,-1,1", [0]), (None, [0, 1])],
)
def test_cuda_visible_devices_of_the_user_counts(shown: str | None, indexes: list[int]) -> None:
    environ = {} if shown is None else {"CUDA_VISIBLE_DEVICES": shown}
    assert [gpu.index for gpu in devices.gpus(TWO, environ)] == indexes


def test_auto_takes_the_gpu_where_there_is_one_else_the_cpu() -> None:
    found = devices.gpus(TWO, {})
    assert devices.choose("auto", found) == found[0]
    assert devices.choose("auto", ()) == devices.CPU
    assert devices.choose("cpu", found) == devices.CPU
    assert devices.choose("gpu:1", found).name == "NVIDIA H100"


@pytest.mark.parametrize("request_", ["tpu", "gpu:", "gpu:x", "gpu:-1", "cpu:0", "auto:1", ""])
def test_what_is_no_device_is_refused(request_: str) -> None:
    with pytest.raises(UserError, match="use auto, cpu, gpu or gpu:N"):
        devices.choose(request_, devices.gpus(TWO, {}))


def test_a_gpu_that_is_not_there_is_refused_before_anything_starts() -> None:
    with pytest.raises(UserError, match="no NVIDIA GPU was found"):
        devices.choose("gpu", ())
    with pytest.raises(UserError, match="this machine has gpu:0, gpu:1"):
        devices.choose("gpu:2", devices.gpus(TWO, {}))


def test_the_cpu_build_is_the_one_for_the_cpu() -> None:
    there = [one for one in SHIPPED.values() if not one.unavailable]
    assert {builds.pick_build(one, devices.CPU).name for one in there} == {"cpu"}


@pytest.mark.parametrize(
    ("name", "capability", "driver", "build"),
    [
        ("keras2/tensorflow", 7.5, "410.48", "cu100"),
        ("keras2/mxnet", 8.6, "580.65", "cu117"),
        ("keras2/mxnet", 8.6, "470.57.02", "cu112"),
        ("keras2/mxnet", 7.0, "390.10", "cu90"),
        ("native/gluon", 8.6, "580.65", "cu117"),
        ("native/mxnet-module", 7.0, "390.10", "cu90"),
        ("native/cntk", 7.5, "410.48", "cu100"),
        ("native/chainer", 8.6, "580.65", "cu110"),
        ("native/chainer", 7.5, "410.48", "cu100"),
        ("native/caffe2", 7.5, "440.33", "cu102"),
        ("native/flax", 9.0, "580.65.06", "cuda13"),
        ("native/flax", 7.0, "580.65.06", "cuda12"),
        ("keras3/jax", 9.0, "580.65.06", "cuda13"),
        ("keras3/jax", 7.0, "580.65.06", "cuda12"),
        ("keras3/jax", 9.0, "550.54", "cuda12"),
        ("keras3/torch", 12.0, "580.65.06", "cuda13"),
    ],
)
def test_the_newest_build_is_picked_that_knows_the_gpu_and_that_the_driver_runs(
    name: str, capability: float, driver: str, build: str
) -> None:
    gpu = Device("gpu", 0, "GPU-0", "A GPU", capability, driver, 1)
    picked = builds.pick_build(SHIPPED[name], gpu)
    assert picked.name == build and picked.note.startswith("not run on hardware")


@pytest.mark.parametrize("name", ["keras2/tensorflow", "keras2/cntk", "native/cntk", "native/caffe2"])
def test_a_gpu_that_no_build_knows_is_unsupported_with_both_numbers(name: str) -> None:
    with pytest.raises(Unsupported) as reason:
        builds.pick_build(SHIPPED[name], H100)
    assert str(reason.value) == ("its newest build knows GPUs up to compute capability 7.5; NVIDIA H100 has 9.0")


def test_an_older_gpu_and_an_older_driver_have_their_own_reasons() -> None:
    old = Device("gpu", 0, "GPU-0", "Tesla K80", 3.7, "470.57", 1)
    with pytest.raises(Unsupported, match=r"from compute capability 7\.5 to .*Tesla K80 has 3\.7"):
        builds.pick_build(SHIPPED["keras3/torch"], old)
    with pytest.raises(Unsupported, match=r"driver from 525; this machine has 470\.57"):
        builds.pick_build(SHIPPED["keras3/jax"], Device("gpu", 0, "GPU-0", "A100", 8.0, "470.57", 1))


@pytest.mark.parametrize("name", ["keras3/openvino", "native/caffe", "native/lasagne"])
def test_a_backend_without_gpu_builds_is_unsupported_there(name: str) -> None:
    with pytest.raises(Unsupported, match="no build for a GPU"):
        builds.pick_build(SHIPPED[name], H100)


def test_an_environment_of_the_users_own_is_not_held_to_the_builds_limits() -> None:
    assert builds.pick_build(SHIPPED["keras2/tensorflow"], H100, as_is=True).name == "cu100"


def test_a_process_is_pinned_by_uuid_and_sees_no_gpu_on_the_cpu() -> None:
    assert devices.pin_variables(H100) == {
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": "GPU-aaaa",
    }
    assert devices.pin_variables(devices.CPU)["CUDA_VISIBLE_DEVICES"] == "-1"
