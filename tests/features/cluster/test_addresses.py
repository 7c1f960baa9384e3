"""What --on may be, and what is said where it cannot be used."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from dask_cluster import DaskCluster, python_path, until
from distributed.security import Security
from fake_bench import CHECKOUT, Bench

from kbench import store
from kbench.errors import UserError
from kbench.features.cluster import addresses, fleet

pytestmark = pytest.mark.slow("starts schedulers and workers")

RECIPES = CHECKOUT / "docs" / "cluster"


@pytest.mark.parametrize(
    ("on", "says"),
    [
        ("nonsense", "is not understood: write tcp://HOST:PORT"),
        ("tcp://host", r"an address is tcp://HOST:PORT"),
        ("tcp://host:port", r"an address is tcp://HOST:PORT"),
        ("ssh:", "is not understood"),
        ("ftp://host:1", "is not understood"),
        ("slurm:missing.yaml", "there is no file missing.yaml"),
        ("tcp://127.0.0.1:9", r"no connection \("),
    ],
)
def test_what_is_no_cluster_is_one_sentence(
    bench: Bench, on: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(addresses, "CONNECT_SECONDS", 0.5)
    said = bench.measure("--on", on)
    assert said.status == 2
    assert says.replace("\\", "") in said.err and "Traceback" not in said.err
    assert said.err.rstrip().splitlines()[-1].startswith("kbench: error: ")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--spread"], "--spread and --select are for a cluster: name it with --on."),
        (["--on", "tcp://127.0.0.1:9", "--select", "color=red"], "--select color=red: give gpu=..., cpu=..."),
        (["--on", "tcp://127.0.0.1:9", "--device", "tpu"], "is not a device"),
        (["--on", "tcp://127.0.0.1:9", "--samples", "5"], "fewer than one batch"),
    ],
)
def test_wrong_options_are_found_before_a_connection(bench: Bench, options: list[str], says: str) -> None:
    said = bench.measure(*options)
    assert said.status == 2 and says in said.err
    assert not bench.runs()


def test_a_dry_run_prints_the_blocks(bench: Bench) -> None:
    said = bench.measure("--on", "tcp://127.0.0.1:9", "--repeats", "3", "--dry-run")
    assert said.status == 0 and "Plan: 3 blocks, profile smoke" in said.out
    assert not bench.runs()


def test_a_run_on_this_machine_imports_no_dask() -> None:
    code = "import kbench.commands.run, kbench.commands.resume, kbench.commands.report, sys; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert not {"dask", "distributed"} & {*found.stdout.split()}


def test_without_dask_it_says_what_to_install(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.import_module

    def missing(name: str, *more: Any) -> Any:
        if name == "distributed":
            raise ImportError(name)
        return real(name, *more)

    monkeypatch.setattr(addresses.importlib, "import_module", missing)
    said = bench.measure("--on", "tcp://127.0.0.1:9")
    assert said.status == 2 and "pip install 'kbench[cluster]'" in said.err


@pytest.mark.parametrize(
    ("on", "warned"),
    [
        ("tcp://10.0.0.1:8786", True),
        ("tcp://127.0.0.1:8786", False),
        ("tls://10.0.0.1:8786", False),
        ("ssh:a", False),
    ],
)
def test_an_address_that_is_open_to_anyone_is_warned_about(on: str, warned: bool) -> None:
    assert ("from anyone who can reach it" in addresses.open_to_anyone(on)) is warned


@pytest.mark.parametrize(
    "text", ["", "jobs: 1", "jobs: many\njobqueue: {slurm: {}}", "jobqueue: {pbs: {}}", "a: [", "- 1"]
)
def test_a_batch_systems_file_that_cannot_be_used_is_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match=r"needs Dask-jobqueue's settings|is not readable as YAML"):
        addresses.check(f"slurm:{path}")


def test_the_recipe_for_slurm_makes_jobs_of_one_worker(bench: Bench) -> None:
    addresses.check(f"slurm:{RECIPES / 'slurm.yaml'}")
    count, settings = addresses.jobs("slurm", RECIPES / "slurm.yaml")
    cluster = addresses.batch_cluster("slurm", settings)
    try:
        script = cluster.job_script()
    finally:
        cluster.close()
    assert count == 4
    for line in ("#SBATCH -p gpu", "#SBATCH --cpus-per-task=16", "#SBATCH -t 08:00:00", "#SBATCH --gres=gpu:1"):
        assert line in script.splitlines()
    assert "/shared/kbench/bin/python -m distributed.cli.dask_worker" in script and "--nworkers" not in script
    assert subprocess.run(["bash", "-n"], input=script, text=True).returncode == 0


def test_the_recipe_for_kubernetes_has_one_worker_on_a_node() -> None:
    manifest = yaml.safe_load((RECIPES / "kubernetes.yaml").read_text())
    assert manifest["kind"] == "DaskCluster"
    worker = manifest["spec"]["worker"]["spec"]
    assert worker["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (container,) = worker["containers"]
    assert container["args"][:2] == ["dask", "worker"] and "1" in container["args"]


@pytest.mark.thorough
def test_machines_are_reached_by_ssh(bench: Bench) -> None:
    folder = bench.folder / "ssh"
    folder.mkdir()
    (bench.home / ".ssh").mkdir(mode=0o700)
    bench.patch.setenv("PYTHONPATH", python_path(folder))
    log = (folder / "log").open("wb")
    server = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("ssh_server.py")), str(folder)], stdout=log, stderr=log
    )
    try:
        until((folder / "port").exists, "the server's start")
        until((folder / "port").read_text, "the server's port")
        settings = f"HostName 127.0.0.1\n  Port {(folder / 'port').read_text()}\n  IdentityFile {folder / 'id'}"
        (bench.home / ".ssh/config").write_text(f"Host 127.0.0.1\n  {settings}\n")
        shutil.copy(folder / "known_hosts", bench.home / ".ssh/known_hosts")
        client = bench.start(
            "--backends", "fake", "--examples", "my_example.py", "--profile", "smoke", "--device", "cpu",
            "--on", "ssh:127.0.0.1", "--name", "mine",
        )  # fmt: skip
        _, err = client.communicate(timeout=120)
        assert client.returncode == 0, err
        assert len(store.machines(bench.results / "mine")) == 1
    finally:
        server.kill()
        server.wait()


@pytest.fixture
def certificates(bench: Bench) -> Iterator[list[str]]:
    """Dask's options for TLS; the client finds the same in its environment."""
    made = Security.temporary()
    options = []
    for name, content in (
        ("ca-file", made.tls_ca_file),
        ("cert", made.tls_client_cert),
        ("key", made.tls_client_key),
    ):
        path = bench.folder / f"{name}.pem"
        path.write_text(str(content))
        options += [f"--tls-{name}", str(path)]
        variable = name.replace("-", "_").upper() if name == "ca-file" else f"CLIENT__{name.upper()}"
        bench.patch.setenv(f"DASK_DISTRIBUTED__COMM__TLS__{variable}", str(path))
    yield options


