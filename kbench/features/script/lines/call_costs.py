"""What the calls of one line of a program cost, each from its start to its return: their rows, and sums of them.

A fit has epochs; of all other calls the guest reports means of a few. The first call of a model, or after it was
compiled anew, includes the framework's compilation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median

import msgspec

from kbench.analysis.times.step_times import median_of
from kbench.features.script.events import Fit, InFits
from kbench.records.epochs import Epoch, Turn

SCORES = ("loss", "accuracy", "val_loss", "val_accuracy", "metrics")  # of an epoch
OFTEN = 3  # calls of a fit: from then on it is timed by its calls
COMPILES = 0.25  # of the calls; if more are a model's first, compilation is part of what a call costs


Parts = tuple[tuple[float, ...], tuple[Turn, ...]]  # as an epoch has step_seconds and rounds


@dataclass(frozen=True)
class CallCost:
    """A call of fit, or several alike of another method."""

    seconds: float  # of each
    epochs: tuple[Epoch, ...]  # of the fit; of another method, the event itself
    count: int = 1
    first: bool = False
    round: int | None = None  # in which it began, if the process took turns with others
    again: int = 0  # whether in a turn that was taken again
    cold: bool = False  # the first of its turn
    held: bool = False  # others had their turn meanwhile

    @property
    def compile_seconds(self) -> float | None:
        """How much longer its first step took than its others."""
        steps = [seconds for epoch in self.epochs for seconds in epoch.step_seconds]
        return max(0.0, steps[0] - median(steps[1:])) if self.first and len(steps) > 1 else None

    @property
    def around(self) -> float:
        """Seconds outside its epochs and their validation."""
        return max(0.0, self.seconds - sum(one.seconds + (one.evaluation_seconds or 0.0) for one in self.epochs))


def of_fits(epochs: Sequence[Epoch], told: Sequence[Fit]) -> list[CallCost]:
    """The calls of a line that fits, from its epochs in order and what the guest told of each call."""
    found, done = [], 0
    for one in told:
        its = tuple(epochs[done : done + one.epochs])
        done += one.epochs
        called = {"first": bool(one.first), "cold": bool(one.cold), "held": bool(one.held)}
        found.append(CallCost(one.seconds, its, round=one.round, again=one.again or 0, **called))
    return found


def of_others(epochs: Iterable[Epoch]) -> list[CallCost]:
    """The calls of a line that calls another method."""
    return [CallCost(one.seconds, (one,), max(1, one.calls or 0), bool(one.first)) for one in epochs]


def total(calls: Iterable[CallCost]) -> float:
    """Seconds of all calls."""
    return float(sum(one.seconds * one.count for one in calls))


def in_fits(calls: Iterable[CallCost], unfinished: Iterable[Epoch]) -> InFits:
    """What validation and callbacks took of the calls of a fit. unfinished: epochs of one that has not returned."""
    calls, under_way = list(calls), list(unfinished)
    epochs = [*(epoch for one in calls for epoch in one.epochs), *under_way]
    return InFits(
        total(calls) + sum(one.seconds + (one.evaluation_seconds or 0.0) + _between(one) for one in under_way),
        float(sum(one.evaluation_seconds or 0.0 for one in epochs)),
        float(sum(one.callback_seconds or 0.0 for one in epochs)),
        float(sum(one.seconds for one in epochs)),
        float(sum(map(_between, epochs))),
    )


def _between(epoch: Epoch) -> float:
    """Seconds of callbacks that are no part of the epoch's own."""
    return (epoch.callback_seconds or 0.0) - (epoch.callback_seconds_within or 0.0)


def number(calls: Iterable[CallCost]) -> int:
    """How many calls there were."""
    return sum(one.count for one in calls)


def each_compiles(calls: int, firsts: int) -> bool:
    """Whether compilation is part of what such a call costs, as where each of several models is trained once."""
    return firsts >= OFTEN and firsts > COMPILES * calls


def usual(calls: Sequence[CallCost]) -> Sequence[CallCost]:
    """The calls that show what such a call costs: without those that compile, unless that is usual here."""
    if each_compiles(number(calls), sum(one.first for one in calls)):
        return calls[1:]
    return [one for one in calls[1:] if not one.first]


