"""Times what a user's program calls of its models, from its start to its return, and each fit by its epochs, too.

A call site is a line of the program and the method that it calls. What Keras itself calls within such a call is part
of it. The program is not changed: methods of Model are wrapped, and call the original.
"""

import functools
import os
import time
import traceback
import weakref
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple

import numpy as np

from kbench_guest import process
from kbench_guest.clock import StepClock
from kbench_guest.frameworks.layers import remember_initializers
from kbench_guest.proof import weights
from kbench_guest.sketches import plain_numbers
from kbench_guest.watching import about, changes, cutting, overhead
from kbench_guest.watching.afterwards import Afterwards
from kbench_guest.watching.fits import ObservedFit, as_scores
from kbench_guest.watching.loops import Loops
from kbench_guest.watching.returned import ReturnedValues, scores
from kbench_guest.watching.wrapping import (
    CALL,
    EVALUATES,
    FITS,
    GIVE_SCORES,
    IN_LOOPS,
    PREDICTS,
    RUNS,
    TRAINS,
    by_name,
    given_to,
    in_main_thread,
    site_name,
    wrap_methods,
)

if TYPE_CHECKING:
    from kbench_guest.frameworks.keras_models import KerasModels
    from kbench_guest.program_files import Files
    from kbench_guest.protocol import Events
    from kbench_guest.turns import TurnClient

# A call's positional arguments, the others, and what to do with what it returns.
Observed = Tuple[Tuple[Any, ...], Dict[str, Any], Callable[[Any], None]]

LAST_WEIGHTS = 4  # of a model: those that any training changes
REPORT_SECONDS = 0.5  # calls of one site are reported together, at most this often
REPORTED_AT_ONCE = 10
FIRST_LOSSES = 5  # of a line's steps, that are compared
SHORT_FIT = 0.5  # seconds: turns end between fits that take less, and within others
CLOCK = "_kbench_clock"


