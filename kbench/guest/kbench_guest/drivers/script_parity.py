"""Parity of a user's program: what the first model that it trains computes on its first batches; then it ends.

The first backend to get there keeps the batches and the initial weights in a file; the others take them from there.
"""

import functools
import json
import os
import sys

import keras
import numpy as np

from kbench_guest.drivers import parity
from kbench_guest.observing import about
from kbench_guest.observing.batches import first_batches
from kbench_guest.observing.calls import FITS, TRAINS
from kbench_guest.observing.wrapping import by_name, in_main_thread, wrap_methods
from kbench_guest.proof import forms, weights
from kbench_guest.protocol import in_a_line, reason

GIVEN = "_kbench_compiled"
PARTS = ("x", "y", "w")
COMPARED = ("layers", "optimizer")  # of what is told of a model


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
        """Nothing is kept back."""

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
                sys.excepthook(type(error), error, error.__traceback__)
                self._events.write("error", **reason(error))
            return self._end(status)

        return called

    def _compare(self, model, method, given):
        framework, path = self._framework, os.path.expanduser(self._spec["parity"]["captured"])
        replayed = _read(path) if os.path.exists(path) else None
        first = replayed or {"batches": first_batches(method, given, max(self._spec["parity"]["steps"]))}
        forms.silence(model)
        batches = Batches(first["batches"], model, given.get("class_weight"))
        predicts = True
        try:
            parity.predicted(model, batches.batch(0))  # which makes the weights of a model that has none yet
        except Exception as error:  # a model that has a train_step alone
            self._note(["its outputs cannot be read (%s)" % in_a_line(error)])
            predicts = False
        told = {name: value for name, value in about.model(framework, model).items() if name in COMPARED}
        if replayed is None:
            _write(path, self._spec["backend"], told, framework.weights(model), first["batches"])
        else:
            weights.replay(framework, model, first["weights"], first["backend"])
            self._note(differences(told, first["told"], first["backend"]))
        compile_anew = None
        if type(model).compile.__module__.startswith("keras") and vars(model).get(GIVEN) is not None:
            compile_anew = functools.partial(_compile, model, vars(model)[GIVEN])
        else:
            self._note(["its compile is its own: how far rounding takes its training was not measured"])
        model, compile_anew = self._without_dropout(model, compile_anew)
        case = parity.Case(
            model=model,
            batches=batches,
            predicts=predicts,
            loss=None,
            channels_first=False,
            compile=compile_anew,
            optimizer=told.get("optimizer", {}).get("class_name", ""),
            # Where Keras 3 trains on one batch, it does not make tensors of everything, as fit does.
            train=functools.partial(_fit if method in FITS and framework.eager else _train, model),
        )
        try:
            parity.compute(framework, case, self._spec, self._events)
        except NotImplementedError as error:
            self._note(["it cannot train on this backend (%s)" % in_a_line(error)])

    def _note(self, texts):
        for text in texts:
            self._events.write("note", text=text)

    def _without_dropout(self, model, compile_anew):
        """(model, how to compile it anew) with dropout at zero; Keras 2 has it in its graph, which is made anew."""
        forms.silence(model)  # what was made since
        if self._framework.eager or not getattr(model, "_is_graph_network", True):
            return model, compile_anew
        own = {name: one for name, one in vars(sys.modules["__main__"]).items() if callable(one)}
        try:
            with keras.utils.CustomObjectScope(own):
                silent = forms.without_dropout(model)
        except Exception as error:  # anybody's layers
            self._note(["its dropout stayed on (%s): its training differs by chance" % type(error).__name__])
            return model, compile_anew
        if silent is model or compile_anew is None:
            return model, compile_anew
        silent.set_weights(model.get_weights())
        return silent, functools.partial(_compile, silent, vars(model)[GIVEN])


def _compile(model, given):
    """Compile as the program did, with an optimizer that has taken no step."""
    given = dict(given)
    optimizer = given.get("optimizer")
    if hasattr(optimizer, "get_config"):
        given["optimizer"] = type(optimizer).from_config(optimizer.get_config())
    model.compile(**given)


def _fit(model, batch):
    size = len(batch.inputs[0])
    done = model.fit(batch.model_inputs(), batch.targets, batch_size=size, shuffle=False, verbose=0, **batch.weighted)
    return done.history["loss"]


def _train(model, batch):
    return model.train_on_batch(batch.model_inputs(), batch.targets, **batch.weighted)


class Batch(object):
    """The arrays of a batch as the program gives them."""

    def __init__(self, x, y, sample_weight, model, class_weight):
        self._x, self.targets = x, y
        self.weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.weighted.update({"class_weight": class_weight} if class_weight else {})
        order = None
        if isinstance(x, dict):
            names = [str(one.name).split(":")[0] for one in getattr(model, "inputs", None) or ()]
            order = names if set(names) == set(x) else None
        self.inputs = [value for _, value in _leaves("", x, order)]

    def model_inputs(self):
        return self._x


class Batches(object):
    """Batches (x, y, sample weights), from the front again where there are no more."""

    def __init__(self, batches, model, class_weight):
        self._batches = [Batch(*(one + (model, class_weight))) for one in batches]

    def batch(self, number):
        """The first is number 0."""
        return self._batches[number % len(self._batches)]


def _leaves(name, value, order=None):
    """(name, array) of each array: x, x/0, x/name."""
    if isinstance(value, dict):
        for key in order or sorted(value):
            yield "%s/%s" % (name, key), value[key]
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield "%s/#%d" % (name, number), one
    elif value is not None:
        yield name, value


def _write(path, backend, told, its_weights, batches):
    """Keep what the others are given."""
    kept = {"about": np.array(json.dumps({"backend": backend, "told": told, "batches": len(batches)}))}
    for number, batch in enumerate(batches):
        for part, value in zip(PARTS, batch):
            kept.update(_leaves("%d %s" % (number, part), value))
    for name, values in weights.by_layer(its_weights):
        kept.update(("weight %s %d" % (name, place), value) for place, value in enumerate(values))
    with open(path + ".part", "wb") as file:
        np.savez(file, **kept)
    os.replace(path + ".part", path)


def _read(path):
    """{backend, told, batches, weights: {layer: its arrays}} that another backend kept."""
    with np.load(path, allow_pickle=False) as file:
        kept = {name: file[name] for name in file.files}
    found = json.loads(str(kept.pop("about")))
    found["batches"] = [
        tuple(_value(kept, "%d %s" % (number, part)) for part in PARTS) for number in range(found["batches"])
    ]
    found["weights"] = {name[len("weight ") :]: value for name, value in kept.items() if name.startswith("weight ")}
    return found


def _value(kept, name):
    if name in kept:
        return kept[name]
    inside = {one[len(name) + 1 :]: kept[one] for one in kept if one.startswith(name + "/")}
    if not inside:
        return None
    if all(one.startswith("#") for one in inside):
        return [inside["#%d" % number] for number in range(len(inside))]
    return inside


def differences(own, others, backend):
    """[what differs in two descriptions of a model, in words]; dropout is off by then."""
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
            for inner in _settings(one):
                yield inner
    elif isinstance(value, (list, tuple)):
        for one in value:
            for inner in _settings(one):
                yield inner
