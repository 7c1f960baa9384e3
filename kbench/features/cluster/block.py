"""The process that measures a block on a worker's machine: `python -m kbench.features.cluster.block FOLDER`.

It reads FOLDER/order, measures as `run` does on one machine, and writes the result to stdout and all else to stderr.
It ends with the process that started it, to which its stdin belongs.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import signal
import sys
import threading
from pathlib import Path

import msgspec

from kbench.analysis.rows import summarised
from kbench.base import paths
from kbench.errors import UserError
from kbench.features.cluster.messages import BlockOrder, Result, decode, encode
from kbench.features.coverage.cover import cover
from kbench.features.coverage.progress import CoverageScreen
from kbench.machine import devices
from kbench.planning.request import Request
from kbench.records import axes
from kbench.screen import terminal
from kbench.screen.listener import Screen
from kbench.session import interrupts
from kbench.session.measure import measure

ORDER, FILES = "order", "files"
EXAMPLES, BACKENDS = "examples", "backends"  # folders of an order's files
# What of a run's folder is sent back; everything else is derived from it.
KEPT = ("run.json", "locks/*", "cells/*/*.json", "cells/*/*.jsonl", "cells/*/*.txt", "cells/*/keras_home/keras.json")


def main(folder: Path) -> None:
    """Measure the order in the folder."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    answer = os.dup(1)
    os.dup2(2, 1)
    try:
        with interrupts.ended_as_interrupted():
            result = _measure(decode((folder / ORDER).read_bytes(), BlockOrder), folder)
    except KeyboardInterrupt:
        result = Result(status="stopped", reason="it was stopped")
    except (UserError, OSError) as error:
        result = Result(status="failed", reason=str(error))
    with os.fdopen(answer, "wb") as file:  # not a file on disk, which may be full
        file.write(encode(result))


def _end_with_parent() -> None:
    os.read(sys.stdin.fileno(), 1)  # returns when the other end is closed, even by SIGKILL
    os.kill(os.getpid(), signal.SIGTERM)


def _measure(order: BlockOrder, folder: Path) -> Result:
    _write_files(order, folder)
    results, command = folder / "results", shlex.join(order.argv)
    if tried := order.tried:
        asked = _request(order)
        there = cover(
            asked,
            results,
            CoverageScreen(),
            only=tried.only,
            quick=tried.quick,
            elsewhere=True,
            name="block",
            command=command,
        )
    else:
        asked = _request(order, examples=[str(_example(order, folder))], **_data_folder(order))
        there = measure(
            asked,
            results,
            Screen(),
            name="block",
            command=command,
            only=lambda task: task.repeat == order.block.repeat,
            place=order.place,
        )
        if order.place is None or order.place.rank == 0:
            terminal.print_example(summarised(there))
    run = there.folder
    files = {one.relative_to(run).as_posix(): one for pattern in KEPT for one in run.glob(pattern)}
    return Result(
        status="measured",
        files={name: one.read_bytes() for name, one in files.items() if one.is_file() and not one.is_symlink()},
    )


def _request(order: BlockOrder, **more: object) -> Request:
    """What is asked of this machine, on its devices."""
    on = [devices.choose(one, devices.gpus()).label for one in order.device.split(",")]
    values = {**order.request["values"], axes.DEVICE: on}
    return msgspec.convert({**order.request, **more, "values": values}, Request)


def _write_files(order: BlockOrder, folder: Path) -> None:
    for name, content in order.files.items():
        path = folder / FILES / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    if (folder / FILES / BACKENDS).is_dir():
        os.environ["KBENCH_BACKENDS"] = str(folder / FILES / BACKENDS)


def _example(order: BlockOrder, folder: Path) -> Path:
    """The example's file: kbench's own, the user's if it is here, too, or the sent one. Raises UserError."""
    own = paths.project_folder("examples_models") / order.path
    for path in (own, paths.with_home(order.path), folder / FILES / EXAMPLES / f"{order.block.example}.py"):
        if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == order.sha256:
            return path
    raise UserError(
        f"the example {order.block.example} has other contents here: use the same kbench on every machine"
    )


def _data_folder(order: BlockOrder) -> dict[str, str | None]:
    """This machine's folder with the published files: the client's if it is here, too, or else the worker's own."""
    asked = order.request.get("data_dir")
    if isinstance(asked, str) and paths.with_home(asked).is_dir():
        return {}
    return {"data_dir": os.environ.get("KBENCH_DATA")}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
