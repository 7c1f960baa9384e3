"""Provenance is read from the machine, in full where it can be, and names nobody."""

from __future__ import annotations

import getpass
import json
import os
import socket
import subprocess
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import kbench
from kbench.machine import host, provenance
from kbench.records.values import Device

GPU = Device("gpu", 0, "GPU-1234", "NVIDIA H100", 9.0, "550.54", 81559)


def test_what_is_read_is_json_and_in_full() -> None:
    read = provenance.read([Device("cpu")], "run.py --backends all")
    assert json.loads(json.dumps(read)) == read
    assert read["command_line"] == "run.py --backends all"
    assert read["kbench"]["version"] == kbench.__version__
    assert datetime.fromisoformat(read["started"]).utcoffset() is not None
    assert read["cpu"]["visible"] >= 0.01
    assert read["memory_mib"] > 0
    assert read["gpus"] == []


def test_another_kbench_is_told_by_its_version_and_commit() -> None:
    one, other = ({"kbench": {"version": "0.1.0", "commit": letter * 40, "dirty": False}} for letter in "ab")
    said = "kbench 0.1.0 aaaaaaaaaaaa instead of 0.1.0 bbbbbbbbbbbb"
    assert provenance.other_differences(one, other) == [said]
    assert provenance.other_differences(one, {"kbench": {**one["kbench"], "dirty": True}}) == []


def test_gpus_are_passed_on_without_what_identifies_the_card() -> None:
    read = provenance.read([Device("cpu"), GPU], "")
    assert read["gpus"] == [
        {
            "index": 0,
            "name": "NVIDIA H100",
            "driver": "550.54",
            "memory_mib": 81559,
            "compute_capability": 9.0,
        }
    ]


def test_no_host_user_or_home_is_in_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = tmp_path / "somebody"
    monkeypatch.setenv("HOME", str(home))
    read = provenance.read([], f"run.py --results '{home}/x y' --data-dir={home} {home}else")
    assert "somebody" not in json.dumps(read).replace("somebodyelse", "")
    assert read["command_line"] == f"run.py --results '~/x y' --data-dir=~ {home}else"
    values = json.dumps({**read, "command_line": ""})
    for name in (socket.gethostname(), getpass.getuser()):
        assert f'"{name}"' not in values


def test_nothing_that_is_missing_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    for place, name in (
        (Path, "read_text"),
        (Path, "exists"),
        (os, "getloadavg"),
        (os, "cpu_count"),
        (host.psutil, "cpu_count"),
        (host.psutil, "virtual_memory"),
        (subprocess, "run"),
        (host.platform, "freedesktop_os_release"),
    ):
        monkeypatch.setattr(place, name, refuse)
    read = provenance.read([], "run.py")
    assert read["memory_mib"] is None
    assert read["cpu"]["threads"] is None
    assert json.dumps(read)
    assert provenance.describe(read)


@dataclass
class Nvml:
    """Answers as pynvml does, for one card; what it does not know it raises."""

    without: tuple[str, ...] = ()
    no_driver: bool = False
    shut: int = 0

    def nvmlInit(self) -> None:
        if self.no_driver:
            raise RuntimeError("NVML Shared Library Not Found")

    def nvmlShutdown(self) -> None:
        self.shut += 1

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:
        if uuid != GPU.uuid:
            raise RuntimeError("Not Found")
        return uuid

    def __getattr__(self, name: str) -> Any:
        answers: dict[str, Any] = {
            "nvmlDeviceGetClockInfo": lambda handle, kind: {1: 345, 2: 1593}[kind],
            "nvmlDeviceGetMaxClockInfo": lambda handle, kind: {1: 1980, 2: 2619}[kind],
            "nvmlDeviceGetCurrentClocksThrottleReasons": lambda handle: 0x44,
            "nvmlDeviceGetPowerUsage": lambda handle: 68_500,
            "nvmlDeviceGetEnforcedPowerLimit": lambda handle: 700_000,
            "nvmlDeviceGetTemperature": lambda handle, sensor: 31,
        }
        if name in self.without:
            raise RuntimeError("Not Supported")
        return answers[name]


STATE = {
    "sm_clock_mhz": 345,
    "memory_clock_mhz": 1593,
    "max_sm_clock_mhz": 1980,
    "max_memory_clock_mhz": 2619,
    "throttled": ["power cap", "thermal slowdown by hardware"],
    "power_watts": 68.5,
    "power_limit_watts": 700.0,
    "temperature_celsius": 31,
}


def test_clocks_throttling_and_power_of_a_gpu_are_read_at_the_start_and_at_the_end() -> None:
    nvml = Nvml()
    (gpu,) = provenance.read([Device("cpu"), GPU], "", nvml)["gpus"]
    assert gpu["state"] == STATE and nvml.shut == 1
    assert provenance.ended([GPU], nvml)["gpus"] == {"gpu:0": STATE} and nvml.shut == 2
    assert json.dumps(gpu)


