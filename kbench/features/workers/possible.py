"""What the workers of a row are, and whether they can train together."""

from __future__ import annotations

from collections.abc import Sequence

from kbench.features.workers.axes import WEAK, scaling
from kbench.features.workers.processes import DIVIDING, MACHINES, PROCESSES
from kbench.planning.tasks import CellTask
from kbench.records.values import TRAIN, Backend, Device


def kind(backend: Backend, apart: bool) -> str:
    """What they are, by the backend's file. apart: each is on a machine of its own."""
    if not apart:
        return backend.workers
    return MACHINES if backend.workers == PROCESSES else DIVIDING if backend.workers_apart else backend.workers


def why_not(row: CellTask, backend: Backend, device: Device, gpus: Sequence[Device], apart: bool) -> str:
    """Why they cannot train together; nothing if they can."""
    there = sum((one.index or 0) >= (device.index or 0) for one in gpus)
    reasons = {
        "only training has several workers": row.task != TRAIN,
        backend.no_workers or f"{backend.name} trains with one worker only": not backend.workers,
        backend.one_machine or "its workers are devices of one process, so they are on one machine": (
            apart and backend.workers != PROCESSES and not backend.workers_apart
        ),
        f"{backend.one_thread_each}: give each one thread with --threads 1": (
            bool(backend.one_thread_each) and device.kind == "cpu" and row.threads > 1
        ),
        f"a batch of {row.batch_size:,} cannot be divided among {row.workers} workers": scaling(row) != WEAK
        and row.batch_size % row.workers > 0,
        f"{row.workers} workers need {row.workers} GPUs from {device.label} on, of which this machine has {there}": (
            device.kind == "gpu" and there < row.workers and not apart
        ),
    }
    return next((text for text, applies in reasons.items() if applies), "")
