"""What several processes that train as one tell of themselves."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from guest_modules import guest


def test_communication_is_that_of_an_epoch_though_the_average_falls(tmp_path: Path) -> None:
    told: dict[str, Any] = {}
    with guest(tmp_path, "kbench_workers.processes") as (processes,):
        workers = processes.TorchProcesses(None)
    workers._shared = SimpleNamespace(_get_ddp_logging_data=lambda: told)
    for iteration, nanoseconds, seconds in ((9, 8_000_000, 0.08), (19, 3_000_000, 0.03)):
        told.update(iteration=iteration, avg_backward_comm_time=nanoseconds)
        assert workers.communication_seconds() == seconds
    told.update(iteration=21, avg_backward_comm_time=5_000_000)
    workers.of_epoch(frozenset())  # after two steps on trial
    told.update(iteration=31)
    assert workers.communication_seconds() == 0.05
    told.clear()
    assert workers.communication_seconds() is None
