"""Times a call of fit by its epochs, from callbacks that stand before and after the program's own."""

import functools
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple

import keras
import numpy as np

from kbench_guest.callback_time import BatchHooks
from kbench_guest.clock import StepClock
from kbench_guest.turns import Call, leave_out
from kbench_script.watching import about, changes, overhead
from kbench_script.watching.recorder import SHORT_FIT, as_scores
from kbench_script.watching.returned import numbers
from kbench_script.watching.wrapping import Observed, by_name

if TYPE_CHECKING:
    from kbench_script.watching.afterwards import Afterwards
    from kbench_script.watching.models import Models
    from kbench_script.watching.recorder import CallSite
    from kbench_script.watching.returned import ReturnedValues

CLOCK = "_kbench_clock"


class Fits:
    """The calls of fit. program: the spec's part on the script."""

    def __init__(
        self, models: "Models", returned: "ReturnedValues", afterwards: "Afterwards", program: Dict[str, Any]
    ) -> None:
        self._models, self._framework, self._recorder = models, models.framework, models.recorder
        self._returned = returned
        self._afterwards = afterwards
        self._same_batch = program["variant"] == "same-batch"
        self._most_epochs = program["max_epochs"]
        self._fit: Optional[ObservedFit] = None  # the one that runs

    def begin(
        self, method: str, original: Callable[..., Any], model: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]
    ) -> Optional[Observed]:
        """(positional arguments, others, what to do at the end) of a call; None if it is not observed."""
        named = by_name(original, args, kwargs)
        if named is None:
            return None  # the method itself says what is wrong
        site = self._recorder.site(method)
        cold = self._recorder.passed_on(site)
        facts = about.training(named, hashed=not site.described)
        if self._same_batch:
            batch = changes.repeat_first(method, named)
            facts["transfer_seconds"] = changes.transfer_seconds(self._framework, model, batch)
        given: Any = named.get("callbacks") or ()
        listed = given.callbacks if type(given).__name__ == "CallbackList" else None
        own = list(given if isinstance(given, (list, tuple)) else [given]) if listed is None else list(listed)
        steps, clock = about.steps_in_epoch(named), self._clock(model)
        fit = ObservedFit(self._models, clock, site, model, facts, steps, own, self._most_epochs)
        if listed is None:
            named["callbacks"] = [fit.first, *own, fit.last]
        else:
            listed[:] = [fit.first, *own, fit.last]
        feeds = about.feeds(named)
        about.count_samples(named, facts)
        clock.drop()  # it may stand in another turn
        if not about.has_all_weights(model):
            self._before_update(model)
        self._fit, clock.active, clock.may_pause = fit, True, site.fit_seconds >= SHORT_FIT
        start, turn = overhead.now(), self._recorder.turns.turn
        fit.begins()

        def end(found: Any) -> None:
            fit.returns()
            if listed is not None:
                listed[:] = [one for one in listed if one not in (fit.first, fit.last)]
            seconds = overhead.now() - start
            self._recorder.in_calls += seconds
            with overhead.excluded_from_time():
                self._fit, clock.active = None, False
                clock.drop()
                site.fit_seconds = seconds
                fit.write_call(seconds, cold, turn)
                if self._recorder.guarded(fit.changed_nothing):
                    self._recorder.returned(site.name, unchanged=1)
                self._returned.trains(model)
                self._afterwards.fit_ended(site.name, model, named, found, feeds)

        return (), named, end

    def _clock(self, model: Any) -> StepClock:
        """The clock of the model's training steps; made when it is first trained."""
        # In the model's own dict, past Keras's tracking of attributes: it goes when the model goes.
        if CLOCK not in vars(model):
            vars(model)[CLOCK] = StepClock(self._framework, model, "train", None, self._recorder.turns)
            self._framework.step_hook(model, "test", self._before_test)
        return vars(model)[CLOCK]

    def _before_update(self, model: Any) -> None:
        """TensorFlow makes the weights of a model that is not built while it traces the first step: look then."""
        module = self._framework.module
        if not (self._framework.eager and hasattr(module, "init_scope") and hasattr(model, "train_step")):
            return
        train_step = model.train_step

        @functools.wraps(train_step)
        def step(*args: Any, **kwargs: Any) -> Any:
            found = train_step(*args, **kwargs)
            if self._fit is not None and module.inside_function():
                with module.init_scope():
                    self._recorder.guarded(self._fit.weights_made)
            return found

        vars(model)["train_step"] = step

    def _before_test(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any) -> Any:
            if self._fit is not None:
                self._recorder.guarded(self._fit.training_ends)  # validation begins, within fit
            return function(*args)

        return step


