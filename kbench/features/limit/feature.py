"""Says how near a time comes to the machine's limit, by the roofline model: the column `% of limit`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kbench import hooks
from kbench.additions import Column

if TYPE_CHECKING:
    from kbench.planning.plan import Plan


@hooks.fills
def columns() -> Sequence[Column]:
    """`operations_per_sample` and `percent_of_limit`."""
    from kbench.features.limit.columns import COLUMNS

    return COLUMNS


@hooks.fills
def of_machine(plan: Plan, earlier: Mapping[str, Any]) -> Mapping[str, Any]:
    """Its peak rates."""
    from kbench.features.limit import machine

    return machine.measured(plan, earlier)


@hooks.fills
def machine_shown(provenance: Mapping[str, Any]) -> Mapping[str, str]:
    """The same in words."""
    from kbench.features.limit import machine

    return {"limits": machine.in_words(provenance)}
