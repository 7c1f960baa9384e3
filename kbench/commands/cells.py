"""Runs a plan's cells with the bar on the screen: what `run` and `parity` have in common."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from kbench import environments, launcher, plan, runner
from kbench.commands import interrupts, preparing, screen
from kbench.plan import Plan
from kbench.runner import Settings
from kbench.values import Data, Environment


def run(
    the_plan: Plan,
    folder: Path,
    data: Mapping[tuple[str, str], Data],
    made: Mapping[str, Environment | str],
    settings: Settings,
    reference: Callable[[], float] | None = None,
    detail: str = screen.USUAL,
) -> bool:
    """Run the cells and record them in the run's `folder`; whether all are acceptable. See `runner.run`."""
    passed = {name: os.environ[name] for name in the_plan.request.pass_env if name in os.environ}
    jobs = [preparing.job(planned, made, data) for planned in the_plan.cells]
    with interrupts.ended_as_interrupted(), screen.Progress(len(jobs), detail) as progress:
        outcomes = runner.run(
            jobs,
            folder,
            settings,
            lambda environment: {**passed, **environments.variables(environment, the_plan.threads)},
            partial(launcher.launch, gpu=settings.device.index),
            progress.listener,
            reference,
        )
    pairs = zip(the_plan.cells, outcomes, strict=True)
    return all(plan.acceptable(the_plan, planned, outcome) for planned, outcome in pairs)
