"""The clock of a user's program: it stands still while kbench itself works in it, and while others have their turn.

Whatever is timed by it adds up: the calls of models, and all that the program does between them.
"""

import contextlib
import time
from typing import Any, Dict, Iterator

from kbench_guest.turns import held_seconds

_own = [0.0, None]  # seconds of kbench's own work in all; when the work began that is under way


def now() -> float:
    """Seconds of the program so far; only differences count."""
    _, began = _own
    return (time.perf_counter() - held_seconds() if began is None else began) - _own[0]


@contextlib.contextmanager
def excluded_from_time() -> Iterator[None]:
    """A context in which kbench works, and the program waits for it."""
    if _own[1] is not None:  # within such a context
        yield
        return
    _own[1] = time.perf_counter() - held_seconds()
    try:
        yield
    finally:
        _own[0] += time.perf_counter() - held_seconds() - _own[1]
        _own[1] = None


def in_steps(timed: Dict[str, Any], at_once: int, steps: int) -> Dict[str, Any]:
    """What a clock says of an epoch, by its steps: if each call of the model's function takes several steps at once.

    timed: of StepClock.lap. at_once: how many steps a call takes, the last one perhaps fewer; steps: of the epoch.
    """
    seconds = timed.get("step_seconds")
    if at_once == 1 or not seconds:
        return timed
    sizes = [at_once] * (len(seconds) - 1)
    sizes.append(max(1, steps - sum(sizes)))
    found = dict(timed, step_seconds=[round(one / size, 9) for one, size in zip(seconds, sizes) for _ in range(size)])
    if "rounds" in timed:
        ends = [sum(sizes[:number]) for number in range(len(sizes) + 1)]
        found["rounds"] = [[number, ends[first], ends[last], again] for number, first, last, again in timed["rounds"]]
    return found
