"""Clocks for steps and epochs. They need two things of a framework: a hook, and to know whether its work is done."""

import collections
import threading
import time
import traceback
from typing import TYPE_CHECKING, Any, Callable, Deque, Dict, List, Optional, Tuple

from kbench_guest.turns import Settled

if TYPE_CHECKING:
    from kbench_guest.device import Device, Pending
    from kbench_guest.turns import TurnClient

RUN_AHEAD = 2  # how many steps a framework may begin before earlier ones are done, if steps are slow
FEWEST_USUAL = 3  # steps of an epoch that tell how long one takes
WARM_SECONDS = 0.05  # after a pause, while pipelines fill and threads wake up
LONG = 10  # so many times as long a step counts, also after a pause


class EpochClock:
    """Seconds from the start of an epoch to the end of its last batch on the device."""

    def __init__(self, framework: "Device", model: Any) -> None:
        self._framework = framework
        self._model = model

    def begin(self, epoch: int, logs: Any = None) -> None:
        self.start = time.perf_counter()

    def finish(self, epoch: int, logs: Any = None) -> None:
        self._framework.wait(self._model)
        self.end = time.perf_counter()


class StepClock:
    """Notes when each step ends, around the model's compiled function: batch callbacks would make Keras 3 wait for
    the device and read the logs in every step.

    If a framework returns before the work is done, each step looks which earlier ones are done by then; when the
    last has begun, a thread waits for the rest. (A thread that waits for every step costs short steps 2 % on two
    cores.) If the framework cannot say when a step ends, that epoch has no step times, and nothing fails.

    steps: the batches of each epoch; None if that is not known, as in a user's program.
    turns: if the process takes turns with others, it is held between two steps, with no work left on the device.
    look: called before each step of an epoch, the first is 0, with what the function is given.
    """

    def __init__(
        self,
        framework: "Device",
        model: Any,
        kind: str,
        steps: Optional[int],
        turns: Optional["TurnClient"] = None,
        look: Optional[Callable[[int, Tuple[Any, ...]], None]] = None,
    ) -> None:
        self._look = look
        self._framework = framework
        self._model = model
        self._steps = steps
        self._turns = turns
        self._outputs: Any = None  # of the last step
        self.active = True  # whether steps are noted
        self.may_pause = True  # whether a turn may end between two steps
        self.expected = 0  # how many steps an epoch seems to have; 0 if that is not known
        self.hooked = False  # whether the framework has asked for the function that notes steps
        self._begin_epoch()
        self._thread: Optional[threading.Thread] = None  # notes the ends of an epoch's last steps
        self._first = True
        self.first_end: Optional[float] = None  # when the very first step was done on the device; None if unknown
        framework.step_hook(model, kind, self._timed)

    def _begin_epoch(self) -> None:
        self.begun = 0  # steps of this epoch so far
        self._ends: List[float] = []
        self._pending: Deque[Pending] = collections.deque()  # (is_done, wait) of the steps not known to be done
        self._lost = False  # whether the end of a step is unknown
        self._rounds = [self._turns.turn] if self._turns else []
        self._pauses: Dict[int, float] = {}  # number of the epoch's steps before it: seconds

    def _timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        self.hooked = True

        def step(*args: Any) -> Any:
            if not self.active:
                return function(*args)
            self._join()  # there are more steps than expected
            self._try(self._take_done)
            # Not before an epoch's first step, whose time includes what happens once an epoch.
            between = self.may_pause and not self._first and (self.begun or self._usual() == 1)
            if self._turns and between and self._turns.is_over():
                self._pause()
            if self._turns and self._turns.slow and len(self._pending) > RUN_AHEAD:
                self._try(self._pending[0][1])  # or a turn would end dozens of steps late
                self._try(self._take_done)
            if self._look:
                self._look(self.begun, args)
            self.begun += 1
            self._outputs = None
            outputs = function(*args)
            if self._turns:
                self._outputs = outputs
            if self._first:
                self._first = False
                self._try(self._end_of_first, outputs)
            if not self._lost:
                self._try(self._note, outputs)
            return outputs

        return step

    def _pause(self) -> None:
        self._try(self._wait, self._pending)  # first, so that each is noted when it ends
        self._try(self._framework.wait, self._model, self._outputs)
        if self._turns.is_settled():
            raise Settled()
        ended, went_on = self._turns.yield_turn()
        self._pauses[len(self._ends)] = went_on - ended
        self._rounds.append(self._turns.turn)

    def _end_of_first(self, outputs: Any) -> None:
        self._framework.wait(self._model, outputs)
        self.first_end = time.perf_counter()

    def _note(self, outputs: Any) -> None:
        pending = self._framework.pending(outputs)
        if pending is None:
            self._ends.append(time.perf_counter())
            return
        self._try(self._take_done)  # the function may have waited for an earlier step
        self._pending.append(pending)
        if len(self._ends) + len(self._pending) == self._usual():
            rest, self._pending = self._pending, collections.deque()
            self._thread = threading.Thread(target=self._try, args=(self._wait, rest))
            self._thread.daemon = True
            self._thread.start()

    def _take_done(self) -> None:
        while self._pending and self._pending[0][0]():
            self._ends.append(time.perf_counter())
            self._pending.popleft()

    def _wait(self, rest: Deque["Pending"]) -> None:
        while rest:
            _, wait = rest.popleft()
            wait()
            self._ends.append(time.perf_counter())

    def _try(self, ask: Callable[..., Any], *args: Any) -> None:
        """Ask the framework; if it raises, this epoch has no step times, and nothing else fails."""
        try:
            ask(*args)
        except Exception as error:
            if not isinstance(error, NotImplementedError):  # the framework cannot say
                traceback.print_exc()
            self._lost = True
            self._pending.clear()

    def _usual(self) -> int:
        return self.expected if self._steps is None else self._steps

    def _join(self) -> None:
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def last_end(self) -> Optional[float]:
        """When the epoch's last step was done on the device; None unless every step's end is known."""
        self._join()
        if self._steps is None:
            self._try(self._wait, self._pending)
        steps = self.begun if self._steps is None else self._steps
        seen = not self._lost and not self._pending and len(self._ends) == steps > 0
        return self._ends[-1] if seen else None

    def drop(self) -> None:
        """Forget the steps of an epoch that is not reported."""
        self.last_end()
        self._begin_epoch()

    def lap(self, start: float, end: float) -> Dict[str, Any]:
        """The epoch's time, without pauses, and its parts: {"seconds", "step_seconds", "rounds"}.

        seconds: from `start` to `end`. The first steps after a pause are slow: until WARM_SECONDS have passed, each
        is replaced by the median of the epoch's other steps, unless it took less or there are too few of them: the
        only other one may be a last batch that is smaller, for which some backends compile.
        step_seconds: from each step's end to the next one's; the first from `start`, the last to `end`; their sum is
        `seconds`. Left out unless the end of every step is known.
        rounds: [round, first step, step after the last, again] of what counts in each turn, if there were turns.
        """
        seen = self.last_end() is not None
        ends, pauses, rounds = self._ends, self._pauses, self._rounds
        self._begin_epoch()
        if not seen:
            return {"seconds": end - start - sum(pauses.values())}
        between = [min(one, end) for one in ends[:-1]]  # on a busy machine the clock may come late
        steps = [b - a for a, b in zip([start] + between, between + [end])]
        for step, seconds in pauses.items():
            steps[step] -= seconds
        firsts = sorted(set(pauses) | {0})
        # After a pause before its first step, an epoch has no steps in the turn in which it began.
        turns = list(zip(rounds[-len(firsts) :], firsts, firsts[1:] + [len(steps)]))
        counted = [(turn, self._warm(steps, first, last, first in pauses), last) for turn, first, last in turns]
        # Not the very first step, which compiles.
        usual = [seconds for (number, _), first, last in counted if number for seconds in steps[first:last]]
        each = sorted(usual)[len(usual) // 2] if len(usual) >= FEWEST_USUAL else None
        for (_, first, _), (_, warm, _) in zip(turns, counted):
            if first in pauses and each is not None and each * (warm - first) < sum(steps[first:warm]):
                steps[first:warm] = [each] * (warm - first)
        found: Dict[str, Any] = {"seconds": sum(steps) if pauses else end - start}
        found["step_seconds"] = [round(seconds, 7) for seconds in steps]
        if rounds and rounds[-1][0]:
            found["rounds"] = [[turn[0], first, last, turn[1]] for turn, first, last in counted if first < last]
        return found

    def part(self, start: float) -> Dict[str, Any]:
        """What `lap` says of an epoch that was left when its process had timed enough."""
        self._steps = self.begun
        return self.lap(start, self._ends[-1] if self._ends else start)

    @staticmethod
    def _warm(steps: List[float], first: int, last: int, after_pause: bool) -> int:
        """The first of a turn's steps that counts: an epoch's first one holds more than itself."""
        seconds = 0.0
        for step in range(first, last):
            if step > first and (seconds >= WARM_SECONDS or not after_pause):
                return step
            if after_pause and steps[step] > LONG * WARM_SECONDS:  # what a pause costs it is nothing beside it
                return step
            seconds += steps[step]
        return last
