"""The memory of a GPU that a cell holds: by process where the driver tells, else the device's, and said which."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from kbench.cells import launcher
from kbench.machine.gpu_memory import DEVICE, PROCESS, DeviceMemory

MIB = 2**20


class Nvml:
    """Answers as pynvml does: the device's used memory and the processes', in MiB, for one look after another."""

    def __init__(self, *looks: tuple[int, dict[int, int | None]], before: int = 100) -> None:
        self._now: tuple[int, dict[int, int | None]] = (before, {})
        self._looks = list(looks)
        self.open = 0
        self.asked: list[int] = []

    def nvmlInit(self) -> None:
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        self.asked.append(index)
        return index

    def nvmlDeviceGetComputeRunningProcesses(self, handle: int) -> list[SimpleNamespace]:
        self._now = self._looks.pop(0)
        return [
            SimpleNamespace(pid=pid, usedGpuMemory=None if used is None else used * MIB)
            for pid, used in self._now[1].items()
        ]

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> SimpleNamespace:
        return SimpleNamespace(used=self._now[0] * MIB)


def looked(nvml: Nvml, looks: int) -> tuple[float | None, str]:
    memory = DeviceMemory(1, nvml)
    for _ in range(looks):
        memory.sample({7, 8})
    return memory.peak_mib, memory.source


def test_it_is_the_most_that_the_processes_held_together_and_nobody_elses() -> None:
    nvml = Nvml((900, {7: 300, 9: 500}), (1500, {7: 300, 8: 200, 9: 900}), (1000, {8: 400}))
    assert looked(nvml, 3) == (500.0, PROCESS)
    assert nvml.asked == [1]


@pytest.mark.parametrize("told", [{}, {7: None}, {40007: 300}])
def test_where_the_driver_does_not_tell_by_process_it_is_what_the_device_gained(told: dict[int, int | None]) -> None:
    assert looked(Nvml((400, told), (350, told)), 2) == (300.0, DEVICE)


def test_a_cell_that_held_nothing_has_no_figure() -> None:
    assert looked(Nvml((100, {}), (60, {})), 2) == (None, "")


def test_a_driver_that_is_not_there_or_goes_away_costs_the_figure_alone() -> None:
    class NoDriver(Nvml):
        def nvmlInit(self) -> None:
            raise RuntimeError("NVML Shared Library Not Found")

    assert looked(NoDriver(), 1) == (None, "")
    assert looked(Nvml((400, {7: 300})), 2) == (300.0, PROCESS)  # at the second look it raises


def test_the_driver_is_let_go() -> None:
    nvml = Nvml()
    memory = DeviceMemory(0, nvml)
    assert nvml.open == 1
    memory.close()
    memory.sample({7})
    memory.close()
    assert nvml.open == 0


class TellsOfChildren(Nvml):
    """Each process below this one holds 64 MiB on the GPU."""

    def nvmlDeviceGetComputeRunningProcesses(self, handle: int) -> list[SimpleNamespace]:
        below = psutil.Process().children(recursive=True)
        return [SimpleNamespace(pid=one.pid, usedGpuMemory=64 * MIB) for one in below]


@pytest.mark.processes
@pytest.mark.parametrize("timeout", [60.0, 0.0])
def test_a_launched_guest_and_those_below_it_are_looked_at_on_its_gpu_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, timeout: float
) -> None:
    nvml = TellsOfChildren()
    monkeypatch.setitem(sys.modules, "pynvml", nvml)  # type: ignore[arg-type]
    monkeypatch.setattr(launcher, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(launcher, "MEMORY_SECONDS", 0.0)
    wait = "import os; open('started', 'w').close()\nwhile not os.path.exists('go'): pass"
    below = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {wait!r}])"

    def launch(gpu: int | None) -> launcher.Exit:
        def watch() -> None:
            if (tmp_path / "started").exists():
                looks.append(1)
            if len(looks) > 2:
                (tmp_path / "go").touch()

        looks: list[int] = []
        for name in ("started", "go"):
            (tmp_path / name).unlink(missing_ok=True)
        return launcher.run_to_completion(
            launcher.launch(
                [sys.executable, "-c", below],
                variables={},
                folder=tmp_path,
                log=tmp_path / "log.txt",
                timeout=timeout,
                watch=watch,
                gpu=gpu,
            )
        )

    on_cpu = launch(None)
    assert (on_cpu.device_memory_mib, on_cpu.device_memory_source, nvml.asked) == (None, "", [])
    on_gpu = launch(3)
    if not timeout:
        assert on_gpu.timed_out
    else:
        assert (on_gpu.device_memory_mib, on_gpu.device_memory_source) == (128.0, PROCESS)
    assert nvml.asked == [3] and nvml.open == 0
