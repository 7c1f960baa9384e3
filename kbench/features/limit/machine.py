"""The machine's limits: when they are measured, which of them count, and how they are put."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kbench.features.limit import peak_rates, roofline
from kbench.machine.host import caches_kib, value_or
from kbench.planning.plan import Plan
from kbench.records import axes
from kbench.session.record import cell_variables
from kbench.words.text import MISSING, significant


def measured(plan: Plan, earlier: Mapping[str, Any]) -> dict[str, Any]:
    """Its `limits`, if they can be measured. Takes about a second.

    The rates are the largest at the end of any part of a run that was resumed: other work makes them smaller, and
    would change the figures of finished rows.
    """
    largest = roofline.larger({"limits": earlier.get("limits"), "ended": {"limits": _rates(plan)}})
    return {"limits": largest} if largest else {}


def _rates(plan: Plan) -> dict[str, Any] | None:
    # A script's operations are not counted, and these have no times.
    without = plan.request.script or all(task.part is not None for task in plan.tasks)
    if without or all(device.kind != "cpu" for device in plan.devices):
        return None
    threads = max(plan.request.numbers_on(axes.THREADS))
    largest = 1024 * max(value_or(caches_kib, dict[str, int]()).values(), default=0)
    return peak_rates.measure(threads, largest or None, cell_variables(plan.request.passed()))


def in_words(provenance: Mapping[str, Any]) -> str:
    """The limits of a run's machine; empty where they are not known."""
    reported = roofline.larger(provenance)
    machine, size = roofline.limits(reported), reported.get("array_bytes")
    if machine is None:
        return ""
    matrix, copied = reported.get("matrix"), _size(size) if isinstance(size, int) else MISSING
    return (
        f"{significant(machine.operations_per_second / 1e9)} GFLOP/s (float32 product of {matrix} x {matrix} "
        f"matrices), {significant(machine.bytes_per_second / 1e9)} GB/s (copying {copied}), "
        f"with {reported.get('threads')} threads"
    )


def _size(size: int) -> str:
    return f"{size >> 20} MiB" if size >= 1 << 20 and (size >> 10) % 1024 == 0 else f"{size >> 10} KiB"