class CallSite:
    """A line of the program that calls a method of a model."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.epochs = 0  # reported so far
        self.models: Any = weakref.WeakSet()
        self.calls: List[float] = []  # seconds of those not reported yet
        self.turn: Any = None  # in which the first of these was
        self.count = 0  # of all calls
        self.samples = 0
        self.scores: Dict[str, float] = {}  # of the last call
        self.loss: Any = None  # of the last step of a loop, as its framework keeps it
        self.first_losses: List[Any] = []  # of its first steps
        self.compiled: Optional[int] = None  # how often it was compiled, in the calls not reported yet
        self.reported = 0.0  # when
        self.described = False
        self.fit_seconds = SHORT_FIT  # of the last fit


class Calls:
    """All calls of this process. program: the spec's part on the script; files: its own."""

    def __init__(
        self, framework: "KerasModels", events: "Events", turns: "TurnClient", program: Dict[str, Any], files: "Files"
    ) -> None:
        self.framework = framework
        self.program = program
        self._events = events
        self._turns = turns
        self._files = files
        self._pid = os.getpid()
        self._inside = False  # whether an observed call runs
        self._sites: Dict[str, CallSite] = {}
        self._fit: Optional[ObservedFit] = None  # the one that runs
        self._seeded = False
        self._failed = False
        self._unseen = False  # whether it was said that steps are not seen
        self._uncut = False  # whether it was said that --max-steps does not cut a loop
        self._cut = ""  # what --max-steps has cut of the call that runs
        self.broken = ""  # the site whose call raised last
        self.returned = ReturnedValues(framework, events, self.guarded)
        self._afterwards = Afterwards(framework, events, self.guarded)

    def watch(self, model_class: Any) -> None:
        """Wrap the methods of Keras's Model, and those that its subclasses override."""
        if self.program["variant"] == "other-jit":
            changes.compile_otherwise(model_class, self.framework)
        if self.program["init"] == "seeded":
            remember_initializers()
        self.returned.watch(model_class)
        wrap_methods(model_class, TRAINS + RUNS, self._wrapped)
        if self.framework.eager:
            model_class.__call__ = self._wrapped(CALL, model_class.__call__)
            Loops(self, self.framework, self._files).watch()
        if self.program["max_steps"]:
            cutting.watch(model_class, self.program["max_steps"], self)

    def is_cut(self, text: str) -> None:
        """The next call is a cut one, as the text says; it is not if that is empty."""
        if not self._inside:
            self._cut = text

    def _wrapped(self, method: str, original: Callable[..., Any]) -> Callable[..., Any]:
        begin = self._begin_fit if method in FITS else self._begin_call

        @functools.wraps(original)
        def called(model: Any, *args: Any, **kwargs: Any) -> Any:
            observed = None
            if in_main_thread(self._pid) and not self._inside:
                with overhead.excluded_from_time():
                    observed = self.guarded(begin, method, original, model, args, kwargs)
            if observed is None:
                return original(model, *args, **kwargs)
            args, kwargs, end = observed
            self._inside, found = True, None
            try:
                found = original(model, *args, **kwargs)
                return found
            except BaseException:
                self.broken = self.site(method).name
                raise
            finally:
                self.guarded(end, found)
                self._inside = False

        return called

    def guarded(self, do: Callable[..., Any], *args: Any) -> Any:
        """What `do` returns. If it raises, that call is not measured, and the program goes on."""
        try:
            return do(*args)
        except Exception as error:
            if not self._failed:
                self._failed = True
                traceback.print_exc()
                text = f"not all of its calls could be observed ({type(error).__name__}: {error})"
                self._events.write("note", text=text)

    def inside(self) -> bool:
        """Whether an observed call is under way, or this is no process to observe."""
        return self._inside or not in_main_thread(self._pid)

    def site(self, method: str) -> CallSite:
        """That of the innermost line of the program."""
        name = site_name(method, self._files)
        return self._sites.setdefault(name, CallSite(name))

    # fit

    def _begin_fit(
        self, method: str, original: Callable[..., Any], model: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]
    ) -> Optional[Observed]:
        """(positional arguments, others, what to do at the end) of a call of fit; None if it is not observed."""
        named = by_name(original, args, kwargs)
        if named is None:
            return None  # the method itself says what is wrong
        site = self.site(method)
        cold = self.passed_on(site)
        facts = about.training(named, hashed=not site.described)
        if self.program["variant"] == "same-batch":
            batch = changes.repeat_first(method, named)
            facts["transfer_seconds"] = changes.transfer_seconds(self.framework, model, batch)
        given: Any = named.get("callbacks") or ()
        listed = given.callbacks if type(given).__name__ == "CallbackList" else None
        own = list(given if isinstance(given, (list, tuple)) else [given]) if listed is None else list(listed)
        fit = ObservedFit(self, site, model, facts, about.steps_in_epoch(named), own)
        if listed is None:
            named["callbacks"] = [fit.first, *own, fit.last]
        else:
            listed[:] = [fit.first, *own, fit.last]
        feeds = about.feeds(named)
        about.count_samples(named, facts)
        clock = self.clock(model)
        clock.drop()  # it may stand in another turn
        self._fit, clock.active, clock.may_pause = fit, True, site.fit_seconds >= SHORT_FIT
        start, turn = overhead.now(), self._turns.turn

        def end(found: Any) -> None:
            fit.returns()
            if listed is not None:
                listed[:] = [one for one in listed if one not in (fit.first, fit.last)]
            seconds = overhead.now() - start
            with overhead.excluded_from_time():
                self._fit, clock.active = None, False
                clock.drop()
                site.fit_seconds = seconds
                fit.write_call(seconds, cold, turn, self._turns)
                if self.guarded(fit.changed_nothing):
                    self._events.write("returned", site=site.name, unchanged=1)
                self.returned.trains(model)
                self._afterwards.fit_ended(site.name, model, named, found, feeds)

        return (), named, end

    def passed_on(self, site: CallSite) -> bool:
        """Let others have their turn if this one is over: at the start of a call. Whether it was."""
        if not (self._turns and site.epochs and self._turns.is_over()):
            return False
        self.flush()
        self._turns.yield_turn()
        return True

    def clock(self, model: Any) -> StepClock:
        """The clock of the model's training steps; made when it is first trained."""
        # In the model's own dict, past Keras's tracking of attributes: it goes when the model goes.
        if CLOCK not in vars(model):
            vars(model)[CLOCK] = StepClock(self.framework, model, "train", None, self._turns)
            self.framework.step_hook(model, "test", self._before_test)
        return vars(model)[CLOCK]

    def _before_test(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any) -> Any:
            if self._fit is not None:
                self.guarded(self._fit.training_ends)  # validation begins, within fit
            return function(*args)

        return step

    def describe(self, site: CallSite, model: Any, facts: Dict[str, Any], trained: bool = False) -> None:
        """Write what the model of a site is, once; trained: whether it has been trained before."""
        if site.described:
            return
        site.described = True
        found = dict(facts, **about.model(self.framework, model))
        if self._cut:
            found["notes"] = [self._cut, *found.get("notes", ())]
        if self.program["init"] == "seeded" and not self._seeded and trained:
            self._seeded = True
            text = "its first step made its weights: --init seeded gave it none"
            found["notes"] = [*found.get("notes", ()), text]
        elif self.program["init"] == "seeded" and not self._seeded:  # for the first model alone
            self._seeded = True
            sha256, left = weights.initialise(self.framework, model, self.program["seed"])
            found.update(weights="seeded", weights_sha256=sha256, weights_left=left)
        task = "train" if site.name.split(",")[0] in TRAINS else "infer"
        self._events.write("site", site=site.name, task=task, facts=found)

    def some_weights(self, model: Any) -> List[np.ndarray]:
        """Copies of the last weights that it trains."""
        weights = list(getattr(model, "trainable_weights", ()))[-LAST_WEIGHTS:]
        return [np.array(value) for value in self.framework.values(weights)]

    def sees_no_steps(self) -> None:
        """An epoch has ended, and no step of it was seen: say so, once."""
        if not self._unseen:
            self._unseen = True
            self._events.write("note", text=self.framework.unseen_steps("train"))

    def write_epoch(self, site: CallSite, **values: Any) -> None:
        """Write an epoch of a fit, or some calls."""
        site.epochs += 1
        held = process.resident_mib()
        self._events.write("epoch", epoch=site.epochs, site=site.name, resident_mib=held, **values)

    def write_fit(self, site: CallSite, **values: Any) -> None:
        """Write a call of fit, whose epochs have been written."""
        self._events.write("fit", site=site.name, resident_mib=process.resident_mib(), **values)

    # everything else

    def _begin_call(
        self, method: str, original: Callable[..., Any], model: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]
    ) -> Optional[Observed]:
        """As _begin_fit, for a call of another method."""
        if method == CALL and not (args and has_numbers(args[0])):
            return None
        site = self.site(method)
        self.passed_on(site)
        if self.program["init"] == "seeded" and not self._seeded and about.has_all_weights(model):
            self.describe(site, model, {})  # before its first step, whose gradients are of these weights
        x = args[0] if args else kwargs.get("x")
        samples = int(x.shape[0]) if method == CALL and len(x.shape) else about.rows(x)
        compiled, start = self.framework.compilations(), overhead.now()

        def end(found: Any) -> None:
            if method == CALL:
                self.framework.wait(model, found)  # it may return before its work is done
            seconds = overhead.now() - start
            with overhead.excluded_from_time():
                added = None if compiled is None else (self.framework.compilations() or 0) - compiled
                its_scores = scores(model, found) if method in GIVE_SCORES else {}
                self._end_call(site, model, samples, seconds, its_scores, added)
                if method in TRAINS:
                    self.returned.trains(model)
                elif found is not None:
                    given = functools.partial(given_to, original, args, kwargs)
                    self.returned.keep(site.name, method, model, given, found)
                    if method in EVALUATES:
                        self._afterwards.evaluate_ended(site.name, model, given(), scores(model, found))
                    elif method in PREDICTS:
                        self._afterwards.predict_ended(site.name, model, x)

        return args, kwargs, end

    def _end_call(
        self,
        site: CallSite,
        model: Any,
        samples: int,
        seconds: float,
        its_scores: Dict[str, float],
        compiled: Optional[int],
    ) -> None:
        first = model not in site.models
        if first:
            self._write_calls(site)
            site.models.add(model)
        if compiled is not None:
            site.compiled = (site.compiled or 0) + compiled
        site.turn = site.turn if site.calls else self._turns.turn
        site.scores = its_scores
        site.calls.append(seconds)
        site.count += 1
        site.samples += samples
        if site.name.startswith("train_on_batch"):
            self._keep_loss(site, its_scores.get("loss"))
        self.describe(site, model, {})
        if first or time.perf_counter() - site.reported > REPORT_SECONDS:
            self._write_calls(site, first)

    def step_loss(self, site: CallSite, loss: Any) -> None:
        """Keep what a step of a loop of the program's own has as its loss; None if that is not known."""
        site.loss = loss
        self._keep_loss(site, loss)

    def _keep_loss(self, site: CallSite, loss: Any) -> None:
        if loss is not None and len(site.first_losses) < FIRST_LOSSES:
            site.first_losses.append(loss)

    def end_step(self, site: CallSite, seconds: float, parameters: int) -> None:
        """A step of a loop of the program's own has ended, which updates so many parameters."""
        if not site.described:
            site.described = True
            self._events.write("site", site=site.name, task="train", facts={"parameters": parameters})
        site.turn = site.turn if site.calls else self._turns.turn
        site.calls.append(seconds)
        site.count += 1
        if time.perf_counter() - site.reported > REPORT_SECONDS:
            self._write_calls(site)

    def _write_calls(self, site: CallSite, first: bool = False) -> None:
        """Write the calls not reported yet, in up to REPORTED_AT_ONCE equal parts."""
        if site.loss is not None:
            number = self.guarded(self._number, site.loss)
            site.scores = {} if number is None else {"loss": number}
        size = -(-len(site.calls) // REPORTED_AT_ONCE)
        samples = site.samples // max(1, len(site.calls))
        for start in range(0, len(site.calls), max(1, size)):
            part = site.calls[start : start + size]
            seconds = sum(part) / len(part)
            number, again = self._turns.turn
            one_turn = self._turns and site.turn == self._turns.turn and number > 0
            turn = {"step_seconds": [seconds], "rounds": [[number, 0, 1, again]]} if one_turn else {}
            turn.update(as_scores(site.scores))
            if start == 0 and site.compiled is not None:
                turn["compilations"] = site.compiled
            self.write_epoch(site, seconds=seconds, calls=len(part), samples=samples, first=int(first), **turn)
        site.calls, site.samples, site.reported, site.compiled = [], 0, time.perf_counter(), None

    def _number(self, loss: Any) -> float:
        return float(loss if isinstance(loss, float) else np.asarray(self.framework.values([loss])[0]))

    def finish(self) -> None:
        """The program has ended well: compute what its calls have not returned."""
        for site in self._sites.values():
            losses = self.guarded(lambda kept: [self._number(loss) for loss in kept], site.first_losses)
            if losses:
                self._events.write("returned", site=site.name, first_losses=plain_numbers(losses))
        self._inside = True  # nothing is measured any more
        self.returned.finish()
        self._afterwards.finish({site.name: site.count for site in self._sites.values()})

    def flush(self) -> None:
        """Write what was not reported yet."""
        most = self.program["max_steps"] or 0
        loops = [
            one.name for one in self._sites.values() if one.name.split(",")[0] in IN_LOOPS and 0 < most < one.count
        ]
        if loops and not self._uncut:
            self._uncut = True
            text = f"--max-steps cuts no loop of its own: {' and '.join(loops)}"
            self._events.write("note", text=text)
        for site in list(self._sites.values()):
            self._write_calls(site)


def has_numbers(x: Any) -> bool:
    """Whether an array has numbers already, and is not a part of a graph."""
    return isinstance(x, np.ndarray) or hasattr(x, "numpy") or hasattr(type(x), "is_ready")
