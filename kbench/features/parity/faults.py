"""Known faults of a backend that show in a parity run: they are named, and the row differs all the same."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kbench.analysis.sameness.declared import concerns
from kbench.features.parity.values import Deviation
from kbench.records.backend_keys import Explanation


def reasons(
    deviations: Mapping[str, Deviation],
    known: Sequence[Explanation],
    beyond: Collection[str],
    words: Collection[str],
    carried: bool,
) -> list[str]:
    """The reasons of faults that fit a deviation among those `beyond` the tolerance.

    `words`: the texts in the description of the model's layers; `carried`: whether the program carried its weights
    over by itself.
    """
    found = (
        one.reason
        for one in known
        if one.fault
        and one.setting in ("", *words)
        and any(
            concerns(one, (what,), None, deviations[what].class_name, trained=False, carried=carried, as_shipped=True)
            for what in beyond
        )
    )
    return list(dict.fromkeys(found))
