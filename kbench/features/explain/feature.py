"""Says why rows differ, with further measurements: layers apart, a program changed, traces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kbench import hooks
from kbench.additions import EndedRun, EventKind, FurtherOptions, Told

if TYPE_CHECKING:
    from kbench.analysis.rows import Analysis
    from kbench.planning.plan import Plan
    from kbench.store import RunResults

BUDGET_OF_PROGRAM = 60.0  # seconds: the question is why, more than how much
_OPTIONS = {
    "--explain": {
        "action": "store_true",
        "help": "find out why backends differ, with extra runs: times of each layer and the optimizer; for a script "
        "also input data, copies to the device, jit_compile, run_eagerly, results",
    },
    "--trace": {
        "action": "store_true",
        "help": "after the measurement, trace 8 steps with each framework's profiler: a file for Perfetto "
        "(ui.perfetto.dev) in the cell's folder, and tables of the slowest operations",
    },
}


@hooks.fills
def events() -> Sequence[EventKind]:
    """Of a training step."""
    from kbench.features.explain.events import Inside, Traced

    return EventKind(Inside), EventKind(Traced)


@hooks.fills
def further_options() -> Mapping[str, FurtherOptions]:
    """`--explain` and `--trace`."""
    title, usual = "why backends differ", ("--explain",)
    of_run = FurtherOptions(title, tuple(_OPTIONS), _OPTIONS, usual=usual, kept=True)
    of_program = FurtherOptions(
        title,
        tuple(_OPTIONS),
        _OPTIONS,
        usual=usual,
        kept=True,
        budget={"explain": BUDGET_OF_PROGRAM},
        says_why="--explain",
    )
    return {"run": of_run, "script": of_program}


@hooks.fills
def after_measuring(run: EndedRun) -> None:
    """Measure what is left of what was asked for."""
    if is_asked(run.plan.request.asked):
        from kbench.features.explain import measuring

        measuring.explain(run)


@hooks.fills
def left_to_measure(plan: Plan, results: RunResults) -> str:
    """Whether something of it is left."""
    if is_asked(plan.request.asked):
        from kbench.features.explain import measuring

        if measuring.is_left(plan, results):
            return "what --explain or --trace asked for is left"
    return ""


@hooks.fills
def told(analysis: Analysis) -> Told:
    """Why rows differ, what steps are made of, and what traces show."""
    from kbench.features.explain import layers, sentences, traces

    inside = sentences.inside(analysis)
    remarks = sentences.sentences(analysis, *inside)
    return Told(remarks=remarks, tables=(*layers.tables(*inside), *traces.tables(analysis)))


def is_asked(asked: Mapping[str, object]) -> bool:
    """Whether a run is to be explained."""
    return bool(asked.get("explain") or asked.get("trace"))
