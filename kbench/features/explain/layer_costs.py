"""What each part of a training step costs: its layers, what is between them, the optimizer, and all else.

Each part was timed alone, in rounds (see kbench_explain/inside.py). What cannot be run alone is the difference
between the medians of two things that can, so that the parts of a step add up to it. Layers that alone take longer
than the model does as a whole, because a compiler fuses them, are given its time in proportion.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from statistics import median

from kbench.analysis.times import intervals
from kbench.features.explain.events import Inside, PartOfStep
from kbench.records.values import Interval

BETWEEN = "between the layers"
OPTIMIZER = "optimizer"
LOOP = "loss, metrics, rest of Keras's step"
LOOP_WITH_OPTIMIZER = "loss, optimizer, rest of Keras's step"
INPUT = "input, callbacks, rest of the program"
SHARE = 0.1  # of the time between two rows: a part that makes up less is not named
# Of a step's or a part's time. Processes of one backend differ by 3 to 6 % (standard deviation): two of them by up to
# this much, which the rounds or epochs of one do not show.
TELLING = 0.15
LONGER = 1.25  # times as long a step may take while its parts are timed
LITTLE = 0.05  # of a difference

Rounds = tuple[float, ...]  # seconds of a part, in each round
Layer = tuple[str, int]  # class, and the number of the layer among those of its class


@dataclass(frozen=True)
class Costs:
    """What the parts of a row's step take."""

    names: Mapping[Layer, str]
    layers: Mapping[Layer, Rounds]  # in the model's order
    rest: Mapping[str, Rounds]
    timed: float = 0.0  # seconds of a whole step, when its parts were timed; 0 if that is unknown

    def fits_into(self, step: float, between: float = 0.0) -> bool:
        """Whether a step did not take much longer when its parts were timed than it takes otherwise.

        between: the difference to be explained, in seconds; what is little beside it counts for nothing.
        """
        return self.timed <= LONGER * step + LITTLE * between

    @property
    def step(self) -> float:
        """Seconds of all parts."""
        return sum(map(median, (*self.layers.values(), *self.rest.values())))


@dataclass(frozen=True)
class More:
    """By how many seconds a part takes longer than on another backend."""

    part: str
    seconds: float
    interval: Interval


def of(found: Inside, steps: Sequence[float]) -> Costs | None:
    """The costs, from what a cell found and the seconds of a step as the run measured them (in some of its epochs).

    None where the layers were not timed.
    """
    by_kind: dict[str, list[PartOfStep]] = {}
    for part in found.parts:
        by_kind.setdefault(part.kind, []).append(part)
    whole, fit = by_kind.get("whole"), by_kind.get("fit")
    if not (whole and fit and "layer" in by_kind) or not whole[0].seconds:
        return None
    nothing = median(by_kind["nothing"][0].seconds) if "nothing" in by_kind else 0.0  # what a call costs by itself
    calls: dict[tuple[str, str], list[Rounds]] = {}  # of each layer, by its class and name
    for part in by_kind["layer"]:
        own = tuple(max(0.0, seconds - nothing) for seconds in part.seconds)
        calls.setdefault((part.class_name, part.name), []).append(own)
    names, layers, count = dict[Layer, str](), dict[Layer, Rounds](), Counter[str]()
    for (of_class, name), several in calls.items():
        count[of_class] += 1
        names[of_class, count[of_class]] = name
        layers[of_class, count[of_class]] = reduce(_added, several)
    both = tuple(seconds - nothing for seconds in whole[0].seconds)
    alone, sum_alone = reduce(_added, layers.values()), sum(map(median, layers.values()))
    if (together := max(0.0, median(both))) < sum_alone:  # fused, or side by side
        share = together / sum_alone
        layers = {layer: tuple(share * seconds for seconds in rounds) for layer, rounds in layers.items()}
        rest = {BETWEEN: (0.0,) * len(both)}
    else:
        rest = {BETWEEN: _with_median(together - sum_alone, _less(both, alone))}
    usual = median(fit[0].seconds)
    outside = _with_median(usual - together, _less(fit[0].seconds, both))
    if "optimizer" in by_kind:
        own = tuple(seconds - nothing for seconds in by_kind["optimizer"][0].seconds)
        share = min(1.0, max(0.0, usual - together) / median(own)) if median(own) > 0 else 1.0
        optimizer = tuple(share * seconds for seconds in own)
        left = 0.0 if 0 < share < 1 else usual - together - median(optimizer)
        rest |= {OPTIMIZER: optimizer, LOOP: _with_median(left, _less(outside, optimizer))}
    else:
        rest[LOOP_WITH_OPTIMIZER] = outside
    if steps:
        rest[INPUT] = tuple(seconds - usual for seconds in steps)
    return Costs(names, layers, rest, usual)


