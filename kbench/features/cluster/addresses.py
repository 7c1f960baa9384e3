"""Connects to the cluster of `--on`: an address, hosts, or a file for a batch system or Kubernetes."""

from __future__ import annotations

import contextlib
import importlib
import ipaddress
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kbench.base import paths
from kbench.errors import UserError
from kbench.store.files import read_bytes

SCHEMES = ("tcp", "tls")  # of Dask's addresses
# Dask-jobqueue's name of a batch system -> its class.
BATCH_SYSTEMS = {
    "slurm": "SLURMCluster",
    "pbs": "PBSCluster",
    "lsf": "LSFCluster",
    "sge": "SGECluster",
    "oar": "OARCluster",
    "moab": "MoabCluster",
    "htcondor": "HTCondorCluster",
}
# Kind of cluster -> the package that it needs in addition to Dask.
PACKAGES = {"ssh": "asyncssh", "kubernetes": "dask-kubernetes", **dict.fromkeys(BATCH_SYSTEMS, "dask-jobqueue")}
FORMS = "tcp://HOST:PORT, tls://HOST:PORT, ssh:HOST,HOST, kubernetes:FILE, or slurm:FILE (pbs, lsf, sge, ...)"
CONNECT_SECONDS = 20.0


def check(on: str) -> None:
    """Raises UserError if `--on` has none of the forms, its file cannot be used, or Dask is not installed."""
    kind, _, rest = on.partition(":")
    _installed("distributed")
    if kind in SCHEMES and rest.startswith("//"):
        try:
            complete = bool(urlsplit(on).hostname and urlsplit(on).port)
        except ValueError:
            complete = False
        if not complete:
            raise UserError(f"--on {on}: an address is {kind}://HOST:PORT.")
    elif kind in PACKAGES and kind != "ssh" and rest:
        if not paths.with_home(rest).is_file():
            raise UserError(f"--on {on}: there is no file {rest}.")
        if kind in BATCH_SYSTEMS:
            jobs(kind, paths.with_home(rest))
    elif kind != "ssh" or not _hosts(rest):
        raise UserError(f"--on {on} is not understood: write {FORMS}.")


def check_packages(on: str) -> None:
    """Raises UserError if what `--on` needs in addition to Dask is not installed."""
    _installed(PACKAGES.get(on.partition(":")[0], "distributed"))


def _installed(package: str) -> None:
    try:
        importlib.import_module(package.replace("-", "_"))
    except ImportError:
        raise UserError(
            f"--on needs {package}, which is not installed: `{sys.executable} -m uv pip install {package}`, or "
            "`pip install 'kbench[cluster]'` where pip installed kbench."
        ) from None


def connect(on: str, say: Callable[[str], None]) -> tuple[Any, Any]:
    """(Dask's client, the cluster that was started for it or None). Raises UserError."""
    from distributed import Client

    for name in [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]:
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what matters of it is said in a sentence
    if warning := open_to_anyone(on):
        say(f"kbench: warning: {warning}")
    # Results are bytes. No other type is accepted, because unpickling can run code of a worker.
    accepted = {"serializers": ["dask", "pickle", "msgpack"], "deserializers": ["dask", "msgpack"]}
    try:
        cluster = _started(on)
        return Client(cluster or on, timeout=CONNECT_SECONDS, set_as_default=False, **accepted), cluster
    except Exception as error:  # whatever a batch system, SSH or Kubernetes raises
        raise UserError(f"--on {on}: no connection ({_one_line(error)}).") from error


def open_to_anyone(on: str) -> str:
    """A sentence about an address that is neither encrypted nor of this machine; else empty."""
    host = urlsplit(on).hostname or ""
    local = host == "localhost"
    with contextlib.suppress(ValueError):  # it is a name
        local = ipaddress.ip_address(host).is_loopback
    if local or urlsplit(on).scheme != "tcp":
        return ""
    return (
        f"{on} takes work from anyone who can reach it, unencrypted; use tls:// with Dask's certificates unless the "
        "network is closed."
    )


def jobs(kind: str, file: Path) -> tuple[int, dict[str, Any]]:
    """The number of jobs, and Dask-jobqueue's settings, in a batch system's file. Raises UserError."""
    import yaml  # which Dask brings

    try:
        found = yaml.safe_load(read_bytes(file).decode())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(f"{file} is not readable as YAML: {_one_line(error)}.") from None
    settings = found.get("jobqueue", {}).get(kind) if isinstance(found, dict) else None
    count = found.get("jobs", 1) if isinstance(found, dict) else 0
    if not isinstance(settings, dict) or not isinstance(count, int) or count < 1:
        raise UserError(
            f"{file} needs Dask-jobqueue's settings in `jobqueue:` `{kind}:`, and may have a number of `jobs:`."
        )
    return count, settings


def batch_cluster(kind: str, settings: dict[str, Any]) -> Any:
    """Dask-jobqueue's cluster, without a job yet. Each job is one worker, since a machine measures one block."""
    module = importlib.import_module("dask_jobqueue")
    return getattr(module, BATCH_SYSTEMS[kind])(**{"processes": 1, **settings})


def _started(on: str) -> Any:
    """The cluster that has to be started first; None for an address."""
    kind, _, rest = on.partition(":")
    if kind == "ssh":
        from distributed import SSHCluster

        hosts = _hosts(rest)
        return SSHCluster([hosts[0], *hosts], worker_options={"nthreads": 1})
    if kind == "kubernetes":
        operator = importlib.import_module("dask_kubernetes.operator")
        return operator.KubeCluster(custom_cluster_spec=str(paths.with_home(rest)))
    if kind in BATCH_SYSTEMS:
        count, settings = jobs(kind, paths.with_home(rest))
        cluster = batch_cluster(kind, settings)
        cluster.scale(jobs=count)
        return cluster
    return None


def _hosts(text: str) -> list[str]:
    return [one.strip() for one in text.split(",") if one.strip()]


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
