"""Notes what the lines of a user's program do, and writes it as events. Of Keras it knows nothing.

A call site is a line of the program and the method that it calls; or `loop`, where it ends a step of its own.
"""

import os
import time
import traceback
import weakref
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Set

from kbench_guest import process
from kbench_guest.sketches import plain_numbers
from kbench_script.watching.wrapping import in_main_thread, site_name

if TYPE_CHECKING:
    from kbench_guest.protocol import Events
    from kbench_guest.turns import TurnClient
    from kbench_script.program_files import Files

REPORT_SECONDS = 0.5  # calls of one site are reported together, at most this often
REPORTED_AT_ONCE = 10
FIRST_LOSSES = 5  # of a line's steps, that are compared
SHORT_FIT = 0.5  # seconds: turns end between fits that take less, and within others
IN_LOOPS = ("train_on_batch", "test_on_batch", "predict_on_batch", "call", "loop")  # as lines are named


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


class Recorder:
    """All call sites of this process. files: the program's own; number: makes a float of what a framework keeps as a
    loss; most_steps: of a call, if --max-steps cuts them.
    """

    def __init__(
        self,
        events: "Events",
        turns: "TurnClient",
        files: "Files",
        number: Callable[[Any], float],
        most_steps: Optional[int],
    ) -> None:
        self.turns = turns
        self.inside = False  # whether an observed call runs, or nothing is observed any more
        self.in_calls = 0.0  # seconds of all observed calls, but those of a model itself, which are parts of a step
        self.cut = ""  # what --max-steps has cut of the call that runs
        self._events = events
        self._files = files
        self._number = number
        self._most_steps = most_steps or 0
        self._pid = os.getpid()
        self._sites: Dict[str, CallSite] = {}
        self._noted: Set[str] = set()

    def observes(self) -> bool:
        """Whether a call that begins is to be observed: within no other, in the main thread, and in no child."""
        return not self.inside and in_main_thread(self._pid)

    def guarded(self, do: Callable[..., Any], *args: Any) -> Any:
        """What `do` returns. If it raises, that call is not measured, and the program goes on."""
        try:
            return do(*args)
        except Exception as error:
            if self.note("failed", f"not all of its calls could be observed ({type(error).__name__}: {error})"):
                traceback.print_exc()

    def note(self, kind: str, text: str) -> bool:
        """Write a note, the first of its kind; returns whether it was."""
        first = kind not in self._noted
        if first:
            self._noted.add(kind)
            self._events.write("note", text=text)
        return first

    def is_cut(self, text: str) -> None:
        """The next call is a cut one, as the text says; it is not if that is empty."""
        if not self.inside:
            self.cut = text

    def site(self, method: str) -> CallSite:
        """That of the innermost line of the program."""
        name = site_name(method, self._files)
        return self._sites.setdefault(name, CallSite(name))

    def passed_on(self, site: CallSite) -> bool:
        """Let others have their turn if this one is over: at the start of a call. Whether it was."""
        if not (self.turns and site.epochs and self.turns.is_over()):
            return False
        self.flush()
        self.turns.yield_turn()
        return True

    # what a site did

    def describe(self, site: CallSite, task: str, facts: Dict[str, Any]) -> None:
        """Write what its model is. task: "train" or "infer"."""
        site.described = True
        self._events.write("site", site=site.name, task=task, facts=facts)

    def epoch(self, site: CallSite, **values: Any) -> None:
        """Write an epoch of a fit, or some calls."""
        site.epochs += 1
        held = process.resident_mib()
        self._events.write("epoch", epoch=site.epochs, site=site.name, resident_mib=held, **values)

    def fit(self, site: CallSite, **values: Any) -> None:
        """Write a call of fit, whose epochs have been written."""
        self._events.write("fit", site=site.name, resident_mib=process.resident_mib(), **values)

    def returned(self, site: str, **values: Any) -> None:
        """Write what a site's first call returned, or what that led to."""
        self._events.write("returned", site=site, **values)

    def call(
        self, site: CallSite, model: Any, samples: int, seconds: float, scores: Dict[str, float], compiled: Any
    ) -> bool:
        """Keep a call until it is reported; returns whether it is the site's first of this model."""
        first = model not in site.models
        if first:
            self._write_calls(site)
            site.models.add(model)
        if compiled is not None:
            site.compiled = (site.compiled or 0) + compiled
        site.scores = scores
        site.samples += samples
        self.step(site, seconds)
        return first

    def step(self, site: CallSite, seconds: float) -> None:
        """Keep a step of a loop of the program's own, as above."""
        site.turn = site.turn if site.calls else self.turns.turn
        site.calls.append(seconds)
        site.count += 1

    def loss(self, site: CallSite, loss: Any) -> None:
        """Keep what a step has as its loss, if it is one of the first; None if that is not known."""
        if loss is not None and len(site.first_losses) < FIRST_LOSSES:
            site.first_losses.append(loss)

    def report(self, site: CallSite, first: bool = False) -> None:
        """Write the kept calls if it is time, or if this was the first."""
        if first or time.perf_counter() - site.reported > REPORT_SECONDS:
            self._write_calls(site, first)

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
            number, again = self.turns.turn
            one_turn = self.turns and site.turn == self.turns.turn and number > 0
            turn = {"step_seconds": [seconds], "rounds": [[number, 0, 1, again]]} if one_turn else {}
            turn.update(as_scores(site.scores))
            if start == 0 and site.compiled is not None:
                turn["compilations"] = site.compiled
            self.epoch(site, seconds=seconds, calls=len(part), samples=samples, first=int(first), **turn)
        site.calls, site.samples, site.reported, site.compiled = [], 0, time.perf_counter(), None

    def flush(self) -> None:
        """Write what was not reported yet."""
        most = self._most_steps
        sites = list(self._sites.values())
        loops = [one.name for one in sites if one.name.split(",")[0] in IN_LOOPS and 0 < most < one.count]
        if loops:
            self.note("uncut", f"--max-steps cuts no loop of its own: {' and '.join(loops)}")
        for site in sites:
            self._write_calls(site)

    def finish(self) -> Dict[str, int]:
        """The program has ended well, and nothing is observed any more. Returns the number of calls of each site."""
        for site in self._sites.values():
            losses = self.guarded(lambda kept: [self._number(loss) for loss in kept], site.first_losses)
            if losses:
                self.returned(site.name, first_losses=plain_numbers(losses))
        self.inside = True
        return {site.name: site.count for site in self._sites.values()}


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
