"""Looks into a training in place of measuring it: what each layer costs of a step, and a trace of some steps.

All parts of a step are timed in turn, round after round in a random order, so that what the machine does meanwhile
meets all of them alike.
"""

import functools
import random
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple

import keras
import numpy as np

from kbench_explain import of_frameworks
from kbench_guest import arrays
from kbench_guest.protocol import in_a_line
from kbench_guest.turns import TurnClient, held_seconds

if TYPE_CHECKING:
    from kbench_guest.frameworks.keras_models import KerasModels
    from kbench_guest.protocol import Events

LEAST_ROUNDS, MOST_ROUNDS = 7, 30
SECONDS = 5.0  # after which no round is begun that is not one of the least
A_TIME = 0.002  # seconds for which a short part is computed again and again in a round
MOST_TIMES = 20
STEPS = 8  # of a fit; its first one is not timed

FIT = "fit"  # the kind of part that a whole step is


def look(
    framework: "KerasModels",
    model: Any,
    batch: Any,
    class_weights: Dict[str, Any],
    spec: Dict[str, Any],
    events: "Events",
    site: str,
) -> None:
    """Do what the spec asks for with a compiled model and its first batch. site: the line of a program, or ''."""
    fit = InsideFit(framework, model, batch, class_weights)
    fit.seconds()  # whatever is made or compiled once
    if "layers" in spec["part"]["what"]:
        with events.phase("layers"):
            _time_layers(framework, model, batch, fit, events, site)
    if "trace" in spec["part"]["what"]:
        from kbench_explain import tracing

        with events.phase("trace"):
            tracing.write(framework, fit.run, fit.steps, spec, events)


class InsideFit:
    """Keras's own fit, for a few steps on the same batch."""

    def __init__(self, framework: "KerasModels", model: Any, batch: Any, class_weights: Dict[str, Any]) -> None:
        self._model = model
        self._at_once = framework.steps_of_a_call(model)
        times = STEPS * self._at_once
        many = functools.partial(arrays.mapped, lambda one: np.concatenate([np.asarray(one)] * times))
        self._given = dict(class_weights, **many(batch.weighted()))
        self._given.update(x=many(batch.model_inputs()), batch_size=len(batch.inputs[0]), shuffle=False, verbose=0)
        if batch.model_targets() is not None:
            self._given["y"] = many(batch.model_targets())
        self._ends = Ends()
        self._given["callbacks"] = [self._ends]

    @property
    def steps(self) -> int:
        """How many it takes."""
        return STEPS * self._at_once

    def run(self) -> None:
        """Train for that many steps."""
        self._model.fit(**self._given)

    def seconds(self) -> float:
        """Seconds of a step: from the end of the first to the end of the epoch, when the last one's work is done."""
        self._ends.first = None
        self.run()
        return (self._ends.last - self._ends.first) / (STEPS - 1) / self._at_once


class Ends(keras.callbacks.Callback):
    """When the first batch and the epoch ended."""

    first: Optional[float] = None
    last = 0.0

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        if self.first is None:
            for value in (logs or {}).values():
                np.ravel(value)  # which waits for the step
            self.first = time.perf_counter()

    on_train_batch_end = on_batch_end

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.last = time.perf_counter()


def _time_layers(
    framework: "KerasModels", model: Any, batch: Any, fit: InsideFit, events: "Events", site: str
) -> None:
    try:
        parts, missing = of_frameworks.parts(framework, model, batch.model_inputs()), []
    except Exception as error:
        events.write("inside", site=site, parts=[], missing=[f"its layers cannot be run alone ({in_a_line(error)})"])
        return
    timers: List[Tuple[str, str, str, Callable[[], float]]] = []
    for kind, name, of_class, make in parts:
        try:
            timers.append((kind, name, of_class, _timer(framework, model, make())))
        except Exception as error:
            missing.append(f"{name or kind} cannot be run alone ({in_a_line(error)})")
    timers.append((FIT, "", "", fit.seconds))
    taken: List[List[float]] = [[] for _ in timers]
    turns, drawn = TurnClient(0), random.Random(0)
    taken_in: List[List[int]] = []  # (round, again) of the turn of each round of parts
    began = time.perf_counter() - held_seconds()
    for number in range(MOST_ROUNDS):
        if number >= LEAST_ROUNDS and time.perf_counter() - held_seconds() - began > SECONDS:
            break
        if turns and turns.is_over():
            turns.yield_turn()
            fit.seconds()  # what comes first after a pause is slower
        taken_in.append(list(turns.turn))
        order = list(range(len(timers)))
        drawn.shuffle(order)
        for place in order:
            taken[place].append(timers[place][3]())
    found = [
        {"kind": kind, "name": name, "class": of_class, "seconds": [float(f"{one:.4g}") for one in seconds]}
        for (kind, name, of_class, _), seconds in zip(timers, taken)
    ]
    events.write("inside", site=site, parts=found, missing=missing, turns=taken_in if turns else [])


def _timer(framework: "KerasModels", model: Any, run: Callable[[], Any]) -> Callable[[], float]:
    """What returns the seconds of a run; compiles it first. Raises what it raises."""

    def several(times: int) -> float:
        start = time.perf_counter()
        for _ in range(times):
            outputs = run()
        framework.wait(model, outputs)
        return (time.perf_counter() - start) / times

    several(1)
    once = min(several(1), several(1))
    return functools.partial(several, max(1, min(MOST_TIMES, int(A_TIME / max(once, 1e-9)))))
