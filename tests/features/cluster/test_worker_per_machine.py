"""Cells whose workers are on as many machines, on a real Dask cluster; what trains is a stub."""

from __future__ import annotations

import csv
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from dask_cluster import DaskCluster, until
from fake_bench import Bench, Said
from features.workers.test_cli_workers import CODE, GUEST

from kbench import store
from kbench.features.workers import events
from kbench.records.values import Measured

pytestmark = pytest.mark.slow("starts schedulers and workers")
ASKED = ("--worker-per-machine", "--repeats", "1", "--name", "mine")
IN_SECOND = 'if "workers" in spec and rank == 1 and epoch == {epoch}:\n    import signal, time\n    {does}\n'


@pytest.fixture
def cluster(bench: Bench) -> Iterator[DaskCluster]:
    bench.backend(more='workers = "processes"')
    bench.example("my_example.py", CODE)
    made = DaskCluster(bench.folder / "dask")
    machine(made, 1)
    yield made
    made.close()


def machine(cluster: DaskCluster, number: int) -> subprocess.Popen[bytes]:
    """Add a machine, which has a cache of its own: in one cache only one block is measured at a time."""
    return cluster.worker(number, cache=cluster.folder / f"cache-{number}", KBENCH_TEST_GUEST=str(GUEST))


def in_second(bench: Bench, does: str, epoch: int = 1) -> None:
    """Have the example do that in the second worker alone, after an epoch, or before it meets the others (0)."""
    bench.example("my_example.py", CODE + IN_SECOND.format(does=does, epoch=epoch))


def measure(bench: Bench, cluster: DaskCluster, *options: str) -> Said:
    """On two machines."""
    machine(cluster, 2)
    return bench.measure("--on", cluster.address, *ASKED, *options)


def measured(bench: Bench) -> list[Measured]:
    (kind,) = store.machines(bench.results / "mine")
    return list(store.read(kind).measured)


def attempts(bench: Bench) -> list[tuple[str, str]]:
    lines = map(json.loads, (bench.results / "mine/attempts.jsonl").read_text().splitlines())
    return [(one["worker"].split(":")[1], one["status"]) for one in lines]


def test_each_worker_is_on_a_machine_of_its_own_and_all_that_they_told_is_kept_as_of_one(
    bench: Bench, cluster: DaskCluster
) -> None:
    bench.backend("keras9/inside", more='workers = "devices"')
    asked = ("--workers", "1,2", "--epochs", "3", "--repeats", "1")
    machine(cluster, 2)
    said = bench.measure(
        "--on",
        cluster.address,
        *ASKED[:1],
        "--name",
        "mine",
        *asked,
        backends="fake,inside",
    )
    assert said.status == 1, "a backend that was named cannot do it"
    assert "workers    1, 2: each on a machine of its own, of 2" in said.err + said.out
    assert sorted(attempts(bench)) == [("//127.0.1.1", "measured"), ("//127.0.1.2", "measured")]
    cells = {one.cell.id: one for one in measured(bench) if one.cell.backend == "keras9/fake"}
    assert len(cells) == 2 and {one.outcome.status for one in cells.values()} == {"ok"}
    for one in cells.values():
        ranks = {about.rank for about in events.told(one.facts)}
        assert ranks == ({0, 1} if one.cell.workers == 2 else set())
    (kind,) = store.machines(bench.results / "mine")
    two = next(one.cell for one in cells.values() if one.cell.workers == 2)
    specs = [json.loads(store.cell_folder(kind, two, number).spec.read_text())["workers"] for number in (0, 1)]
    assert [one["rank"] for one in specs] == [0, 1] and specs[0]["addresses"] == specs[1]["addresses"]
    assert store.cell_folder(kind, two, 1).log.exists()
    inside = {
        one.outcome.reason for one in measured(bench) if one.cell.backend == "keras9/inside" and one.cell.workers > 1
    }
    assert inside == {"its workers are devices of one process, so they are on one machine"}
    with (kind / "summary.csv").open() as file:
        rows = {(row["example"], row["backend"], row["workers"]): row for row in csv.DictReader(file)}
    row = rows["my_example", "keras9/fake", "2"]
    assert row["differs"] == "" and row["threads"] == rows["my_example", "keras9/fake", "1"]["threads"]
    assert 1.9 < float(row["speed_up"]) < 2.0


@pytest.mark.thorough
def test_a_worker_that_dies_is_named_although_the_first_one_only_lost_it(bench: Bench, cluster: DaskCluster) -> None:
    in_second(bench, "os.kill(os.getpid(), signal.SIGKILL)")
    said = measure(bench, cluster, "--workers", "2")
    assert said.status == 1
    (one,) = measured(bench)
    assert one.outcome.status == "failed"
    assert one.outcome.reason.startswith("worker 1: killed by SIGKILL (last event: "), one.outcome.reason


@pytest.mark.thorough
def test_a_worker_that_never_joins_is_a_timeout_in_a_sentence(bench: Bench, cluster: DaskCluster) -> None:
    in_second(bench, "signal.pause()", epoch=0)
    measure(bench, cluster, "--workers", "2", "--timeout", "3")
    (one,) = measured(bench)
    assert (one.outcome.status, one.outcome.reason) == (
        "timeout",
        "not done after 3 s (0 of 2 epochs were done): worker 0 waited for those on other machines, and told nothing "
        "after loaded; give it longer with --timeout",
    )


@pytest.mark.thorough
def test_if_one_of_the_machines_goes_the_whole_block_waits_for_another_one(
    bench: Bench, cluster: DaskCluster, tmp_path: Path
) -> None:
    began, flag = tmp_path / "began", tmp_path / "go on"
    does = f"open({str(began)!r}, 'w').close()\n    while not os.path.exists({str(flag)!r}): time.sleep(0.05)"
    in_second(bench, does)
    usual = ["--backends", "fake", "--examples", "my_example.py", "--profile", "smoke", "--device", "cpu"]
    client = bench.start(*usual, "--on", cluster.address, *ASKED, "--workers", "2")
    second = machine(cluster, 2)
    until(began.exists, "the training")
    second.kill()
    assert client.stderr
    said = "".join(
        iter(client.stderr.readline, "Waiting for 2 machines of one kind: a block takes so many at once.\n")
    )
    flag.touch()
    machine(cluster, 3)
    _, err = client.communicate(timeout=120)
    assert client.returncode == 0, err
    assert attempts(bench)[:2] == [("//127.0.1.2", "lost"), ("//127.0.1.1", "stopped")]
    assert sorted(attempts(bench)[2:]) == [("//127.0.1.1", "measured"), ("//127.0.1.3", "measured")]
    assert "[127.0.1.1] my_example: stopped after" in said
    assert re.search(r" s: worker [01] on 127\.0\.1\.2: its worker is gone", said), said
    (one,) = measured(bench)
    assert one.outcome.status == "ok" and {about.rank for about in events.told(one.facts)} == {0, 1}
