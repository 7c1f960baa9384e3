"""Parity of a user's program: what its first model to be trained computes on its first batches; then it ends.
One that trains none runs to its end, and what it has run is compared (script_outputs.py).

The first backend to get there writes the batches and the initial weights to a file; the others read them from it.
"""

import functools
import os
import sys
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Tuple

import keras

from kbench_guest import parts
from kbench_guest.proof import weights
from kbench_guest.protocol import in_a_line, reason
from kbench_guest.training.feeding import Batch
from kbench_guest.training.first_step import train_on
from kbench_parity import captured, computing
from kbench_parity.program_outputs import Sites
from kbench_parity.silent import silence, without_dropout
from kbench_script.batches import first_batches
from kbench_script.hosting.errors import show_error
from kbench_script.watching import about
from kbench_script.watching.calls import has_numbers
from kbench_script.watching.wrapping import (
    CALL,
    FITS,
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
    from kbench_guest.protocol import Events
    from kbench_script.program_files import Files

GIVEN = "_kbench_compiled"
COMPARED = ("layers", "optimizer")  # of the facts about a model


class FirstModel:
    """Waits for the program's first call that trains a model. end: ends the process; takes an exit status."""

    broken = ""
    done = False

    def __init__(
        self,
        framework: "KerasModels",
        spec: Dict[str, Any],
        events: "Events",
        end: Callable[[int], None],
        files: "Files",
    ) -> None:
        self._framework = framework
        self._spec = spec
        self._events = events
        self._end = end
        self._files = files
        self._sites = Sites(framework, spec, events)
        self._inside = False  # whether a call is under way that may be compared
        self._pid = os.getpid()

    def watch(self, model_class: Any) -> None:
        """Wrap what compiles and trains."""
        wrap_methods(model_class, ("compile",), self._compiles)
        wrap_methods(model_class, TRAINS, self._trains)
        wrap_methods(model_class, RUNS, self._runs)
        if self._framework.eager:
            model_class.__call__ = self._runs(CALL, model_class.__call__)

    def flush(self) -> None:
        """There is nothing to write."""

    def finish(self) -> bool:
        """The program has ended without a training: compare what it has run; returns whether it has run a model."""
        self._inside = True
        return self.done or self._sites.compare()

    def _runs(self, method: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def called(model: Any, *args: Any, **kwargs: Any) -> Any:
            if self._inside or self.done or not in_main_thread(self._pid):
                return original(model, *args, **kwargs)
            self._inside = True
            try:
                found = original(model, *args, **kwargs)
                self._keep(method, model, given_to(original, args, kwargs))
                return found
            finally:
                self._inside = False

        return called

    def _keep(self, method: str, model: Any, given: Dict[str, Any]) -> None:
        if given.get("training") or (method == CALL and not has_numbers(given["x"])):
            return
        try:
            self._sites.keep(site_name(method, self._files), model, given["x"], given.get("batch_size"))
        except Exception as error:  # the program goes on
            self._note(f"a call could not be compared ({in_a_line(error)})")

    def _compiles(self, method: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def compiled(model: Any, *args: Any, **kwargs: Any) -> Any:
            vars(model)[GIVEN] = by_name(original, args, kwargs)
            return original(model, *args, **kwargs)

        return compiled

    def _trains(self, method: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def called(model: Any, *args: Any, **kwargs: Any) -> Any:
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
                for one in self._spec["on_error"]:
                    parts.imported(one).tell(error, self._events)
            return self._end(status)

        return called

    def _compare(self, model: Any, method: str, given: Dict[str, Any]) -> None:
        framework, path = self._framework, captured.path_in(self._spec)
        replayed = captured.read(path) if os.path.exists(path) else None
        first = replayed or {"batches": first_batches(method, given, max(self._spec["part"]["steps"]))}
        silence(model)
        batches = [Batch(x, y, weight, captured.names(model, x)) for x, y, weight in first["batches"]]
        predicts = True
        try:
            computing.predicted(model, batches[0])  # also makes the weights of a model that has none yet
        except Exception as error:  # a model that has only a train_step
            self._note(f"its outputs cannot be read ({in_a_line(error)})")
            predicts = False
        facts = {name: value for name, value in about.model(framework, model).items() if name in COMPARED}
        if replayed is None:
            description = {"backend": self._spec["backend"], "facts": facts}
            captured.write(path, description, framework.weights(model), first["batches"])
        else:
            weights.replay(framework, model, first["weights"], first["backend"])
            for text in captured.differences(facts, first["facts"], first["backend"]):
                self._note(text)
        recompile: Optional[Callable[[], None]] = None
        if type(model).compile.__module__.startswith(("keras", "tf_keras")) and vars(model).get(GIVEN) is not None:
            recompile = functools.partial(_compile, model, vars(model)[GIVEN])
        else:
            self._note("the effect of rounding on its training was not measured: it has a compile method of its own")
        model, recompile = self._without_dropout(model, recompile)
        # Keras 3's train_on_batch does not make tensors of everything, as its fit does.
        fits = method in FITS and framework.eager
        class_weights = {"class_weight": given["class_weight"]} if given.get("class_weight") else {}
        case = computing.Case(
            model=model,
            batch=lambda number: batches[number % len(batches)],
            predicts=predicts,
            loss=None,
            channels_first=False,
            compile=recompile,
            optimizer=facts.get("optimizer", {}).get("class_name", ""),
            train=functools.partial(_fit if fits else train_on, model, class_weights),
        )
        try:
            computing.compute(framework, case, self._spec, self._events)
        except NotImplementedError as error:
            self._note(f"it cannot train on this backend ({in_a_line(error)})")

    def _note(self, text: str) -> None:
        self._events.write("note", text=text)

    def _without_dropout(
        self, model: Any, recompile: Optional[Callable[[], None]]
    ) -> Tuple[Any, Optional[Callable[[], None]]]:
        """(model, how to compile it again) without dropout, which is part of the graph in Keras 2."""
        silence(model)  # once more, for layers made since
        if self._framework.eager or not getattr(model, "_is_graph_network", True):
            return model, recompile
        own = {name: one for name, one in vars(sys.modules["__main__"]).items() if callable(one)}
        try:
            with keras.utils.CustomObjectScope(own):
                silent = without_dropout(model)
        except Exception as error:  # of the user's layers
            text = "its dropout could not be turned off (%s): its training differs by chance"
            self._note(text % type(error).__name__)
            return model, recompile
        if silent is model or recompile is None:
            return model, recompile
        silent.set_weights(model.get_weights())
        return silent, functools.partial(_compile, silent, vars(model)[GIVEN])


def _compile(model: Any, given: Dict[str, Any]) -> None:
    """Compile as the program did, with an optimizer that has taken no step."""
    given = dict(given)
    optimizer = given.get("optimizer")
    if hasattr(optimizer, "get_config"):
        given["optimizer"] = type(optimizer).from_config(optimizer.get_config())
    model.compile(**given)


def _fit(model: Any, class_weights: Dict[str, Any], batch: Any) -> Any:
    more = dict(class_weights, batch_size=len(batch.inputs[0]), shuffle=False, verbose=0, **batch.weighted())
    return model.fit(batch.model_inputs(), batch.model_targets(), **more).history["loss"]