def as_epochs(calls: Sequence[CallCost], fits: bool) -> list[Epoch]:
    """The calls in the place of epochs, the first one as number 1: their first is not steady.

    Where each of several models compiles, the calls of a model are together one value, their mean, and each has its
    share of what the first one took longer. Scaled, the middle value is the mean of all calls: so rows compare as the
    seconds of all their calls do, and as many usual calls take what all took.
    """
    if not calls:
        return []
    groups: list[list[CallCost]] = []
    if all_compile := each_compiles(number(calls), sum(one.first for one in calls)):
        others = [one for one in calls[1:] if one.first]
        share = max(0.0, calls[0].seconds - total(others) / number(others)) / number(calls)
        for one in (calls[0], *(_longer(one, share, fits) for one in calls[1:])):
            groups += [[]] if one.first or not groups else []
            groups[-1].append(one)
    else:
        groups = [[one] for one in (calls[0], *_warm(usual(calls)))]
    held = any(one.held for one in calls)
    # What is compared of a fit that was held is its steady steps, which say nothing of one that mostly compiles.
    parts = _steps if not fits or (held and not all_compile) else _none if held else _calls
    found = [_epoch(position, group, parts) for position, group in enumerate(groups, 1)]
    found = _with_mean(found, total(calls) / number(calls)) if all_compile else found
    last = calls[-1].epochs[-1] if calls[-1].epochs else found[-1]  # whether its time counts or not
    return [*found[:-1], msgspec.structs.replace(found[-1], **{name: getattr(last, name) for name in SCORES})]


def _with_mean(epochs: Sequence[Epoch], mean: float) -> list[Epoch]:
    """With times after the first that have this as their middle one."""
    usual = median_of(one.seconds for one in epochs[1:])
    factor = mean / usual if usual else 1.0
    scaled = (
        msgspec.structs.replace(
            one, seconds=factor * one.seconds, step_seconds=tuple(factor * each for each in one.step_seconds)
        )
        for one in epochs[1:]
    )
    return [*epochs[:1], *scaled]


def _longer(one: CallCost, seconds: float, fits: bool) -> CallCost:
    """The call with so much more time; of other methods than fit, their means are in the place of steps."""
    epochs = (
        one.epochs
        if fits
        else tuple(
            msgspec.structs.replace(epoch, step_seconds=tuple(each + seconds for each in epoch.step_seconds))
            for epoch in one.epochs
        )
    )
    return replace(one, seconds=one.seconds + seconds, epochs=epochs)


def _warm(calls: Sequence[CallCost]) -> Sequence[CallCost]:
    """Without the first of each turn, where most are not the first."""
    warm = [one for one in calls if not one.cold]
    return warm if 2 * len(warm) >= len(calls) else calls


def _epoch(position: int, calls: Sequence[CallCost], parts: Callable[[Sequence[CallCost]], Parts]) -> Epoch:
    last = calls[-1].epochs[-1] if calls[-1].epochs else Epoch(position, 0.0, 0)
    count = number(calls)
    samples = sum(epoch.samples * one.count for one in calls for epoch in one.epochs)
    counted = [epoch.compilations for one in calls for epoch in one.epochs if epoch.compilations is not None]
    steps, rounds = parts(calls)
    return Epoch(
        epoch=position,
        seconds=calls[0].seconds if position == 1 else total(calls) / count,
        samples=samples // count,
        loss=last.loss,
        accuracy=last.accuracy,
        val_loss=last.val_loss,
        val_accuracy=last.val_accuracy,
        evaluation_seconds=last.evaluation_seconds,
        compilations=sum(counted) if counted else None,
        metrics=last.metrics,
        step_seconds=steps,
        rounds=rounds,
        site=last.site,
        calls=count,
    )


def _none(calls: Sequence[CallCost]) -> Parts:
    return (), ()


def _calls(calls: Sequence[CallCost]) -> Parts:
    """Each call in the place of a step, in the turn that it belongs to."""
    rounds: list[Turn] = []
    for position, one in enumerate(calls):
        if one.round is None:
            return (), ()
        if rounds and rounds[-1] == Turn(one.round, rounds[-1].first, position, one.again):
            rounds[-1] = Turn(one.round, rounds[-1].first, position + 1, one.again)
        elif not one.cold or len(calls) == 1:
            rounds.append(Turn(one.round, position, position + 1, one.again))
    return tuple(one.seconds for one in calls), tuple(rounds) if rounds and rounds[-1].round else ()


def _steps(calls: Sequence[CallCost]) -> Parts:
    """What was timed within the calls: the steps of fits that were held within, or means of other calls."""
    steps: list[float] = []
    rounds: list[Turn] = []
    for epoch in (epoch for one in calls for epoch in one.epochs):
        done = len(steps)
        rounds += [Turn(turn.round, turn.first + done, turn.last + done, turn.again) for turn in epoch.rounds]
        steps += epoch.step_seconds
    return tuple(steps), tuple(rounds)


def figures(calls: Sequence[CallCost]) -> dict[str, float | int | None]:
    """What else is known of the calls: how many compiled and how long, and what they took around their epochs."""
    sample = usual(calls) or calls[:1]
    compiled = [seconds for one in calls if (seconds := one.compile_seconds) is not None]
    epochs = [epoch.seconds for one in calls for epoch in one.epochs[one.first :]]
    return {
        "calls": number(calls),
        "first_calls": sum(one.first for one in calls),
        "each_compiles": each_compiles(number(calls), sum(one.first for one in calls)),
        "call_compile_seconds": median_of(compiled[1:] or compiled),
        "around_seconds": fmean(one.around for one in sample) if sample else None,
        "steady_epoch_seconds": median_of(epochs),
    }
