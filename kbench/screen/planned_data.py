"""What a plan says about data: where those of each example come from, and what to do for real ones."""

from __future__ import annotations

from kbench import datasets
from kbench.base import paths
from kbench.datasets import REAL, SYNTHETIC, Origin, describe
from kbench.planning.plan import ASKED_FOR, Plan

_HEAD, _INDENT = "  data       ", " " * 13


def in_short(plan: Plan) -> str:
    """`, real data` or the like, for the first line; empty for a script or public names, and for random images."""
    if plan.request.script or all(not task.has_model for task in plan.tasks):
        return ""
    file = any(example.data not in datasets.names() and not example.own_data for example in plan.examples)
    used = {plan.dataset(task) for task in plan.tasks}
    sources = sorted(
        {one.source for name, one in plan.data.items() if name in used} | ({REAL} if file else set())
    )  # the user's are real
    said = [f"{' and '.join(sources)} data"] if sources else []
    if any(example.own_data for example in plan.examples):
        said.append("data from load_data()")
    return f", {' and '.join(said)}" if said else ""


def lines(plan: Plan) -> list[str]:
    """Where the data of each example come from."""
    names: dict[Origin, list[str]] = {}
    for task in plan.tasks:
        if (origin := plan.data.get(plan.dataset(task))) and task.example not in names.setdefault(origin, []):
            names[origin].append(task.example)
    parts = [f"{', '.join(of)}: {_of(origin)}" for origin, of in names.items()]
    used = {plan.dataset(task) for task in plan.tasks}
    left_out = {name: one for name, one in plan.data.items() if name not in used}
    parts += [f"{name.partition(ASKED_FOR)[0]}: left out, {_of(one)}" for name, one in left_out.items()]
    if any(origin.missing for origin in names):
        folder = paths.portable(datasets.cache_folder() / "files")
        parts.append(f"For real data, put these files into {folder} or into a folder named by KBENCH_DATA.")
    return [f"{head}{part}" for head, part in zip([_HEAD, *[_INDENT] * len(parts)], parts, strict=False)]


def _of(origin: Origin) -> str:
    if not origin.missing:
        return f"{origin.source} data {origin.text}".rstrip()
    if origin.source == SYNTHETIC:
        return f"synthetic data, because there is no {describe(origin.missing)}"
    return f"real data; missing: {describe(origin.missing)}"
