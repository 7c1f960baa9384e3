"""Clocks for steps and epochs. They ask the framework for nothing but a hook, and whether its work is done."""

import collections
import threading
import time
import traceback


class EpochClock(object):
    """Seconds from the start of an epoch to the end of its last batch on the device."""

    def __init__(self, framework, model):
        self._framework = framework
        self._model = model

    def begin(self, epoch, logs=None):
        self.start = time.perf_counter()

    def finish(self, epoch, logs=None):
        self._framework.wait(self._model)
        self.end = time.perf_counter()


class StepClock(object):
    """Notes when each step ends, around the model's compiled function and without a hook in the training loop.

    steps: the batches of each epoch. Batch hooks would make Keras 3 wait for the device and read the logs in every
    step. Where a framework returns before the work is done, the training looks at every step which ones are done by
    then, and goes on; when the last has begun, a thread waits for those that are left. (A thread that waits for every
    step is woken at each, and takes 2 % from short steps on two cores.)

    If the framework cannot say when a step ends, that epoch has no step times, and nothing fails.
    """

    def __init__(self, framework, model, kind, steps):
        self._framework = framework
        self._model = model
        self._steps = steps
        self._begin_epoch()
        self._thread = None  # notes the ends of an epoch's last steps
        self._first = True
        self.first_end = None  # when the very first step was done on the device; None if that is not known
        framework.step_hook(model, kind, self._timed)

    def _begin_epoch(self):
        self._ends = []
        self._pending = collections.deque()  # (is_done, wait) of the steps that have not been seen to end
        self._lost = False  # whether a step's end could not be seen

    def _timed(self, function):
        def step(*args):
            self._look()
            outputs = function(*args)
            if self._first:
                self._first = False
                self._try(self._end_of_first, outputs)
            if not self._lost:
                self._try(self._note, outputs)
            return outputs

        return step

    def _end_of_first(self, outputs):
        self._framework.wait(self._model, outputs)
        self.first_end = time.perf_counter()

    def _note(self, outputs):
        pending = self._framework.pending(outputs)
        if pending is None:
            self._ends.append(time.perf_counter())
            return
        self._look()  # the function may have waited for an earlier step
        self._pending.append(pending)
        if len(self._ends) + len(self._pending) == self._steps:
            rest, self._pending = self._pending, collections.deque()
            self._thread = threading.Thread(target=self._try, args=(self._wait, rest))
            self._thread.daemon = True
            self._thread.start()

    def _look(self):
        self._try(self._take_done)

    def _take_done(self):
        while self._pending and self._pending[0][0]():
            self._ends.append(time.perf_counter())
            self._pending.popleft()

    def _wait(self, rest):
        for _, wait in rest:
            wait()
            self._ends.append(time.perf_counter())

    def _try(self, ask, *args):
        """Ask the framework; whatever it raises costs this epoch its step times and nothing else."""
        try:
            ask(*args)
        except Exception as error:
            if not isinstance(error, NotImplementedError):  # which means that nobody knows
                traceback.print_exc()
            self._lost = True
            self._pending.clear()

    def last_end(self):
        """When the epoch's last step was done on the device; None unless as many were seen as it has."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        seen = not self._lost and not self._pending and len(self._ends) == self._steps
        return self._ends[-1] if seen else None

    def lap(self, start, end):
        """Seconds from each step's end to the next one's; the first counts from `start`, the last up to `end`.

        {'step_seconds': list}, or nothing unless as many steps were seen as there were batches.
        """
        seen = self.last_end() is not None
        ends = self._ends
        self._begin_epoch()
        if not seen:
            return {}
        between = [min(one, end) for one in ends[:-1]]  # on a busy machine the clock may come late
        return {"step_seconds": [round(b - a, 7) for a, b in zip([start] + between, between + [end])]}