@pytest.mark.thorough
def test_tls_is_taken_as_dask_takes_it(bench: Bench, certificates: list[str]) -> None:
    cluster = DaskCluster(bench.folder / "dask", certificates, protocol="tls")
    try:
        cluster.worker(1)
        client = bench.start(
            "--backends", "fake", "--examples", "my_example.py", "--profile", "smoke", "--device", "cpu",
            "--on", cluster.address, "--name", "mine",
        )  # fmt: skip
        _, err = client.communicate(timeout=120)
        assert client.returncode == 0, err
        assert bench("resume", "mine").status == 0  # nothing is missing, so nothing is connected
    finally:
        cluster.close()


def test_a_worker_cannot_have_the_client_run_its_code(bench: Bench) -> None:
    cluster = DaskCluster(bench.folder / "dask")
    try:
        cluster.worker(1)
        client, _ = addresses.connect(cluster.address, lambda line: None)
        try:
            for function in (_evil_result, _evil_error):
                future = client.submit(function(str(os.getpid()), str(bench.folder / "ran here")))
                until(future.done, "the end of the evil task")
                with pytest.raises(ValueError, match=r"cannot be read|could not run it"):
                    fleet.message(future)
                assert not (bench.folder / "ran here").exists()
        finally:
            client.close()
    finally:
        cluster.close()


def _evil_result(client: str, path: str) -> Callable[[], object]:
    """A function whose result makes a folder where it is unpickled; not importable, so that it is sent as code."""

    def evil() -> object:
        class Evil:
            def __reduce__(self) -> tuple[Any, ...]:
                return eval, (f"__import__('os').getpid() == {client} and __import__('os').mkdir({path!r})",)

        return Evil()

    return evil


def _evil_error(client: str, path: str) -> Callable[[], object]:
    """The same with an error."""

    def evil() -> object:
        class Evil(Exception):
            def __reduce__(self) -> tuple[Any, ...]:
                return eval, (f"__import__('os').getpid() == {client} and __import__('os').mkdir({path!r})",)

        raise Evil

    return evil
