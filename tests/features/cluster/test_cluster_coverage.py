"""Keras's public names, tried on the machines of a real Dask cluster: a block is a generation of Keras."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from dask_cluster import DaskCluster
from fake_bench import Bench

from kbench import store
from kbench.features.coverage import results

pytestmark = pytest.mark.slow("starts a scheduler and workers")
BACKENDS = "fake,keras9/second,keras8/old"
ASKED = ("coverage", "--backends", BACKENDS, "--only", "losses.*", "--quick", "--device", "cpu")


@pytest.fixture
def cluster(bench: Bench) -> Iterator[DaskCluster]:
    bench.backend("keras9/second", more='[variables]\nFAKE_KERAS_SQUARES_ARE_OFF_BY = "0.5"\n')
    bench.backend("keras8/old")
    made = DaskCluster(bench.folder / "dask")
    for number in (1, 2):
        made.worker(number, cache=made.folder / f"cache-{number}")
    yield made
    made.close()


def found(run: Path) -> list[tuple[str, str, str]]:
    return [(one.name, one.backend, one.state) for one in results.names(store.read(run))]


@pytest.mark.thorough
def test_machines_find_what_one_machine_finds(bench: Bench, cluster: DaskCluster) -> None:
    said = bench(*ASKED, "--on", cluster.address, "--name", "far", "--fail-on", "differs")
    assert said.status == 1, said.err
    assert "Plan: 2 blocks\n" in said.out and "keras9, keras8: all backends of a generation" in said.out
    assert "keras9/second: losses.mean_squared_error() differs from keras9/fake" in said.out
    assert bench(*ASKED, "--name", "here").status == 0
    (kind,) = store.machines(bench.results / "far")
    here = found(bench.results / "here")
    assert found(kind) == here and len(here) >= 6
    assert (kind / "coverage.html").is_file()
    environments = store.read(kind).provenance["environments"]
    assert {*environments} == {"keras9/fake", "keras9/second", "keras8/old"}
    said = bench("report", "far")
    assert said.status == 0 and "keras8/old: " in said.out
    assert "coverage: " in bench("list", "runs").out
    assert bench("resume", "far").status == 0  # nothing is left
    said = bench("resume", "far", "--retry", "failed")
    assert said.status == 2 and "resumed by its blocks" in said.err
    assert bench("compare", f"far/machines/{kind.name}", "here").status == 0


@pytest.mark.thorough
def test_a_name_that_one_generation_lacks_is_tried_on_the_other(bench: Bench, cluster: DaskCluster) -> None:
    bench.backend("keras8/old", more='[variables]\nFAKE_KERAS_HINGE = "absent"\n')
    options = ("--quick", "--device", "cpu", "--on", cluster.address)
    said = bench("coverage", "--backends", BACKENDS, *options, "--only", "losses.hinge", "--name", "one")
    assert said.status == 0, said
    (kind,) = store.machines(bench.results / "one")
    assert ("losses.hinge", "keras9/second", "same") in found(kind)
    bench("coverage", "--backends", BACKENDS, *options[:3], "--only", "losses.hinge", "--name", "here")
    assert found(kind) == found(bench.results / "here")
    said = bench("coverage", "--backends", BACKENDS, *options, "--only", "losses.hinges", "--name", "none")
    assert said.status == 2, said
    assert said.err.splitlines()[-1].startswith(
        "kbench: error: --only: Keras has no public name like 'losses.hinges'"
    )
    assert not (bench.results / "none").exists()


def test_wrong_requests_are_one_sentence(bench: Bench) -> None:
    for options, words in (
        (("--select", "gpu=H100"), "--select is for a cluster: name it with --on."),
        (("--on", "nowhere"), "--on"),
        (("--on", "tcp://127.0.0.1:1", "--select", "disk=1"), "--select disk=1: give "),
    ):
        said = bench(*ASKED, *options)
        assert said.status == 2 and words in said.err and len(said.err.splitlines()) == 1, said.err
