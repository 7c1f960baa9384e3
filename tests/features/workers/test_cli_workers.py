"""Rows of several workers: asked for, proved, compared with one worker and shown."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from fake_bench import EXAMPLE, Bench, refused

from kbench import store
from kbench.base import paths
from kbench.cells import launcher
from kbench.errors import UserError
from kbench.planning import request as requests
from kbench.session import measure as measuring

GUEST = Path(__file__).with_name("workers_guest.py")
# The stub runs the whole example, whose imports it has not got: they are left out.
CODE = EXAMPLE.replace("from keras.layers import Dense, Flatten\nfrom keras.models import Sequential\n", "")


@pytest.fixture
def workers(bench: Bench) -> Bench:
    bench.patch.setattr(paths, "GUEST", GUEST)
    bench.patch.setattr(launcher, "POLL_SECONDS", 0.02)
    bench.patch.setattr(requests, "cores", lambda: (2,))
    bench.backend(more='workers = "processes"')
    bench.backend("keras9/alone", more='no_workers = "its engine has one device"')
    bench.example("my_example.py", CODE)
    return bench


def measure(bench: Bench, *options: str, backends: str = "fake") -> str:
    said = bench.measure("--epochs", "5", "--repeats", "2", "--verbose", *options, backends=backends)
    assert said.status in (0, 1), said
    return said.out


def rows(bench: Bench) -> list[dict[str, str]]:
    with (store.latest(bench.results) / "summary.csv").open() as file:
        return list(csv.DictReader(file))


def test_the_speed_up_has_an_interval_and_stands_on_the_screen_and_in_the_files(workers: Bench) -> None:
    workers.draw()
    said = measure(workers, "--workers", "1,2", backends="fake,alone")
    found = {(row["backend"], row["workers"]): row for row in rows(workers)}
    two = found["keras9/fake", "2"]
    assert 1.9 < float(two["speed_up"]) < 2.0 and 0.95 < float(two["efficiency"]) < 1.0
    assert float(two["speed_up_low"]) < float(two["speed_up"]) < float(two["speed_up_high"])
    assert (two["communication_seconds"], two["worker_memory_mib"]) == ("0.25", "101.0")
    assert (two["threads"], found["keras9/fake", "1"]["threads"]) == ("1", "2"), "they divide the cores"
    assert found["keras9/fake", "1"]["speed_up"] == ""
    alone = found["keras9/alone", "2"]
    assert (alone["status"], alone["reason"]) == ("unsupported", "its engine has one device")
    assert "workers    1, 2: strong scaling, they share each batch; they divide the cores" in said
    words = " ".join(said.split())
    assert "2 workers: 1.99 times (" in words and ") the samples/s of one on keras9/fake." in words
    assert "speed-up" in said and "efficiency" in said and "Strong scaling: all workers share each batch." in words
    assert "of one worker of the same backend, which has all cores that several divide." in words
    run = store.latest(workers.results)
    assert (run / "plots" / "my_example-by-workers.png").is_file()
    assert not (run / "plots" / "my_example-by-threads.png").exists()


def test_with_threads_each_worker_has_as_many_as_the_single_one(workers: Bench) -> None:
    said = measure(workers, "--workers", "1,2", "--threads", "1,2")
    found = {(row["workers"], row["threads"]): row["speed_up"] for row in rows(workers)}
    assert {key: bool(value) for key, value in found.items()} == {
        ("1", "1"): False,
        ("1", "2"): False,
        ("2", "1"): True,
        ("2", "2"): True,
    }
    words = " ".join(said.split())
    assert "2 workers with 1 thread each: 1.99 times (" in words
    assert "of one worker of the same backend, with as many threads as each of several." in words
    assert "2 workers with 2 threads each are more than the cores, 2" in words


def test_with_weak_scaling_each_worker_has_the_batch_and_rows_are_other_work(workers: Bench) -> None:
    said = measure(workers, "--workers", "1,2", "--scaling", "weak")
    assert [row["batch_size"] for row in rows(workers)] == ["8", "16"]
    assert "batch 8 of each worker" in said and "Weak scaling: each worker has a batch" in said
    refused(workers.measure("--workers", "2", "--scaling", "weak,strong"), "--scaling: a run has one")


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("mine = every if rank == 0 else every[:0]", "one of its 2 workers did all the work of epoch 1"),
        ("mine = every[rank:10]", "its workers together trained on"),
        ("mine = every[:16] if spec['epochs'] else every", "its workers did not read each sample of epoch 1 once"),
        (
            "tell = lambda event, tell=tell, **told: None if rank and event == 'worker' else tell(event, **told)",
            "1 of its 2 workers told what they did in epoch 1",
        ),
    ],
)
def test_a_row_whose_workers_did_something_else_differs_with_one_sentence(workers: Bench, how: str, why: str) -> None:
    quiet = 'if "workers" in spec:\n    ' + how + "\n"
    workers.example("my_example.py", CODE + quiet)
    words = " ".join(measure(workers, "--workers", "1,2").split())
    differs = {row["workers"]: row["differs"] for row in rows(workers)}
    assert differs["1"] == "" and differs["2"].startswith(why)
    assert "ok, differs" in words and why in words


def test_what_was_not_asked_for_is_as_before(workers: Bench) -> None:
    said = measure(workers)
    assert "worker" not in said.replace("my_example", "")
    assert [row["workers"] for row in rows(workers)] == ["1"]
    refused(workers.measure("--workers", "0"), "--workers", "'0' is not a whole number from 1 to 64")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--workers", "2"), "is for a cluster: name it with --on."),
        (("--on", "tcp://127.0.0.1:1"), "is for several workers: ask for them with --workers, such as 1,2."),
        (("--on", "tcp://127.0.0.1:1", "--workers", "1"), "is for several workers"),
        (("--on", "tcp://127.0.0.1:1", "--workers", "2", "--budget", "1m"), "leave out --precision and --budget."),
        (
            ("--on", "tcp://127.0.0.1:1", "--workers", "2", "--precision", "0.1"),
            "leave out --precision and --budget.",
        ),
    ],
)
def test_a_worker_per_machine_is_for_several_on_a_cluster(bench: Bench, options: tuple[str, ...], words: str) -> None:
    refused(bench.measure("--worker-per-machine", *options), "--worker-per-machine", words)


def test_a_plan_with_a_worker_per_machine_says_how_many_a_block_takes(bench: Bench) -> None:
    asked = ("--on", "tcp://127.0.0.1:1", "--workers", "1,4", "--dry-run")
    assert "workers    1, 4: all of a cell on one machine" in bench.measure(*asked).out
    assert "workers    1, 4: each on a machine of its own, of 4" in bench.measure(*asked, "--worker-per-machine").out


def test_kbench_measure_says_that_a_worker_per_machine_needs_a_cluster(bench: Bench) -> None:
    asked = requests.Request(
        backends=("keras9/fake",), examples=("my_example.py",), values={"workers": (2,)}, profile="smoke",
        worker_per_machine=True,
    )  # fmt: skip
    with pytest.raises(UserError, match="A worker per machine needs a cluster: name it with --on"):
        measuring.measure(asked, bench.results)
