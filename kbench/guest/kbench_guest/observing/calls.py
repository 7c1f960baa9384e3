"""Times what a user's program calls of its models: each fit by its epochs, everything else call by call.

A call site is a line of the program and the method that it calls. What Keras itself calls within such a call is part
of it. Nothing of the program is changed: methods of Model are wrapped, and call the original.
"""

import functools
import os
import threading
import time
import traceback
import weakref

import keras
import numpy as np

from kbench_guest.clock import StepClock
from kbench_guest.observing import about
from kbench_guest.observing.batches import repeat_first
from kbench_guest.observing.wrapping import by_name, in_main_thread, wrap_methods
from kbench_guest.protocol import Refused

FITS = ("fit", "fit_generator")
CALLS = (
    "train_on_batch", "evaluate", "evaluate_generator", "test_on_batch", "predict", "predict_generator",
    "predict_on_batch",
)  # fmt: skip
TRAINS = FITS + ("train_on_batch",)
CALL = "__call__"
TELL_SECONDS = 0.5  # calls of one site are told together, so often at most
TOLD_AT_ONCE = 10
CLOCK = "_kbench_clock"


class Site(object):
    """A line of the program that calls a method of a model."""

    def __init__(self, name):
        self.name = name
        self.epochs = 0  # that were told
        self.models = weakref.WeakSet()
        self.calls = []  # seconds of those that were not told yet
        self.samples = 0
        self.told = 0.0  # when
        self.told_model = False


