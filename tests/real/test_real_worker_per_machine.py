"""Two workers on a machine each train as one does: on a Dask cluster whose machines have addresses of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from dask_cluster import DaskCluster, until
from real_runs import Kbench
from test_real_workers import EXAMPLE, MODULUS, TORCH

from kbench import store
from kbench.cli import main
from kbench.records.values import OK

pytestmark = [pytest.mark.timeout(3600), pytest.mark.slow("starts machines, and each backend trains twice")]


@pytest.fixture
def cluster(kbench: Kbench, tmp_path: Path) -> Iterator[DaskCluster]:
    made = DaskCluster(tmp_path / "dask")
    yield made
    made.close()


def machine(cluster: DaskCluster, number: int) -> subprocess.Popen[bytes]:
    """Add a machine. All have this one's cache, but each its own lock: or they would measure one block at a time."""
    locks = str(cluster.folder / f"locks-{number}")
    return cluster.worker(number, KBENCH_TEST_LOCKS=locks, KBENCH_TEST_WEIGHTS=str(cluster.folder))


def options(folder: Path, cluster: DaskCluster, backend: str, samples: int) -> list[str]:
    example = folder / "small.py"
    example.write_text(EXAMPLE, "utf-8")
    twin = folder / "native" / "torch" / "small.py"
    twin.parent.mkdir(parents=True)
    twin.write_text(TORCH, "utf-8")
    asked = ["--backends", backend, "--examples", str(example), "--samples", str(samples), "--workers", "1,2"]
    how = ["--threads", "1", "--repeats", "1", "--device", "cpu", "--no-plots", "--results", str(folder / "results")]
    return [*asked, *how, "--profile", "full", "--on", cluster.address, "--worker-per-machine", "--name", "far"]


def events(path: Path, kind: str) -> list[dict[str, Any]]:
    return [one for one in map(json.loads, path.read_text("utf-8").splitlines()) if one["event"] == kind]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "backend",
    [
        "keras3/torch",
        *(pytest.param(one, marks=pytest.mark.thorough) for one in ("native/torch", "keras2/tensorflow2")),
    ],
)
def test_two_workers_on_a_machine_each_train_as_one_and_read_each_sample_once(
    cluster: DaskCluster, tmp_path: Path, backend: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in (1, 2):
        machine(cluster, number)
    status = main.main(options(tmp_path, cluster, backend, 160))
    assert status == 0, "".join(capsys.readouterr())[-2000:]
    (kind,) = store.machines(tmp_path / "results" / "far")
    cells = {one.cell.workers: one.cell for one in store.read(kind).measured if one.outcome.status == OK}
    assert sorted(cells) == [1, 2]
    weights = [[*np.load(cluster.folder / f"{count}.npz").values()] for count in (1, 2)]  # after ten steps
    assert max(np.abs(a - b).max() for a, b in zip(*weights, strict=True)) < 1e-5
    one, two = (events(store.cell_folder(kind, cells[count]).events, "epoch") for count in (1, 2))
    for name in ("loss", "val_loss"):
        np.testing.assert_allclose([e[name] for e in two], [e[name] for e in one], 1e-5)
    told = [e for rank in (0, 1) for e in events(store.cell_folder(kind, cells[2], rank).events, "worker")]
    assert [(e["rank"], e["epoch"], e["samples"]) for e in told] == [(0, 1, 80), (0, 2, 80), (1, 1, 80), (1, 2, 80)]
    for epoch in (1, 2):
        of_epoch = [e for e in told if e["epoch"] == epoch]
        read = [int(e["read"], 16) for e in of_epoch]
        assert sum(read) % MODULUS == int(of_epoch[0]["read_of_all"], 16) and len({*read}) == 2
    assert "differs" not in capsys.readouterr().out


def running(cluster: DaskCluster) -> list[str]:
    """The processes that measure on its machines."""
    place = f"{cluster.folder}/worker-"
    lines = [one.info["cmdline"] or [] for one in psutil.process_iter(["cmdline"])]
    return [" ".join(words) for words in lines if any(word.startswith(place) and "kbench-" in word for word in words)]


@pytest.mark.thorough  # in tests/features/cluster with a program in place of a framework
@pytest.mark.parametrize("backend", ["keras3/torch", "keras2/tensorflow2"])
def test_if_the_second_machine_goes_nothing_hangs_and_a_sentence_says_so(
    cluster: DaskCluster, tmp_path: Path, backend: str
) -> None:
    machines = {number: machine(cluster, number) for number in (1, 2)}
    asked = [*options(tmp_path, cluster, backend, 160), "--epochs", "3000"]
    asked[asked.index("1,2")] = "2"
    client = subprocess.Popen(
        [sys.executable, "-m", "kbench", *asked], stderr=subprocess.PIPE, text=True, env={**os.environ}
    )
    try:
        found = "worker-{}/**/events.worker1.jsonl"

        def trains(number: int) -> bool:
            return any(events(one, "epoch") for one in cluster.folder.glob(found.format(number)))

        until(lambda: trains(1) or trains(2), "the training")
        second = 2 if trains(2) else 1
        machines[second].kill()
        until(lambda: not running(cluster), "the end of all that measured")
        assert client.stderr
        said = "".join(
            iter(client.stderr.readline, "Waiting for 2 machines of one kind: a block takes so many at once.\n")
        )
        assert f"s: worker 1 on 127.0.1.{second}: its worker is gone" in said, said
        client.send_signal(signal.SIGINT)
        _, err = client.communicate(timeout=60)
        assert client.returncode == 130 and "Traceback" not in err
    finally:
        client.kill()
