"""Provenance is read from the machine, in full where it can be, and names nobody."""

from __future__ import annotations

import getpass
import json
import os
import socket
import subprocess
from datetime import datetime
from pathlib import Path

import pytest

import kbench
from kbench import provenance
from kbench.values import Device

GPU = Device("gpu", 0, "GPU-1234", "NVIDIA H100", 9.0, "550.54", 81559)


def test_what_is_read_is_json_and_in_full() -> None:
    read = provenance.read([Device("cpu")], ["run.py", "--backends", "all"])
    assert json.loads(json.dumps(read)) == read
    assert read["command_line"] == "run.py --backends all"
    assert read["kbench"]["version"] == kbench.__version__
    assert datetime.fromisoformat(read["started"]).utcoffset() is not None
    assert read["cpu"]["visible"] >= 0.01
    assert read["memory_mib"] > 0
    assert read["gpus"] == []


def test_gpus_are_passed_on_without_what_identifies_the_card() -> None:
    read = provenance.read([Device("cpu"), GPU], [])
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
    read = provenance.read([], ["run.py", "--results", f"{home}/x y", f"--data-dir={home}", f"{home}else"])
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
        (provenance.psutil, "cpu_count"),
        (provenance.psutil, "virtual_memory"),
        (subprocess, "run"),
        (provenance.platform, "freedesktop_os_release"),
    ):
        monkeypatch.setattr(place, name, refuse)
    read = provenance.read([], ["run.py"])
    assert read["memory_mib"] is None
    assert read["cpu"]["threads"] is None
    assert json.dumps(read)
    assert provenance.describe(read)


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True)


def test_the_commit_of_a_checkout_and_whether_it_was_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "PACKAGE", tmp_path / "kbench")
    (tmp_path / "kbench").mkdir()
    assert provenance.read([], [])["kbench"] == {"version": kbench.__version__}
    git(tmp_path, "init", "-q")
    assert provenance.read([], [])["kbench"]["commit"] == ""
    (tmp_path / "file").write_text("one")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-qm", "one")
    clean = provenance.read([], [])["kbench"]
    assert len(clean["commit"]) == 40
    assert clean["dirty"] is False
    (tmp_path / "file").write_text("two")
    assert provenance.read([], [])["kbench"] == {**clean, "dirty": True}


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
    monkeypatch.setattr(provenance, "_CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(provenance, "_OWN_CGROUP", tmp_path / "self")
    read = provenance.read([], [])
    assert read["cpu"]["quota"] == cores
    assert read["memory_limit_mib"] == mib
    assert cores is None or read["cpu"]["visible"] <= cores


def test_a_machine_is_described_in_one_phrase() -> None:
    machine = {
        "cpu": {"model": "Intel Xeon @ 2.20GHz", "visible": 2},
        "memory_mib": 23963,
        "system": {"name": "Linux", "kernel": "6.1.0-18-amd64", "machine": "x86_64"},
        "gpus": [],
    }
    assert provenance.describe(machine) == "Intel Xeon @ 2.20GHz, 2 cores, 23 GiB, Linux 6.1, CPU only"
    gpu = {**machine, "gpus": [{"name": "NVIDIA H100", "driver": "550.54"}], "memory_limit_mib": 8192}
    assert provenance.describe(gpu).endswith(", 8 GiB, Linux 6.1, NVIDIA H100 (driver 550.54)")
    assert provenance.describe({}) == "unknown processor, CPU only"
