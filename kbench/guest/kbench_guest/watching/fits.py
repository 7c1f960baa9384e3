"""Times a call of fit by its epochs, from callbacks that stand before and after the program's own."""

import time
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

import keras
import numpy as np

from kbench_guest.callback_time import BatchHooks
from kbench_guest.turns import Call, leave_out
from kbench_guest.watching import about, overhead
from kbench_guest.watching.returned import numbers

if TYPE_CHECKING:
    from kbench_guest.turns import TurnClient
    from kbench_guest.watching.calls import Calls, CallSite


class ObservedFit:
    """One call of fit. first, last: callbacks that Keras calls before and after the program's own.

    steps: of an epoch, 0 if that is not known. callbacks: the program's own.
    """

    def __init__(
        self, calls: "Calls", site: "CallSite", model: Any, facts: Dict[str, Any], steps: int, callbacks: List[Any]
    ) -> None:
        self._calls = calls
        self._site = site
        self._model = model
        self._facts = facts
        self._called, self._call = time.perf_counter(), Call()
        # A model that was compiled anew is compiled by the framework, too.
        self._first = model not in site.models or getattr(model, "train_function", True) is None
        self._steps = steps
        self._at_once = calls.framework.steps_of_a_call(model)
        self._executions = -(-steps // self._at_once)  # of an epoch; 0 if that is not known
        self._start: Optional[float] = None
        self._end: Optional[float] = None
        self._ended: Optional[float] = None  # when all of the last epoch had
        self._done = 0
        self._validated: Optional[float] = None  # when the last validation had ended
        self._beginning: Optional[float] = None  # when the program's callbacks were first called of this epoch
        self._in_callbacks = 0.0  # seconds of this epoch before its batches
        self._around_batches = BatchHooks(callbacks)
        self._looks = not site.epochs  # at some weights, whether training changes them
        self._before: Optional[List[Any]] = None  # these before the first step
        site.models.add(model)
        callback = keras.callbacks.LambdaCallback
        # The program's callbacks are no part of a validation.
        self.first = callback(on_epoch_begin=self._callbacks_begin, on_epoch_end=self._validation_ends)
        self.last = callback(
            on_epoch_begin=lambda epoch, logs=None: calls.guarded(self._epoch_begins),
            on_epoch_end=lambda epoch, logs=None: calls.guarded(self._epoch_ends, logs or {}),
        )

    def _validation_ends(self, epoch: int, logs: Any = None) -> None:
        self._validated = time.perf_counter()

    def _callbacks_begin(self, epoch: int, logs: Any = None) -> None:
        self._beginning = time.perf_counter()

    def _epoch_begins(self) -> None:
        """Some backends compile in fit before the epoch begins: the very first epoch counts from the call."""
        now = time.perf_counter()
        self._in_callbacks = now - (self._beginning or now)
        with overhead.excluded_from_time():
            if self._done == 0 and not self._site.described and about.has_all_weights(self._model):
                self._calls.describe(self._site, self._model, self._facts)
            if self._done == 0 and self._looks and about.has_all_weights(self._model):
                self._before = self._calls.some_weights(self._model)
        after = time.perf_counter()
        self._calls.clock(self._model).expected = self._executions
        self._compiled = self._calls.framework.compilations()
        self._start = self._called + after - now if self._done == 0 and self._first else after
        self._end = None

    def training_ends(self) -> None:
        """The last step of this epoch was done, and validation begins."""
        if self._end is None and self._start is not None:
            self._end = self._calls.clock(self._model).last_end()
            if self._end is None:
                self._calls.framework.wait(self._model)
                self._end = time.perf_counter()

    def _epoch_ends(self, logs: Dict[str, Any]) -> None:
        ended = time.perf_counter()
        now = self._validated or ended
        if self._start is None:
            return
        validated = self._end is not None
        self.training_ends()
        clock = self._calls.clock(self._model)
        self._executions = clock.begun
        if not clock.hooked:
            self._calls.sees_no_steps()
        steps = clock.begun * self._at_once
        if self._at_once > 1 and 0 < self._steps < steps:  # the last execution has fewer
            steps = self._steps
        timed = overhead.in_steps(clock.lap(self._start, self._end), self._at_once, steps)
        self._done += 1
        with overhead.excluded_from_time():
            self._calls.describe(self._site, self._model, self._facts, trained=True)
        compiled = self._calls.framework.compilations()
        within = self._around_batches.taken()
        self._calls.write_epoch(
            self._site,
            compilations=None if compiled is None else compiled - self._compiled,
            samples=about.samples(self._facts, steps),
            first=int(self._first and self._done == 1),
            evaluation_seconds=max(0.0, now - self._end) if validated else None,
            callback_seconds=self._in_callbacks + within + ended - now,
            callback_seconds_within=within,
            **dict(timed, **as_scores(numbers(logs))),
        )
        self._start, self._ended = None, time.perf_counter()
        most = self._calls.program["max_epochs"]
        if most and self._done >= most:
            self._model.stop_training = True

    def returns(self) -> None:
        """It returns: what being held has added to that is left out."""
        self._around_batches.put_back()
        if self._ended is not None:
            leave_out(self._call.added(time.perf_counter() - self._ended))

    def changed_nothing(self) -> bool:
        """Whether its steps left the weights as they were; False if that is not known."""
        if not self._before or not self._done:
            return False
        pairs = zip(self._before, self._calls.some_weights(self._model))
        return all(np.array_equal(one, two) for one, two in pairs)

    def write_call(self, seconds: float, cold: bool, turn: Tuple[int, int], turns: "TurnClient") -> None:
        """Write what the call took in all. cold: whether it was the first of its turn; turn: that it began in."""
        held = int(turns.turn != turn)
        about_turns = {"cold": int(cold), "round": turn[0], "again": turn[1], "held": held} if turns else {}
        first = int(self._first)
        self._calls.write_fit(self._site, seconds=seconds, epochs=self._done, first=first, **about_turns)


def as_scores(found: Dict[str, float]) -> Dict[str, Any]:
    """Fields of the event `epoch` for scores by their names."""
    if not found:
        return {}
    return {
        "loss": found.get("loss"),
        "accuracy": found.get("accuracy", found.get("acc")),
        "val_loss": found.get("val_loss"),
        "val_accuracy": found.get("val_accuracy", found.get("val_acc")),
        "metrics": found,
    }
