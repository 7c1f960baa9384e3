"""Runs a plan's cells with the bar on the screen: what `run` and `parity` have in common."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kbench.cells import launcher, orphans, runner
from kbench.cells.spec import Here
from kbench.planning import plan
from kbench.planning.plan import Plan
from kbench.session import terminal
from kbench.store import RunResults


def run(
    the_plan: Plan,
    here: Here,
    reference: Callable[[], float | None] | None = None,
    detail: str = terminal.USUAL,
) -> None:
    """Run the cells and record them in the run's folder. See `runner.run`.

    Raises UserError where results cannot be written; what was measured until then is kept.
    """
    mark = orphans.mark(here.run)
    start = partial(launcher.launch, mark=mark, gpu=here.device.index)
    with orphans.ended_with_this_process(mark), terminal.Progress(len(the_plan.tasks), detail) as progress:
        runner.run(the_plan.tasks, the_plan.verdicts, here, start, progress.listener, reference)


def acceptable(the_plan: Plan, there: RunResults) -> bool:
    """Whether all cells of the plan came out as they should; see `plan.acceptable`."""
    outcomes = {one.cell.id: one.outcome for one in there.measured}
    return all(plan.acceptable(the_plan, task, outcomes[task.id]) for task in the_plan.tasks)
