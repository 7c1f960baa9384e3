"""Runs on a real Dask cluster whose workers are processes with addresses of their own."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from dask_cluster import DaskCluster, until
from fake_bench import Bench, dying, write_patterns
from faults.test_small_disk import OWN_MOUNTS, may_mount

from kbench import store
from kbench.version import __version__

pytestmark = pytest.mark.slow("starts schedulers and workers")


@pytest.fixture
def cluster(bench: Bench) -> Iterator[DaskCluster]:
    made = DaskCluster(bench.folder / "dask")
    yield made
    made.close()


def attempts(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "attempts.jsonl").read_text().splitlines()]


@pytest.mark.thorough
def test_two_workers_measure_what_one_machine_measures(bench: Bench, cluster: DaskCluster) -> None:
    for number in (1, 2):
        cluster.worker(number, cache=cluster.folder / f"cache-{number}")
    said = bench.measure("--on", cluster.address, "--name", "far", "--repeats", "2")
    assert said.status == 0, said.err
    assert bench.measure("--repeats", "2", "--name", "here").status == 0
    (kind,) = store.machines(bench.results / "far")
    far, here = store.read(kind), store.read(bench.results / "here")
    assert len(far.measured) == 2
    assert [one.cell for one in far.measured] == [one.cell for one in here.measured]


@pytest.mark.thorough
def test_without_options_on_how_often_each_block_is_accepted_at_once_with_its_short_processes(
    bench: Bench, cluster: DaskCluster
) -> None:
    bench.backend("keras9/other")
    bench.example("second.py")
    for number in (1, 2):
        cluster.worker(number, cache=cluster.folder / f"cache-{number}")
    asked = ("--backends", "fake,other", "--examples", "my_example.py,second.py", "--profile", "full")
    where = ("--device", "cpu", "--on", cluster.address, "--name", "far")
    said = bench(*asked, *where, "--budget", "1s")  # short processes come before, whatever it is
    assert said.status == 0, said.err
    assert sorted((one["block"], one["status"]) for one in attempts(bench.results / "far")) == [
        ("my_example__r1", "measured"), ("second__r1", "measured"),
    ]  # fmt: skip
    (kind,) = store.machines(bench.results / "far")
    far = store.read(kind)
    short = Counter(one.cell.row_id for one in far.short)
    assert {row: len(places) for row, places in far.request["short"].items()} == short
    assert short.keys() == {one.cell.row_id for one in far.measured} and len(short) == 4
    rows = json.loads(bench("report", f"far/machines/{kind.name}", "--format", "json").out)["rows"]
    assert [(row["repeats"], row["short_processes"]) for row in rows] == [(1, count) for count in short.values()]
    assert all(row["epoch_seconds_low"] < row["epoch_seconds"] < row["epoch_seconds_high"] for row in rows)


def held(bench: Bench) -> tuple[Path, Path]:
    """Make an example held.py, which waits; returns the file that is there when it began, and that it waits for."""
    began, flag = bench.folder / "began", bench.folder / "go on"
    line = (
        f"import os, time\n    open({str(began)!r}, 'w').close()\n"
        f"    while not os.path.exists({str(flag)!r}):\n        time.sleep(0.05)"
    )
    bench.example("held.py", dying(line))
    return began, flag


def of_worker(cluster: DaskCluster, number: int) -> list[int]:
    """The processes that measure for this worker."""
    place = str(cluster.folder / f"worker-{number}")
    found = []
    for one in psutil.process_iter(["cmdline"]):
        words = one.info["cmdline"] or []
        if any(word.startswith(f"{place}/") for word in words):
            found.append(one.pid)
    return found


def start(bench: Bench, cluster: DaskCluster, examples: str, *options: str) -> subprocess.Popen[str]:
    usual = ["--backends", "fake", "--examples", examples, "--profile", "smoke", "--device", "cpu"]
    return bench.start(*usual, "--on", cluster.address, "--name", "mine", *options)


def test_a_worker_that_is_killed_leaves_nothing_running_and_its_block_is_measured_by_another(
    bench: Bench, cluster: DaskCluster
) -> None:
    began, flag = held(bench)
    doomed = cluster.worker(1)
    client = start(bench, cluster, "held.py")
    until(began.exists, "the block's start")
    cluster.worker(2)
    doomed.kill()
    until(lambda: not of_worker(cluster, 1), "the end of the lost worker's processes")
    flag.touch()
    _, err = client.communicate(timeout=120)
    assert client.returncode == 0, err
    assert [(one["status"], one["worker"][:16]) for one in attempts(bench.results / "mine")] == [
        ("lost", "tcp://127.0.1.1:"), ("measured", "tcp://127.0.1.2:"),
    ]  # fmt: skip
    (kind,) = store.machines(bench.results / "mine")
    assert [one.outcome.status for one in store.read(kind).measured] == ["ok"]


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_client_that_ends_leaves_nothing_running_and_is_resumed_without_measuring_anything_twice(
    bench: Bench, cluster: DaskCluster, number: int
) -> None:
    began, flag = held(bench)
    cluster.worker(1)
    client = start(bench, cluster, "my_example.py,held.py")
    until(began.exists, "the second block's start")
    client.send_signal(number)
    _, err = client.communicate(timeout=120)
    assert client.returncode == (130 if number == signal.SIGINT else -number), err
    until(lambda: not of_worker(cluster, 1), "the end of its processes on the worker")
    if number == signal.SIGINT:
        assert attempts(bench.results / "mine")[-1]["status"] == "stopped"
    flag.touch()
    assert bench("resume", "mine").status == 0
    done = [one["block"] for one in attempts(bench.results / "mine") if one["status"] == "measured"]
    assert done == ["my_example__r1", "held__r1"]
    (kind,) = store.machines(bench.results / "mine")
    assert [one.outcome.status for one in store.read(kind).measured] == ["ok", "ok"]


@pytest.mark.thorough
def test_without_its_scheduler_a_run_ends_in_a_sentence_and_goes_on_with_another(
    bench: Bench, cluster: DaskCluster
) -> None:
    began, flag = held(bench)
    cluster.worker(1)
    client = start(bench, cluster, "my_example.py,held.py")
    until(began.exists, "the second block's start")
    cluster.scheduler.kill()
    _, err = client.communicate(timeout=120)
    assert client.returncode == 1
    assert "kbench: error: the scheduler is gone; the blocks that were measured are kept." in err
    assert "Traceback" not in err
    until(lambda: not of_worker(cluster, 1), "the end of its processes on the worker")
    flag.touch()
    other = DaskCluster(bench.folder / "other")
    try:
        other.worker(2)
        assert bench("resume", "mine", "--on", other.address).status == 0
    finally:
        other.close()
    (kind,) = store.machines(bench.results / "mine")
    assert [one.outcome.status for one in store.read(kind).measured] == ["ok", "ok"]


@pytest.mark.thorough
def test_what_a_worker_measures_while_it_cannot_be_reached_is_not_counted_twice(bench: Bench) -> None:
    began, flag = held(bench)
    bench.patch.setenv("DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL", "2s")
    cluster = DaskCluster(bench.folder / "dask")
    try:
        apart = cluster.worker(1)
        client = start(bench, cluster, "held.py")
        until(began.exists, "the block's start")
        apart.send_signal(signal.SIGSTOP)  # to the scheduler, the same as a network that is down
        flag.touch()
        run = bench.results / "mine"
        until(lambda: (run / "attempts.jsonl").exists() and attempts(run), "the loss of the worker")
        apart.send_signal(signal.SIGCONT)
        cluster.worker(2)
        _, err = client.communicate(timeout=120)
        assert client.returncode == 0, err
        assert [one["status"] for one in attempts(run)] == ["lost", "measured"]
        (kind,) = store.machines(run)
        assert len(store.read(kind).measured) == 1
    finally:
        cluster.close()


@pytest.mark.thorough
def test_a_slow_machine_holds_nobody_up(bench: Bench, cluster: DaskCluster) -> None:
    began, flag = held(bench)
    cluster.worker(1)
    client = start(bench, cluster, "held.py,my_example.py")
    until(began.exists, "the first block's start")
    cluster.worker(2, cache=cluster.folder / "cache")
    run = bench.results / "mine"
    until(lambda: (run / "attempts.jsonl").exists() and attempts(run), "the other block's end")
    flag.touch()
    _, err = client.communicate(timeout=120)
    assert client.returncode == 0, err
    assert [one["worker"][:15] for one in attempts(run)] == ["tcp://127.0.1.2", "tcp://127.0.1.1"]


@pytest.mark.thorough
def test_a_worker_with_a_full_disk_is_passed_over(bench: Bench, cluster: DaskCluster) -> None:
    full = cluster.folder / "worker-1"
    full.mkdir()
    mounted = f'mount -t tmpfs -o size=24k tmpfs "{full}" && exec "$0" "$@"'
    cluster.worker(1, [*OWN_MOUNTS, "sh", "-c", mounted] if may_mount() else ["prlimit", "--fsize=9000"])
    cluster.worker(2)
    bench.example("second.py")
    said = bench.measure("--on", cluster.address, "--name", "mine", examples="my_example.py,second.py")
    assert said.status == 0, said.err
    failed = [one for one in attempts(bench.results / "mine") if one["status"] == "failed"]
    assert failed and all(one["worker"].startswith("tcp://127.0.1.1:") for one in failed)
    assert all("No space left" in one["reason"] or "too large" in one["reason"] for one in failed)


@pytest.mark.thorough
def test_only_workers_with_the_same_kbench_measure(bench: Bench, cluster: DaskCluster) -> None:
    cluster.worker(1, KBENCH_TEST_VERSION="0.0.1")
    cluster.worker(2, PYTHONPATH=str(cluster.folder / "patches"))
    client = start(bench, cluster, "my_example.py")
    assert client.stderr
    said = [client.stderr.readline() for _ in range(3)]
    assert any(f"is not used: it has kbench 0.0.1, and this is {__version__}." in line for line in said)
    assert any("is not used, because it cannot run kbench (Dask could not run it" in line for line in said)
    cluster.worker(3)
    _, err = client.communicate(timeout=120)
    assert client.returncode == 0, err
    assert [one["worker"][:16] for one in attempts(bench.results / "mine")] == ["tcp://127.0.1.3:"]


def test_machines_are_selected_and_each_kind_has_its_tables(bench: Bench, cluster: DaskCluster) -> None:
    cluster.worker(1)
    cluster.worker(2, ["taskset", "-c", "0"])
    said = bench.measure("--on", cluster.address, "--spread", "--name", "both")
    assert said.status == 0, said.err
    kinds = store.machines(bench.results / "both")
    assert len(kinds) == 2 and any(kind.name.endswith("-1-core") for kind in kinds)
    assert "1 core\n" in said.out and "Kinds of machines" in said.out
    rows = list(csv.DictReader((bench.results / "both/summary.csv").open()))
    assert [row["status"] for row in rows] == ["ok", "ok"] and len({row["machine"] for row in rows}) == 2
    said = bench.measure("--on", cluster.address, "--select", "cores=1", "--name", "one")
    assert said.status == 0 and "is not selected" in said.err
    (kind,) = store.machines(bench.results / "one")
    assert kind.name.endswith("-1-core")
    said = bench("compare", "both", "one")
    assert said.status == 2 and "has a run for each kind of machine: name one of them" in said.err
    assert bench("report", "both").status == 0
    said = bench("report", "both", "--baseline", "fake")
    assert said.status == 2 and "is of several machines" in said.err
    assert bench("compare", f"both/machines/{kind.name}", f"one/machines/{kind.name}").status == 0


def test_an_example_of_ones_own_travels_with_its_twin_and_a_failed_cell_is_a_row(
    bench: Bench, cluster: DaskCluster
) -> None:
    cluster.worker(1, cache=cluster.folder / "cache")
    elsewhere = bench.folder / "only here"
    elsewhere.mkdir()
    (elsewhere / "broken.py").write_text(dying("raise ValueError('as planned')"))
    write_patterns(elsewhere / "patterns.npz")
    said = bench.measure("--on", cluster.address, "--name", "mine", examples=str(elsewhere / "broken.py"))
    assert said.status == 1
    (kind,) = store.machines(bench.results / "mine")
    (only,) = store.read(kind).measured
    assert only.outcome.status == "failed" and "as planned" in only.outcome.reason
