"""Parity of a user's program: what its first model to be trained computes on its first batches; then it ends.

The first backend to get there writes the batches and the initial weights to a file; the others read them from it.
"""

import functools
import json
import os
import sys

import keras
import numpy as np

from kbench_guest import arrays
from kbench_guest.drivers import parity
from kbench_guest.drivers.feeding import Batch
from kbench_guest.observing import about
from kbench_guest.observing.batches import first_batches
from kbench_guest.observing.calls import FITS, TRAINS
from kbench_guest.observing.errors import show_error
from kbench_guest.observing.wrapping import by_name, in_main_thread, wrap_methods
from kbench_guest.proof import forms, weights
from kbench_guest.protocol import in_a_line, reason

GIVEN = "_kbench_compiled"
COMPARED = ("layers", "optimizer")  # of the facts about a model


class FirstModel(object):
    """Waits for the program's first call that trains a model. end: ends the process; takes an exit status."""

    broken = ""
    done = False

    def __init__(self, framework, spec, events, end):
        self._framework = framework
        self._spec = spec
        self._events = events
        self._end = end
        self._pid = os.getpid()

    def watch(self, model_class):
        """Wrap what compiles and trains."""
        wrap_methods(model_class, ("compile",), self._compiles)
        wrap_methods(model_class, TRAINS, self._trains)

    def flush(self):
        """There is nothing to write."""

    def _compiles(self, method, original):
        @functools.wraps(original)
        def compiled(model, *args, **kwargs):
            vars(model)[GIVEN] = by_name(original, args, kwargs)
            return original(model, *args, **kwargs)

        return compiled

    def _trains(self, method, original):
        @functools.wraps(original)
        def called(model, *args, **kwargs):
            given = by_name(original, args, kwargs)
            if given is None or not in_main_thread(self._pid) or self.done:
                return original(model, *args, **kwargs)
            status, self.done = 1, True
            try:
                self._compare(model, method, given)
                status = 0
            except BaseException as error:
                show_error(type(error), error, error.__traceback__)
                self._events.write("error", **reason(error))
            return self._end(status)

        return called

    def _compare(self, model, method, given):
        framework, path = self._framework, os.path.expanduser(self._spec["parity"]["captured"])
        replayed = _read(path) if os.path.exists(path) else None
        first = replayed or {"batches": first_batches(method, given, max(self._spec["parity"]["steps"]))}
        forms.silence(model)
        batches = [Batch(x, y, weight, _names(model, x)) for x, y, weight in first["batches"]]
        predicts = True
        try:
            parity.predicted(model, batches[0])  # also makes the weights of a model that has none yet
        except Exception as error:  # a model that has only a train_step
            self._note("its outputs cannot be read (%s)" % in_a_line(error))
            predicts = False
        facts = {name: value for name, value in about.model(framework, model).items() if name in COMPARED}
        if replayed is None:
            _write(path, self._spec["backend"], facts, framework.weights(model), first["batches"])
        else:
            weights.replay(framework, model, first["weights"], first["backend"])
            for text in differences(facts, first["facts"], first["backend"]):
                self._note(text)
        recompile = None
        if type(model).compile.__module__.startswith("keras") and vars(model).get(GIVEN) is not None:
            recompile = functools.partial(_compile, model, vars(model)[GIVEN])
        else:
            self._note("its compile is its own: how far rounding takes its training was not measured")
        model, recompile = self._without_dropout(model, recompile)
        # Keras 3's train_on_batch does not make tensors of everything, as its fit does.
        fits = method in FITS and framework.eager
        class_weights = {"class_weight": given["class_weight"]} if given.get("class_weight") else {}
        case = parity.Case(
            model=model,
            batch=lambda number: batches[number % len(batches)],
            predicts=predicts,
            loss=None,
            channels_first=False,
            compile=recompile,
            optimizer=facts.get("optimizer", {}).get("class_name", ""),
            train=functools.partial(_fit if fits else parity.train_on, model, class_weights),
        )
        try:
            parity.compute(framework, case, self._spec, self._events)
        except NotImplementedError as error:
            self._note("it cannot train on this backend (%s)" % in_a_line(error))

    def _note(self, text):
        self._events.write("note", text=text)

    def _without_dropout(self, model, recompile):
        """(model, how to compile it again) without dropout, which is part of the graph in Keras 2."""
        forms.silence(model)  # once more, for layers made since
        if self._framework.eager or not getattr(model, "_is_graph_network", True):
            return model, recompile
        own = {name: one for name, one in vars(sys.modules["__main__"]).items() if callable(one)}
        try:
            with keras.utils.CustomObjectScope(own):
                silent = forms.without_dropout(model)
        except Exception as error:  # of the user's layers
            text = "its dropout could not be turned off (%s): its training differs by chance"
            self._note(text % type(error).__name__)
            return model, recompile
        if silent is model or recompile is None:
            return model, recompile
        silent.set_weights(model.get_weights())
        return silent, functools.partial(_compile, silent, vars(model)[GIVEN])