def more(one: Costs, other: Costs, between: float) -> list[More]:
    """The parts that make `one` slower than the `other`, most first; `between`: the seconds of a step between them.

    Layers of a class are one part, unless one of them makes up most of it.
    """
    found = []
    for of_class in dict.fromkeys(kind for kind, _ in one.layers):
        keys = [key for key in one.layers if key[0] == of_class]
        by_layer = [_more(_name(one, key), one.layers[key], other.layers.get(key), between) for key in keys]
        own = [more for more in by_layer if more is not None]
        its, others = _sum(one, keys), _sum(other, keys)
        together = None if its is None else _more(f"{len(keys)} {of_class} layers", its, others, between)
        if together is not None and len(keys) > 1 and not any(2 * more.seconds > together.seconds for more in own):
            own = [together]
        found += own
    for name, rounds in one.rest.items():
        if name in other.rest and (known := _more(name, rounds, other.rest[name], between)):
            found.append(known)
    return sorted(found, key=lambda more: -more.seconds)


def _sum(costs: Costs, keys: Sequence[Layer]) -> Rounds | None:
    """What these layers take together; None where there is none of them."""
    known = [costs.layers[key] for key in keys if key in costs.layers]
    return reduce(_added, known) if known else None


def _more(part: str, own: Rounds, others: Rounds | None, between: float) -> More | None:
    """None where it is not shown to take longer by a telling part of what is between the rows."""
    others = others or (0.0,) * len(own)
    interval = intervals.of_difference(own, others)
    seconds = median(own) - median(others)
    if interval is None or interval.low <= max(0.0, SHARE * between) or seconds < TELLING * median(own):
        return None
    return More(part, seconds, interval)


def grouped(several: Sequence[Costs]) -> list[tuple[str, list[float | None]]]:
    """(part, seconds on each of them), layers of a class together."""
    found: dict[str, list[float | None]] = {}
    for of_class in dict.fromkeys(kind for costs in several for kind, _ in costs.layers):
        keys = list(dict.fromkeys(key for costs in several for key in costs.layers if key[0] == of_class))
        first = next(costs for costs in several if keys[0] in costs.layers)
        name = _name(first, keys[0]) if len(keys) == 1 else f"{len(keys)} {of_class} layers"
        found[name] = [
            sum(median(costs.layers[key]) for key in keys if key in costs.layers)
            if any(key in costs.layers for key in keys)
            else None
            for costs in several
        ]
    for part in (BETWEEN, OPTIMIZER, LOOP, LOOP_WITH_OPTIMIZER, INPUT):
        if any(part in costs.rest for costs in several):
            found[part] = [median(costs.rest[part]) if part in costs.rest else None for costs in several]
    return list(found.items())


def _name(costs: Costs, layer: Layer) -> str:
    return f"{costs.names[layer]} ({layer[0]})"


def _added(one: Rounds, other: Rounds) -> Rounds:
    return tuple(own + its for own, its in zip(one, other, strict=False))


def _with_median(value: float, rounds: Rounds) -> Rounds:
    """The rounds, moved so that this is their median."""
    shift = value - median(rounds)
    return tuple(seconds + shift for seconds in rounds)


def _less(one: Rounds, other: Rounds) -> Rounds:
    return tuple(own - its for own, its in zip(one, other, strict=False))
