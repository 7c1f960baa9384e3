"""Known faults of a backend that show in a parity run: they are named, and the row differs all the same."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kbench.backend_keys import Explanation
from kbench.parity.values import Deviation


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
    found = dict[str, None]()
    for fault in (one for one in known if one.fault):
        fits = {
            what for what in fault.what if what in beyond and fault.layer in ("", *parts(deviations[what].class_name))
        }
        if fits and (carried or not fault.carried) and (not fault.setting or fault.setting in words):
            found[fault.reason] = None
    return list(found)


def has(known: Sequence[Explanation], classes: Sequence[str], carried: bool) -> bool:
    """Whether a model with layers of these classes has one of its backend's faults."""
    inside = {"", *(part for name in classes for part in parts(name))}
    there = (one for one in known if one.fault and one.layer in inside and not one.unlike)
    return any("outputs" in one.what and (carried or not one.carried) for one in there)


def parts(class_name: str) -> tuple[str, ...]:
    """What is known of these is known of the class: of "TimeDistributed(LSTM)" what is known of an LSTM."""
    return (class_name, *class_name.rstrip(")").split("("))
