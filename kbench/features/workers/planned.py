"""What a run's plan says of several workers."""

from __future__ import annotations

from kbench.features.workers.axes import WEAK, scaling
from kbench.planning import request as requests
from kbench.planning.plan import Plan
from kbench.records import axes


def lines(plan: Plan) -> list[str]:
    """How several workers share the batch and the cores, and if there are too few of these."""
    cores = max(requests.cores())
    several = [task for task in plan.to_measure() if task.workers > 1]
    if not several:
        return []
    counts = ", ".join(map(str, sorted({task.workers for task in plan.tasks})))
    shared = "each has a batch" if scaling(several[0]) == WEAK else "they share each batch"
    threads = "threads: each has so many" if plan.request.threads_each else "they divide the cores"
    found = [f"  workers    {counts}: {scaling(several[0])} scaling, {shared}; {threads}"]
    most = max(several, key=lambda task: task.workers * task.threads)
    if most.device == "cpu" and most.workers * most.threads > cores:
        of_each = axes.shown(axes.by_name(axes.THREADS), most.threads)
        found.append(f"             {most.workers} workers with {of_each} each are more than the cores, {cores}")
    return found
