"""Test helper: a process of a backend that runs the cells of many tests, so that a framework is not started for each.

For examples that leave Keras as it was. All else of a cell is as it is for users: its spec, events, outcome and log.
"""

from __future__ import annotations

import json
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from kbench.base import paths
from kbench.cells import orphans
from kbench.cells.launcher import Exit, Running
from kbench.cells.launcher import launch as launch_apart

MOST = 4  # at a time, of each test worker: they hold up to 0.7 GiB each
# Run by the backend's Python with the guest's folder; gets a line for each cell, and answers with its exit status.
PROGRAM = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
from kbench_guest import cell
answers = os.dup(1)
for line in sys.stdin:
    asked = json.loads(line)
    log = os.open(asked["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(log, 1), os.dup2(log, 2), os.close(log)
    os.environ.update(asked["variables"])
    os.chdir(asked["folder"])
    status = cell.main(asked["spec"])
    sys.stdout.flush(), sys.stderr.flush()
    keras = sys.modules.get("keras")
    if hasattr(keras, "config"):
        keras.config.set_dtype_policy("float32")
    if keras is not None and keras.backend.backend() == "tensorflow":
        keras.backend.clear_session()  # each model of TensorFlow 1 would make the next one slower
    os.write(answers, b"%d\\n" % status)
"""


# Settings that a process has for good: a cell with others gets another one.
FOR_GOOD = ("recurrent", "ordered_updates", "corrected_normalization", "policy")


class Warm:
    """The processes of a test worker."""

    def __init__(self) -> None:
        self._processes: dict[str, subprocess.Popen[bytes]] = {}  # the one that was used last comes last

    def launch(self, command: Sequence[str], **how: Any) -> Running[Exit]:
        """As `launcher.launch`. A program, and a cell that takes turns, has a process of its own all the same."""
        spec = json.loads(Path(command[2]).read_text("utf-8"))
        if how.get("turn") or spec["script"] or command[1] != str(paths.GUEST):
            return (yield from launch_apart(command, **how))
        started = time.monotonic()
        variables = {name: value for name, value in how["variables"].items() if name != orphans.MARK}
        process = self._of(command[0], variables, [spec[name] for name in ("kind", *FOR_GOOD)])
        asked = {"spec": command[2], "log": str(how["log"]), "folder": str(how["folder"]), "variables": variables}
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(asked).encode() + b"\n")
        process.stdin.flush()
        answer = _Answer(process.stdout)
        try:
            while answer.waits(0):
                if time.monotonic() - started > how["timeout"]:
                    process.kill()
                how["watch"]()
                yield answer  # type: ignore[misc]
        except BaseException:  # the test is over, and the next one must not get this cell's answer
            process.kill()
            raise
        line = process.stdout.readline()
        return Exit(int(line) if line else process.wait(), time.monotonic() - started)

    def close(self) -> None:
        for process in self._processes.values():
            _end(process)
        self._processes.clear()

    def _of(self, python: str, variables: Mapping[str, str], settings: list[Any]) -> subprocess.Popen[bytes]:
        """The process with these variables, settings, and the same keras.json."""
        home = Path(variables["KERAS_HOME"])
        same = {name: value for name, value in variables.items() if name != "KERAS_HOME"}
        key = json.dumps([python, same, settings, (home / "keras.json").read_text("utf-8")], sort_keys=True)
        process = self._processes.pop(key, None)
        if process is None or process.poll() is not None:
            command = [python, "-W", "ignore", "-c", PROGRAM, str(paths.GUEST)]
            streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            process = subprocess.Popen(command, env=dict(variables), start_new_session=True, **streams)
        self._processes[key] = process
        while len(self._processes) > MOST:
            _end(self._processes.pop(next(iter(self._processes))))
        return process


class _Answer:
    """What `launcher.run_to_completion` waits for, as if it were the cell's process."""

    def __init__(self, stream: BinaryIO | Any) -> None:
        self._stream = stream

    def waits(self, seconds: float) -> bool:
        return not select.select([self._stream], [], [], seconds)[0]

    def wait(self, seconds: float) -> None:
        self.waits(seconds)


def _end(process: subprocess.Popen[bytes]) -> None:
    orphans.signal_group(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
