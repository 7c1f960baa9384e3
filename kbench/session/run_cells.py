"""Runs a plan's cells with the bar on the screen: what `run` and `parity` have in common."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from kbench.cells import launcher, orphans, runner
from kbench.cells.runner import Settings
from kbench.environments import ensure
from kbench.planning import plan
from kbench.planning.plan import Plan
from kbench.session import prepare, terminal
from kbench.store import RunResults
from kbench.values import Data, Environment


def run(
    the_plan: Plan,
    folder: Path,
    data: Mapping[tuple[str, str], Data],
    made: Mapping[str, Environment | str],
    settings: Settings,
    reference: Callable[[], float | None] | None = None,
    detail: str = terminal.USUAL,
) -> None:
    """Run the cells and record them in the run's `folder`. See `runner.run`.

    Raises UserError where results cannot be written; what was measured until then is kept.
    """
    passed = the_plan.request.passed(os.environ)
    jobs = [prepare.job(planned, made, data) for planned in the_plan.cells]
    mark = orphans.mark(folder)
    with orphans.ended_with_this_process(mark), terminal.Progress(len(jobs), detail) as progress:
        runner.run(
            jobs,
            folder,
            settings,
            lambda environment: {**passed, **ensure.variables(environment, the_plan.threads)},
            partial(launcher.launch, mark=mark, gpu=settings.device.index),
            progress.listener,
            reference,
        )


def acceptable(the_plan: Plan, there: RunResults) -> bool:
    """Whether all cells of the plan came out as they should; see `plan.acceptable`."""
    outcomes = {one.cell.id: one.outcome for one in there.measured}
    return all(plan.acceptable(the_plan, planned, outcomes[planned.cell.id]) for planned in the_plan.cells)
