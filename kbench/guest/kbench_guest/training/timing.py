"""Times some steps of a training or inference, and does nothing else: no prediction or trial step before them, no
scores, no proof. What is timed is then the program alone.

It takes turns with other processes, and ends as soon as its time is settled. It begins with the weights that a whole
training of the same program ended with: some programs are several times as slow in their first steps (of babi_rnn ten
on CNTK, Theano and MXNet), which are no part of the steady time.
"""

import itertools
import os
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional

import numpy as np

from kbench_guest import arrays, process
from kbench_guest.clock import EpochClock, StepClock
from kbench_guest.training import example_file, generation
from kbench_guest.training.callbacks import Callbacks
from kbench_guest.turns import Settled, TurnClient

if TYPE_CHECKING:
    from kbench_guest.arrays import Part
    from kbench_guest.frameworks.interface import Framework
    from kbench_guest.protocol import Events

MOST_NUMBERS = 50 * 10**6  # of all weights that are kept for other processes: 200 MB


def keep(path: str, weights: Callable[[], List[Any]]) -> None:
    """Write the weights at the end of a training, if they are asked for by a path, and not too many."""
    if not path:
        return
    found = weights()
    if sum(value.size for value in found) <= MOST_NUMBERS:
        with open(path + ".part", "wb") as file:
            np.savez(file, *found)
        os.replace(path + ".part", path)


def kept(path: str) -> Optional[List[np.ndarray]]:
    """The weights of `keep`; None if there are none."""
    if not path or not os.path.exists(path):
        return None
    with np.load(path) as file:
        return [file[f"arr_{number}"] for number in range(len(file.files))]


def measure(
    framework: "Framework", model: Any, example: Any, spec: Dict[str, Any], feed: Any, part: "Part", events: "Events"
) -> None:
    """Train or run the model until the time of its steps is settled.

    A training without kept weights does its first epoch untimed.
    """
    once = _inferring(model, example, spec, part) if spec["task"] == "infer" else None
    steps = framework.calls(example, feed.steps)
    kind = "train"
    if once is not None:
        used = part.samples // spec["batch_size"]
        steps, kind = used * (getattr(example, "GENERATE", 0) or 1), "predict"
    turns = TurnClient(None)
    clock = StepClock(framework, model, kind, steps, turns)
    own = getattr(example, "callbacks", None) if once is None else None
    callbacks = Callbacks(own() if callable(own) else (), model)
    clock.active = once is not None or (os.path.exists(spec.get("trained", "")))
    for epoch in itertools.count(1):
        timer = EpochClock(framework, model)
        timer.start = time.perf_counter()
        try:
            if once is not None:
                once()
                timer.end = time.perf_counter()
            else:
                given = dict(feed.of_epoch(epoch), **example_file.class_weights(example))
                callbacks.begin(epoch)
                framework.train_epoch(model, epoch, given, timer, callbacks.made)
        except Settled:
            timed, settled = clock.part(timer.start), True
        else:
            timed, settled = clock.lap(timer.start, timer.end), False
            if not clock.active:
                clock.active = True
                continue
        if timed.get("step_seconds"):
            samples = len(timed["step_seconds"]) * spec["batch_size"]
            events.write("epoch", epoch=epoch, samples=samples, resident_mib=process.resident_mib(), **timed)
        # Without turns the host has gone, but that of several processes which has them is the first.
        if settled or not clock.hooked or not (turns or framework.workers.rank):
            return


def _inferring(model: Any, example: Any, spec: Dict[str, Any], part: "Part") -> Callable[[], Any]:
    """What runs the model over all samples once."""
    tokens, size = getattr(example, "GENERATE", 0), spec["batch_size"]
    buffer = arrays.Buffer(part, part.samples // size * size)
    buffer.fill(range(part.samples // size * size))

    def once() -> Any:
        if tokens:
            return generation.write(model, buffer.model_inputs(), tokens, size)
        return model.predict(buffer.model_inputs(), batch_size=size, verbose=0)

    return once
