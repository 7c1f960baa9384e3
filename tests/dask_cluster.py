"""Test helper: a Dask scheduler and workers as real processes, each worker with an address of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from fake_bench import CHECKOUT

SECONDS = 60.0  # in which something has to happen
# What a block measures of its machine takes longer than all else.
PATCHES = """
import os
import sys
if version := os.environ.get("KBENCH_TEST_VERSION"):
    import kbench.version
    kbench.version.__version__ = version
if (apart := os.environ.get("KBENCH_TEST_LOCKS")) and "distributed.cli.dask_worker" in sys.orig_argv:
    from pathlib import Path
    from kbench.base import paths
    paths.cache_folder = lambda: Path(apart)  # of this process, which only has a lock there; not of its blocks
if "kbench.features.cluster.block" in sys.orig_argv:
    from kbench import hooks
    from kbench.cells import runner, turns
    from kbench.machine import host
    turns.DISTURBED = float("inf")  # by the other workers, which are on the same machine here
    runner.share_of_others = lambda before, after: 0.0  # nor these
    host.busy_cores = lambda: 0.0
    hooks.of_machine = lambda plan, earlier: {}
    if guest := os.environ.get("KBENCH_TEST_GUEST"):
        from pathlib import Path
        from kbench.base import paths
        from kbench.planning import tasks  # which knows the true guest's hash
        paths.GUEST = Path(guest)
    if weights := os.environ.get("KBENCH_TEST_WEIGHTS"):
        from kbench.cells import spec
        made = spec.spec
        spec.spec = lambda task, *args, **given: {
            **made(task, *args, **given), "trained": os.path.join(weights, f"{task.workers}.npz")
        }
"""


def until(happened: Callable[[], object], what: str) -> None:
    """Wait until that is true."""
    end = time.monotonic() + SECONDS
    while not happened():
        assert time.monotonic() < end, f"{what} did not happen"
        time.sleep(0.05)


def python_path(folder: Path) -> str:
    """PYTHONPATH for workers: PATCHES, which are written below the folder, and kbench."""
    (folder / "patches").mkdir(parents=True)
    (folder / "patches" / "sitecustomize.py").write_text(PATCHES)
    return os.pathsep.join([str(folder / "patches"), str(CHECKOUT)])


class DaskCluster:
    """A scheduler, to which workers can be added."""

    def __init__(self, folder: Path, options: Sequence[str] = (), protocol: str = "tcp") -> None:
        self.folder = folder
        self._protocol, self._options = protocol, options
        self._processes: list[subprocess.Popen[bytes]] = []
        self._path = python_path(folder)
        log = folder / "scheduler.log"
        where = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--protocol", protocol]
        self.scheduler = self._start(["distributed.cli.dask_scheduler", *where, *options], log, {})
        found = re.compile(rf"Scheduler at:\s+({protocol}://\S+)")
        until(lambda: found.search(log.read_text()), f"the scheduler's start, see {log}")
        self.address = found.search(log.read_text())[1]  # type: ignore[index]

    def worker(
        self, number: int, prefix: Sequence[str] = (), cache: Path | None = None, **variables: str
    ) -> subprocess.Popen[bytes]:
        """Add the machine 127.0.1.`number`, with the session's cache or that one."""
        folder = self.folder / f"worker-{number}"
        folder.mkdir(exist_ok=True)
        log = self.folder / f"worker-{number}.log"
        where = ["--host", f"127.0.1.{number}", "--local-directory", str(folder), "--protocol", self._protocol]
        usual = ["--nthreads", "1", "--no-dashboard", "--no-nanny", *self._options]
        made = self._start(
            ["distributed.cli.dask_worker", self.address, *where, *usual],
            log,
            {**({"KBENCH_CACHE": str(cache)} if cache else {}), **variables},
            prefix,
        )
        until(lambda: "Registered to" in log.read_text(), f"the worker's start, see {log}")
        return made

    def _start(
        self, arguments: Sequence[str], log: Path, variables: dict[str, str], prefix: Sequence[str] = ()
    ) -> subprocess.Popen[bytes]:
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*prefix, sys.executable, "-m", *arguments],
                env={**os.environ, "PYTHONPATH": self._path, **variables},
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
            )
        self._processes.append(process)
        return process

    def close(self) -> None:
        """End all processes."""
        for process in self._processes:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()
