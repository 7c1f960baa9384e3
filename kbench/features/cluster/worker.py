"""What runs in a Dask worker: it describes its machine, and has blocks measured by a process of their own."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO

import filelock
from distributed import Status, get_worker

from kbench.base import paths
from kbench.features.cluster.block import ORDER
from kbench.features.cluster.machines import this_machine
from kbench.features.cluster.messages import Result, decode, encode
from kbench.machine import devices, provenance
from kbench.words.text import plain

LOOK_SECONDS = 0.5  # between two looks whether the client still wants the block
END_SECONDS = 60.0  # in which a stopped block has to end its cells
MOST_LINES = 5  # of the output, for the reason of a block that ended without a result


def describe() -> bytes:
    """This machine, as a message."""
    facts = provenance.read(devices.gpus(), "")
    found = {"processor": provenance.processor(facts), "cores": provenance.cores(facts)}
    return encode(replace(this_machine(), **found, gpus=provenance.gpu_names(facts)))


def measure(order: bytes, topic: str) -> bytes:
    """Measure the block of an order; returns the result as a message. Its lines of progress go to the topic."""
    worker = get_worker()
    key = worker.get_current_task()

    def wanted() -> bool:
        """False if the client is gone or has cancelled the block, or the scheduler is gone."""
        task = worker.state.tasks.get(key)
        return worker.status in (Status.running, Status.paused) and task is not None and task.state != "cancelled"

    def say(line: str) -> None:
        worker.log_event(topic, {"worker": worker.address, "line": line})

    with contextlib.ExitStack() as stack:
        try:
            if not stack.enter_context(_alone(wanted)):
                return encode(Result(status="stopped"))
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="kbench-", dir=worker.local_directory))
            return _measure(Path(folder), order, wanted, say)
        except OSError as error:
            return encode(Result(status="failed", reason=f"{error.strerror or error}: {error.filename}"))


@contextlib.contextmanager
def _alone(wanted: Callable[[], bool]) -> Iterator[bool]:
    """Wait until no other block is measured on this machine; gives False if this one is not wanted any more."""
    lock = filelock.FileLock(paths.cache_folder() / "block.lock")
    Path(lock.lock_file).parent.mkdir(parents=True, exist_ok=True)
    while wanted():
        with contextlib.suppress(filelock.Timeout), lock.acquire(timeout=LOOK_SECONDS):
            yield True
            return
    yield False


def _measure(folder: Path, order: bytes, wanted: Callable[[], bool], say: Callable[[str], None]) -> bytes:
    (folder / ORDER).write_bytes(order)
    lines: list[str] = []
    answer: list[bytes] = []
    with subprocess.Popen(
        [sys.executable, "-m", "kbench.features.cluster.block", str(folder)],
        cwd=paths.PACKAGE.parent,  # so that it can import kbench
        stdin=subprocess.PIPE,  # closed with this process, which ends the other one
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout and process.stderr
        readers = [
            threading.Thread(target=_listen, args=(process.stderr, lines, say)),
            threading.Thread(target=lambda out: answer.append(out.read()), args=(process.stdout,)),
        ]
        for reader in readers:
            reader.start()
        while process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(LOOK_SECONDS)
                break
            if not wanted():
                process.terminate()
                try:
                    process.wait(END_SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()  # the watchdog of its cells ends them
        for reader in readers:
            reader.join()
    with contextlib.suppress(ValueError):
        decode(answer[0], Result)
        return answer[0]
    said = " / ".join(lines) or "it printed nothing"
    return encode(Result(status="failed", reason=f"it ended with exit status {process.returncode}: {said}"))


def _listen(output: IO[bytes], lines: list[str], say: Callable[[str], None]) -> None:
    """Pass on each line, and keep the last ones."""
    for line in output:
        if text := plain(line.decode("utf-8", "replace")).strip():
            lines.append(text)
            del lines[:-MOST_LINES]
            say(text)