def _compile(model, given):
    """Compile as the program did, with an optimizer that has taken no step."""
    given = dict(given)
    optimizer = given.get("optimizer")
    if hasattr(optimizer, "get_config"):
        given["optimizer"] = type(optimizer).from_config(optimizer.get_config())
    model.compile(**given)


def _fit(model, class_weights, batch):
    more = dict(class_weights, batch_size=len(batch.inputs[0]), shuffle=False, verbose=0, **batch.weighted())
    return model.fit(batch.model_inputs(), batch.model_targets(), **more).history["loss"]


def _names(model, x):
    """The names of inputs in the model's order, or else in alphabetical order; None if they have none."""
    if not isinstance(x, dict):
        return None
    names = [str(one.name).split(":")[0] for one in getattr(model, "inputs", None) or ()]
    return names if set(names) == set(x) else sorted(x)


def _write(path, backend, facts, its_weights, batches):
    """Keep what the other backends are given: JSON with the number of an array in each array's place."""
    kept = []

    def keep(array):
        kept.append(array)
        return len(kept) - 1

    known = {"backend": backend, "facts": facts, "batches": arrays.mapped(keep, batches)}
    known["weights"] = {
        "%s %d" % (name, place): keep(value)
        for name, values in weights.by_layer(its_weights)
        for place, value in enumerate(values)
    }
    with open(path + ".part", "wb") as file:
        np.savez(file, *kept, known=np.array(json.dumps(known)))
    os.replace(path + ".part", path)


def _read(path):
    """{backend, facts, batches, weights: {layer and place: array}} that another backend kept."""
    with np.load(path, allow_pickle=False) as file:
        found = json.loads(str(file["known"]))
        for part in ("batches", "weights"):
            found[part] = arrays.mapped(lambda number: file["arr_%d" % number], found[part])
    return found


def differences(own, others, backend):
    """[what differs between two descriptions of a model, in words], apart from dropout, which is off."""
    found = []
    here, there = own.get("optimizer") or {}, others.get("optimizer") or {}
    for name, mine, theirs in _unequal(here, there):
        found.append("its optimizer's %s comes to %s, on %s to %s" % (name, mine, backend, theirs))
    for mine, theirs in zip(own.get("layers") or (), others.get("layers") or ()):
        for name, here, there in _unequal(dict(_settings(mine[1])), dict(_settings(theirs[1]))):
            found.append("its %s has %s %s, on %s %s" % (mine[0], name, here, backend, there))
    return list(dict.fromkeys(found))


def _unequal(here, there):
    """(name, value here, value there) of the settings that differ."""
    for name in sorted((set(here) | set(there)) - forms.DROPPED):
        if here.get(name, "unset") != there.get(name, "unset"):
            yield name, here.get(name, "unset"), there.get(name, "unset")


def _settings(value):
    """(name, value) of a layer's settings, and of what it wraps."""
    if isinstance(value, dict):
        for name, one in value.items():
            if not isinstance(one, (dict, list, tuple)):
                yield name, one
            yield from _settings(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _settings(one)
