"""Times what a user's program calls of its models, from its start to its return, and each fit by its epochs, too.

What Keras itself calls within such a call is part of it. The program is not changed: methods of Model are wrapped,
and call the original.
"""

import functools
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Tuple

import numpy as np

from kbench_guest.frameworks.layers import remember_initializers
from kbench_script.watching import about, changes, cutting, overhead
from kbench_script.watching.afterwards import Afterwards
from kbench_script.watching.fits import Fits
from kbench_script.watching.loops import Loops
from kbench_script.watching.models import Models
from kbench_script.watching.recorder import Recorder
from kbench_script.watching.returned import ReturnedValues, scores
from kbench_script.watching.wrapping import (
    CALL,
    EVALUATES,
    FITS,
    GIVE_SCORES,
    PREDICTS,
    RUNS,
    TRAINS,
    Observed,
    given_to,
    wrap_methods,
)

if TYPE_CHECKING:
    from kbench_guest.frameworks.keras_models import KerasModels
    from kbench_guest.protocol import Events
    from kbench_guest.turns import TurnClient
    from kbench_script.program_files import Files


class Calls:
    """All calls of this process. program: the spec's part on the script; files: its own."""

    def __init__(
        self, framework: "KerasModels", events: "Events", turns: "TurnClient", program: Dict[str, Any], files: "Files"
    ) -> None:
        self._framework = framework
        self._program = program
        self._files = files
        self._recorder = Recorder(events, turns, files, self._number, program["max_steps"])
        self._models = Models(framework, self._recorder, program)
        self._returned = ReturnedValues(framework, self._recorder)
        self._afterwards = Afterwards(framework, self._recorder)
        self._fits = Fits(self._models, self._returned, self._afterwards, program)
        self.broken = ""  # the site whose call raised last

    def watch(self, model_class: Any) -> None:
        """Wrap the methods of Keras's Model, and those that its subclasses override."""
        if self._program["variant"] == "other-jit":
            changes.compile_otherwise(model_class, self._framework)
        if self._program["init"] == "seeded":
            remember_initializers()
        self._returned.watch(model_class)
        wrap_methods(model_class, TRAINS + RUNS, self._wrapped)
        if self._framework.eager:
            model_class.__call__ = self._wrapped(CALL, model_class.__call__)
            Loops(self._framework, self._recorder, self._files).watch()
        if self._program["max_steps"]:
            cutting.watch(model_class, self._program["max_steps"], self._recorder)

    def flush(self) -> None:
        """Write what was not reported yet."""
        self._recorder.flush()

    def finish(self) -> None:
        """The program has ended well: compute what its calls have not returned."""
        counts = self._recorder.finish()
        self._returned.finish()
        self._afterwards.finish(counts)

    def _number(self, loss: Any) -> float:
        return float(loss if isinstance(loss, float) else np.asarray(self._framework.values([loss])[0]))

    def _wrapped(self, method: str, original: Callable[..., Any]) -> Callable[..., Any]:
        begin = self._fits.begin if method in FITS else self._begin
        recorder = self._recorder

        @functools.wraps(original)
        def called(model: Any, *args: Any, **kwargs: Any) -> Any:
            observed = None
            if recorder.observes():
                with overhead.excluded_from_time():
                    observed = recorder.guarded(begin, method, original, model, args, kwargs)
            if observed is None:
                return original(model, *args, **kwargs)
            args, kwargs, end = observed
            recorder.inside, found = True, None
            try:
                found = original(model, *args, **kwargs)
                return found
            except BaseException:
                self.broken = recorder.site(method).name
                raise
            finally:
                recorder.guarded(end, found)
                recorder.inside = False

        return called

    def _begin(
        self, method: str, original: Callable[..., Any], model: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]
    ) -> Optional[Observed]:
        """As Fits.begin, for a call of another method."""
        if method == CALL and not (args and has_numbers(args[0])):
            return None
        recorder = self._recorder
        site = recorder.site(method)
        recorder.passed_on(site)
        self._models.describe_to_seed(site, model)
        x = args[0] if args else kwargs.get("x")
        samples = int(x.shape[0]) if method == CALL and len(x.shape) else about.rows(x)
        compiled, start = self._framework.compilations(), overhead.now()

        def end(found: Any) -> None:
            if method == CALL:
                self._framework.wait(model, found)  # it may return before its work is done
            seconds = overhead.now() - start
            recorder.in_calls += 0.0 if method == CALL else seconds
            with overhead.excluded_from_time():
                added = None if compiled is None else (self._framework.compilations() or 0) - compiled
                its_scores = scores(model, found) if method in GIVE_SCORES else {}
                first = recorder.call(site, model, samples, seconds, its_scores, added)
                if method in TRAINS:
                    recorder.loss(site, its_scores.get("loss"))
                given = functools.partial(given_to, original, args, kwargs)
                weighted = method in EVALUATES and not site.described
                self._models.describe(site, model, about.weighting(given()) if weighted else {}, ended=True)
                recorder.report(site, first)
                if method in TRAINS:
                    self._returned.trains(model)
                elif found is not None:
                    self._returned.keep(site.name, method, model, given, found)
                    if method in EVALUATES:
                        self._afterwards.evaluate_ended(site.name, model, given(), scores(model, found))
                    elif method in PREDICTS:
                        self._afterwards.predict_ended(site.name, model, x)

        return args, kwargs, end


def has_numbers(x: Any) -> bool:
    """Whether an array has numbers already, and is not a part of a graph."""
    return isinstance(x, np.ndarray) or hasattr(x, "numpy") or hasattr(type(x), "is_ready")