class Calls(object):
    """All calls of this process. program: the spec's part on the script; files: its own."""

    def __init__(self, framework, events, turns, program, files):
        self._framework = framework
        self._events = events
        self._turns = turns
        self._program = program
        self._files = files
        self._pid = os.getpid()
        self._inside = threading.local()
        self._sites = {}
        self._fit = None  # the one that runs
        self._seeded = False
        self._failed = False
        self.broken = ""  # the site whose call raised last
        self.max_epochs = program["max_epochs"]
        self.wait = framework.wait
        self.compilations = framework.compilations

    def watch(self, model_class):
        """Wrap the methods of Keras's Model, and those that its own subclasses define anew."""
        if self._program["variant"] == "other-jit":
            if not hasattr(model_class, "jit_compile"):
                raise Refused("unsupported", "this Keras has no jit_compile")
            model_class.compile = _otherwise_compiled(model_class.compile)
        wrap_methods(model_class, FITS + CALLS, self._wrapped)
        if self._framework.eager:
            model_class.__call__ = self._wrapped(CALL, model_class.__call__)

    def _wrapped(self, method, original):
        begin = self._begin_fit if method in FITS else self._begin_call

        @functools.wraps(original)
        def called(model, *args, **kwargs):
            if not in_main_thread(self._pid) or getattr(self._inside, "a_call", False):
                return original(model, *args, **kwargs)
            observed = self.guarded(begin, method, original, model, args, kwargs)
            if observed is None:
                return original(model, *args, **kwargs)
            named, end = observed
            self._inside.a_call = True
            done, found = False, None
            try:
                found = original(model, *named[0], **named[1])
                done = True
                return found
            finally:
                self.guarded(end, found)
                self._inside.a_call = False
                if not done:
                    self.broken = self._site(method).name

        return called

    def guarded(self, do, *args):
        """What `do` returns. If it cannot be done, nothing is measured of that call, and the program goes on."""
        try:
            return do(*args)
        except Exception as error:
            if not self._failed:
                self._failed = True
                traceback.print_exc()
                text = "not all of its calls could be observed (%s: %s)" % (type(error).__name__, error)
                self._events.write("note", text=text)

    def _site(self, method):
        method = method.replace("_generator", "").strip("_")  # Keras 3 has no generators any more
        file, line = self._files.line()
        if file != os.path.basename(self._files.path):
            name = "%s, %s line %d" % (method, file, line)
        else:
            name = "%s, line %d" % (method, line)
        if name not in self._sites:
            self._sites[name] = Site(name)
        return self._sites[name]

    # fit

    def _begin_fit(self, method, original, model, args, kwargs):
        """((positional arguments, others), what to do at the end) of a call of fit; None if nothing is observed."""
        named = by_name(original, args, kwargs)
        if named is None:
            return None  # the method itself says what is wrong
        site = self._site(method)
        told = about.training(named, hashed=not site.told_model)
        about.cut(named, self._program)
        if self._program["variant"] == "same-batch":
            repeat_first(method, named)
        fit = Fit(self, site, model, told)
        given = named.get("callbacks")
        if given is None or isinstance(given, (list, tuple)):
            named["callbacks"] = [fit.first(), *(given or ()), fit.callback()]
        elif hasattr(given, "append"):
            given.append(fit.callback())  # a CallbackList
        else:
            named["callbacks"] = [fit.first(), given, fit.callback()]
        about.count_samples(named, told)
        clock = self.clock(model)
        self._fit, clock.active = fit, True

        def end(found):
            self._fit, clock.active = None, False
            clock.drop()

        return ((), named), end

    def clock(self, model):
        """The clock of the model's training steps; made when it is first trained."""
        # Kept by the model, and past what Keras does where an attribute is set: it goes when the model goes.
        if CLOCK not in vars(model):
            vars(model)[CLOCK] = StepClock(self._framework, model, "train", None, self._turns)
            self._framework.step_hook(model, "test", self._before_test)
        return vars(model)[CLOCK]

    def _before_test(self, function):
        def step(*args):
            if self._fit is not None:
                self.guarded(self._fit.training_ends)  # validation begins, within fit
            return function(*args)

        return step

    def seed_weights(self, model):
        """Give the first model that is trained the common initial weights, if they were asked for."""
        if self._program["init"] != "seeded" or self._seeded:
            return {}
        from kbench_guest.proof import weights

        self._seeded = True
        sha256, left = weights.initialise(self._framework, model, self._program["seed"])
        return {"weights": "seeded", "weights_sha256": sha256, "weights_left": left}

    def tell_site(self, site, model, told):
        """Write what the model of a site is, once."""
        if site.told_model:
            return
        site.told_model = True
        found = dict(told, **about.model(self._framework, model))
        found.update(self.seed_weights(model))
        task = "train" if site.name.split(",")[0] in TRAINS else "infer"
        self._events.write("site", site=site.name, task=task, facts=found)

    def tell_epoch(self, site, **values):
        """Write an epoch of a fit, or some calls."""
        site.epochs += 1
        self._events.write("epoch", epoch=site.epochs, site=site.name, **values)

    # everything else

    def _begin_call(self, method, original, model, args, kwargs):
        """The same of another method."""
        if method == CALL and not (args and _is_there(args[0])):
            return None
        site = self._site(method)
        if self._turns and site.epochs and self._turns.over():
            self.flush()
            self._turns.pass_on()
        x = args[0] if args else kwargs.get("x")
        samples = int(x.shape[0]) if method == CALL and len(x.shape) else about.rows(x)
        start = time.perf_counter()

        def end(found):
            if method == CALL:
                self.wait(model, found)  # it may return before its work is done
            self._end_call(site, model, samples, time.perf_counter() - start)

        return (args, kwargs), end

    def _end_call(self, site, model, samples, seconds):
        first = model not in site.models
        if first:
            self._tell_calls(site)
            site.models.add(model)
        site.calls.append(seconds)
        site.samples += samples
        self.tell_site(site, model, {})
        if first or time.perf_counter() - site.told > TELL_SECONDS:
            self._tell_calls(site, first)

    def _tell_calls(self, site, first=False):
        """Write the calls that were not told yet, in up to TOLD_AT_ONCE equal parts."""
        size = -(-len(site.calls) // TOLD_AT_ONCE)
        samples = site.samples // max(1, len(site.calls))
        for start in range(0, len(site.calls), max(1, size)):
            part = site.calls[start : start + size]
            seconds = sum(part) / len(part)
            self.tell_epoch(site, seconds=seconds, calls=len(part), samples=samples, first=int(first))
        site.calls, site.samples, site.told = [], 0, time.perf_counter()

    def flush(self):
        """Write what was not told yet."""
        for site in list(self._sites.values()):
            self._tell_calls(site)


class Fit(object):
    """One call of fit."""

    def __init__(self, calls, site, model, told):
        self.calls = calls
        self._site = site
        self._model = model
        self._told = told
        self._called = time.perf_counter()
        self._first = model not in site.models
        self._start = None
        self._end = None
        self._done = 0
        self.validated = None  # when the last validation had ended
        site.models.add(model)

    def first(self):
        """What Keras calls before the program's own callbacks, which are no part of a validation."""
        fit = self

        class Validated(keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                fit.validated = time.perf_counter()

        return Validated()

    def callback(self):
        """What Keras calls at the ends of epochs."""
        fit = self

        class Epochs(keras.callbacks.Callback):
            def on_epoch_begin(self, epoch, logs=None):
                fit.calls.guarded(fit.epoch_begins)

            def on_epoch_end(self, epoch, logs=None):
                fit.calls.guarded(fit.epoch_ends, logs)

        return Epochs()

    def epoch_begins(self):
        """Some backends compile in fit before the epoch begins: the very first epoch counts from the call."""
        now = time.perf_counter()
        if self._done == 0 and getattr(self._model, "built", True):  # or its weights are made by the first step
            self.calls.tell_site(self._site, self._model, self._told)
        after = time.perf_counter()
        self._compiled = self.calls.compilations()
        self._start = self._called + after - now if self._done == 0 and self._first else after
        self._end = None

    def training_ends(self):
        """The last step of this epoch was done, and validation begins."""
        if self._end is None and self._start is not None:
            clock = self.calls.clock(self._model)
            end = clock.last_end()
            if end is None:
                self.calls.wait(self._model)
                end = time.perf_counter()
            self._end = end

    def epoch_ends(self, logs):
        """Write the epoch that is over."""
        now = self.validated or time.perf_counter()
        if self._start is None:
            return
        validated = self._end is not None
        self.training_ends()
        clock = self.calls.clock(self._model)
        steps = clock.begun * int(getattr(self._model, "steps_per_execution", 1) or 1)
        timed = clock.lap(self._start, self._end)
        scores = {
            name: number for name, number in ((n, _number(v)) for n, v in (logs or {}).items()) if number is not None
        }
        self._done += 1
        self.calls.tell_site(self._site, self._model, self._told)
        compiled = self.calls.compilations()
        self.calls.tell_epoch(
            self._site,
            compilations=None if compiled is None else compiled - self._compiled,
            samples=about.samples(self._told, steps),
            first=int(self._first and self._done == 1),
            loss=scores.get("loss"),
            accuracy=scores.get("accuracy", scores.get("acc")),
            val_loss=scores.get("val_loss"),
            val_accuracy=scores.get("val_accuracy", scores.get("val_acc")),
            evaluation_seconds=max(0.0, now - self._end) if validated else None,
            metrics=scores,
            **timed,
        )
        self._start = None
        most = self.calls.max_epochs
        if most and self._done >= most:
            self._model.stop_training = True


def _otherwise_compiled(original):
    @functools.wraps(original)
    def compiled(model, *args, **kwargs):
        original(model, *args, **kwargs)
        model.jit_compile = not model.jit_compile

    return compiled


def _is_there(x):
    """Whether an array has numbers already: it is none that a graph is made from."""
    return isinstance(x, np.ndarray) or hasattr(x, "numpy") or hasattr(type(x), "is_ready")


def _number(value):
    """A score as a float; None for what is no single number."""
    try:
        found = np.asarray(value, dtype="float64")
    except (TypeError, ValueError):
        return None
    return float(found) if found.ndim == 0 else None
