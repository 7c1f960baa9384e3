"""TensorBoard event files, by TensorBoard's own writer: a folder per cell, a scalar per metric, a step per epoch."""

from __future__ import annotations

from datetime import datetime
from itertools import accumulate
from pathlib import Path
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

from kbench.analysis.rows import Analysis
from kbench.errors import UserError
from kbench.records.values import Measured

# TensorBoard's own file names include the machine's name; results are made to be published.
_FILE = "events.out.tfevents.0.kbench"
_METRICS = ("loss", "accuracy", "val_loss", "val_accuracy", "seconds")


def write(run: Analysis, out: Path) -> list[str]:
    """Write the event files below `out`; returns the folder for `tensorboard --logdir`. Raises UserError."""
    folder = out / "tensorboard"
    try:
        started = datetime.fromisoformat(run.run.created).timestamp()
    except ValueError:
        started = 0.0
    try:
        for one in run.run.measured:
            if one.epochs:
                _write_cell(one, folder / one.cell.id, started)
    except OSError as error:
        raise UserError(f"Cannot write {folder}: {error.strerror or error}.") from error
    return [str(folder)]


def _write_cell(one: Measured, folder: Path, started: float) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _FILE).open("wb") as file:
        writer: Any = RecordWriter(file)
        writer.write(Event(wall_time=started, file_version="brain.Event:2").SerializeToString())
        passed = accumulate(epoch.seconds for epoch in one.epochs)
        for epoch, seconds in zip(one.epochs, passed, strict=True):
            known = {f"epoch/{name}": getattr(epoch, name) for name in _METRICS}
            values = [Summary.Value(tag=tag, simple_value=value) for tag, value in known.items() if value is not None]
            event = Event(wall_time=started + seconds, step=epoch.epoch, summary=Summary(value=values))
            writer.write(event.SerializeToString())
