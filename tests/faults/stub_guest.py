"""A guest without a framework: tells of epochs that took what their cell says, and does what its example says.

Started like the real one, with a spec. Its example is run after the first epoch, with what is defined here. A process
that only times steps takes turns beside the others, as the real one does, and ends.
"""

import json
import os
import sys
from pathlib import Path


def tell(event, **values):
    """Append an event, as the real guest does."""
    os.write(_file, (json.dumps(dict(values, event=event), sort_keys=True) + "\n").encode())


def say(line):
    """Append a line that may be no event at all."""
    os.write(_file, line.encode() + b"\n")


def tell_epoch(number, **changes):
    seconds = (spec["seed"] + 1) * 0.5 + number
    scores = {"loss": 1.0 / number, "accuracy": 0.5, "val_loss": 1.0 / number, "val_accuracy": 0.5}
    tell("epoch", **{"epoch": number, "seconds": seconds, "samples": spec["samples"], **scores, **changes})


def take_turns(number, seconds, **changes):
    """Tell of an epoch whose steps take so long, each in a turn of its own; without turns if this cell runs alone."""
    rounds = []
    for step in range(len(seconds)):
        if turns:
            turns.yield_turn()
            rounds.append([turns.round, step, step + 1, turns.again])
    found = {"rounds": rounds} if rounds else {}
    tell_epoch(number, **{"seconds": sum(seconds), "step_seconds": seconds, **found, **changes})


def train():
    """The epochs of a whole process after its first."""
    for number in range(2, spec["epochs"] + 1):
        tell_epoch(number)


def time_steps():
    """What a short process does: its first turn of them warms up, as does all before them."""
    take_turns(1, [(spec["seed"] + 1) * 0.5 + 2] * (1 + SETTLED_TURNS))


sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "kbench" / "guest"))
from kbench_guest.turns import SETTLED_TURNS, TurnClient  # noqa: E402

spec = json.loads(Path(sys.argv[1]).read_text())
short = bool(spec["timing"])
turns = TurnClient(None if short else spec["epochs"])
events = str(Path(spec["events"]).expanduser())
folder = str(Path(events).parent)
_file = os.open(events, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
tell("start", schema=1, python="3.6.15")
tell("loaded", keras_version="2.99.1", backend_version="1.0", image_data_format=spec["image_data_format"])
if not short:
    turns.ready()
    tell_epoch(1)
exec(compile(Path(spec["example"]).expanduser().read_text(), "example", "exec"))
time_steps() if short else train()
tell("end", seconds=9.0)