class ObservedFit:
    """One call of fit. first, last: callbacks that Keras calls before and after the program's own.

    clock: of the model. steps: of an epoch, 0 if that is not known. callbacks: the program's own. most_epochs: after
    which it is stopped, if any.
    """

    def __init__(
        self,
        models: "Models",
        clock: StepClock,
        site: "CallSite",
        model: Any,
        facts: Dict[str, Any],
        steps: int,
        callbacks: List[Any],
        most_epochs: Optional[int],
    ) -> None:
        self._models, self._framework, self._recorder = models, models.framework, models.recorder
        self._clock = clock
        self._site = site
        self._model = model
        self._facts = facts
        self._most_epochs = most_epochs
        # A model that was compiled anew is compiled by the framework, too.
        self._first = model not in site.models or getattr(model, "train_function", True) is None
        self._steps = steps
        self._at_once = self._framework.steps_of_a_call(model)
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
            on_epoch_begin=lambda epoch, logs=None: self._recorder.guarded(self._epoch_begins),
            on_epoch_end=lambda epoch, logs=None: self._recorder.guarded(self._epoch_ends, logs or {}),
        )

    def begins(self) -> None:
        """It is called now: what kbench did before is no part of it, nor of its first epoch."""
        self._called, self._call = time.perf_counter(), Call()

    def _validation_ends(self, epoch: int, logs: Any = None) -> None:
        self._validated = time.perf_counter()

    def _callbacks_begin(self, epoch: int, logs: Any = None) -> None:
        self._beginning = time.perf_counter()

    def _epoch_begins(self) -> None:
        """Some backends compile in fit before the epoch begins: the very first epoch counts from the call."""
        now = time.perf_counter()
        self._in_callbacks = now - (self._beginning or now)
        with overhead.excluded_from_time():
            if self._done == 0:
                self._look()
        after = time.perf_counter()
        self._clock.expected = self._executions
        self._compiled = self._framework.compilations()
        self._start = self._called + after - now if self._done == 0 and self._first else after
        self._end = None

    def weights_made(self) -> None:
        """The first step is traced, and not taken yet. What this takes is no part of it."""
        if self._done or self._site.described or self._start is None or self._clock.begun > 1:
            return
        if not (about.has_all_weights(self._model) and self._models.have_values(self._model)):
            return  # it is traced again when they have
        began = time.perf_counter()
        with overhead.excluded_from_time():
            self._look()
        self._start += time.perf_counter() - began

    def _look(self) -> None:
        """Describe the model with the weights that it begins with, if it has them."""
        if not self._site.described and about.has_all_weights(self._model):
            self._models.describe(self._site, self._model, self._facts)
        if self._looks and about.has_all_weights(self._model):
            self._before = self._models.some_weights(self._model)

    def training_ends(self) -> None:
        """The last step of this epoch was done, and validation begins."""
        if self._end is None and self._start is not None:
            self._end = self._clock.last_end()
            if self._end is None:
                self._framework.wait(self._model)
                self._end = time.perf_counter()

    def _epoch_ends(self, logs: Dict[str, Any]) -> None:
        ended = time.perf_counter()
        now = self._validated or ended
        if self._start is None:
            return
        validated = self._end is not None
        self.training_ends()
        self._executions = self._clock.begun
        if not self._clock.hooked:
            self._recorder.note("unseen", self._framework.unseen_steps("train"))
        steps = self._clock.begun * self._at_once
        if self._at_once > 1 and 0 < self._steps < steps:  # the last execution has fewer
            steps = self._steps
        timed = overhead.in_steps(self._clock.lap(self._start, self._end), self._at_once, steps)
        self._done += 1
        with overhead.excluded_from_time():
            self._models.describe(self._site, self._model, self._facts, trained=True)
        compiled = self._framework.compilations()
        within = self._around_batches.taken()
        self._recorder.epoch(
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
        if self._most_epochs and self._done >= self._most_epochs:
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
        pairs = zip(self._before, self._models.some_weights(self._model))
        return all(np.array_equal(one, two) for one, two in pairs)

    def write_call(self, seconds: float, cold: bool, turn: Tuple[int, int]) -> None:
        """Write what the call took in all. cold: whether it was the first of its turn; turn: that it began in."""
        turns = self._recorder.turns
        held = int(turns.turn != turn)
        about_turns = {"cold": int(cold), "round": turn[0], "again": turn[1], "held": held} if turns else {}
        first = int(self._first)
        self._recorder.fit(self._site, seconds=seconds, epochs=self._done, first=first, **about_turns)