def test_what_a_card_or_its_driver_does_not_tell_is_left_out() -> None:
    some = Nvml(without=("nvmlDeviceGetCurrentClocksThrottleReasons", "nvmlDeviceGetTemperature"))
    told = provenance.ended([GPU], some)["gpus"]["gpu:0"]
    assert told.keys() == STATE.keys() - {"throttled", "temperature_celsius"}
    for nvml in (Nvml(no_driver=True), Nvml(without=("nvmlDeviceGetClockInfo",))):
        other = Device("gpu", 1, "GPU-gone", "Gone", 9.0, "550.54", 1)
        assert provenance.ended([other], nvml)["gpus"] == {}


def test_the_end_of_a_run_has_its_time_and_load() -> None:
    told = provenance.ended([])
    assert datetime.fromisoformat(told["time"]).utcoffset() is not None
    assert told["load_average"] == host.load_average()


def test_caches_are_read_as_the_system_lists_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = [("1", "Data", "48K"), ("1", "Instruction", "32K"), ("2", "Unified", "2048K"), ("3", "Unified", "36M")]
    for number, facts in enumerate([*listed, ("4", "Unified", "unknown")]):
        for name, value in zip(("level", "type", "size"), facts, strict=True):
            (tmp_path / "cache" / f"index{number}").mkdir(parents=True, exist_ok=True)
            (tmp_path / "cache" / f"index{number}" / name).write_text(f"{value}\n")
    monkeypatch.setattr(host, "_CPU", tmp_path)
    assert provenance.read([], "")["cpu"]["caches_kib"] == {"L1d": 48, "L1i": 32, "L2": 2048, "L3": 36864}
    monkeypatch.setattr(host, "_CPU", tmp_path / "missing")
    assert provenance.read([], "")["cpu"]["caches_kib"] == {}


def test_the_home_folder_is_a_tilde_wherever_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    flags = "device=cpu,dir=/home/somebody/.cache:/home/somebody,x=/home/somebodyelse"
    assert provenance.without_home(flags) == "device=cpu,dir=~/.cache:~,x=/home/somebodyelse"


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True)


def test_the_commit_of_a_checkout_and_whether_it_was_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "PACKAGE", tmp_path / "kbench")
    (tmp_path / "kbench").mkdir()
    assert provenance.read([], "")["kbench"] == {"version": kbench.__version__}
    git(tmp_path, "init", "-q")
    assert provenance.read([], "")["kbench"]["commit"] == ""
    (tmp_path / "file").write_text("one")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-qm", "one")
    clean = provenance.read([], "")["kbench"]
    assert len(clean["commit"]) == 40
    assert clean["dirty"] is False
    (tmp_path / "file").write_text("two")
    assert provenance.read([], "")["kbench"] == {**clean, "dirty": True}


@pytest.mark.parametrize(
    ("own", "files", "cores", "mib"),
    [
        ("0::/a/b\n", {"a/cpu.max": "150000 100000", "a/b/cpu.max": "max 100000"}, 1.5, None),
        (
            "0::/a\n",
            {"a/cpu.max": "max 100000", "a/memory.max": "max", "memory.max": "1073741824"},
            None,
            1024,
        ),
        (
            "4:cpu,cpuacct:/x\n3:memory:/\n",
            {
                "cpu,cpuacct/x/cpu.cfs_quota_us": "50000",
                "cpu,cpuacct/x/cpu.cfs_period_us": "100000",
                "memory/memory.limit_in_bytes": "9223372036854771712",
            },
            0.5,
            None,
        ),
        ("4:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None, None),
    ],
)
def test_quotas_of_both_cgroup_versions_are_read(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    own: str,
    files: dict[str, str],
    cores: float | None,
    mib: int | None,
) -> None:
    for name, content in files.items():
        (tmp_path / "cgroup" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "cgroup" / name).write_text(content)
    (tmp_path / "self").write_text(own)
    monkeypatch.setattr(host, "_CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(host, "_OWN_CGROUP", tmp_path / "self")
    read = provenance.read([], "")
    assert read["cpu"]["quota"] == cores
    assert read["memory_limit_mib"] == mib
    assert cores is None or read["cpu"]["visible"] <= cores


def test_a_machine_is_described_in_one_phrase() -> None:
    told = {
        "cpu": {"model": "Intel Xeon @ 2.20GHz", "visible": 2},
        "memory_mib": 23963,
        "system": {"name": "Linux", "kernel": "6.1.0-18-amd64", "machine": "x86_64"},
        "gpus": [],
    }
    assert provenance.describe(told) == "Intel Xeon @ 2.20GHz, 2 cores, 23 GiB, Linux 6.1, CPU only"
    gpu = {**told, "gpus": [{"name": "NVIDIA H100", "driver": "550.54"}], "memory_limit_mib": 8192}
    assert provenance.describe(gpu).endswith(", 8 GiB, Linux 6.1, NVIDIA H100 (driver 550.54)")
    assert provenance.describe({}) == "unknown processor, CPU only"
