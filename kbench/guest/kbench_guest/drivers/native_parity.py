"""What a twin computes on one batch: outputs, the loss, and its weights after one step and after ten.

Not of its layers, which kbench cannot read.
"""

import os

import numpy as np

from kbench_guest import scores
from kbench_guest.drivers.parity_files import at_most, drawn_numbers, moved


def run(twin, initial, example, spec, feed, events):
    """Compute and report; initial: its weights before the first step."""
    folder = os.path.dirname(spec["events"])
    trains = spec["task"] == "train"
    loss = scores.LOSSES.get(getattr(example, "LOSS", None)) if trains else None

    def predicted():
        return twin.predict(feed.batch(0).model_inputs(), spec["batch_size"])

    with events.phase("forward"):
        outputs = predicted()
    np.savez(os.path.join(folder, "forward.npz"), outputs=at_most(outputs))
    events.write(
        "parity",
        stage="forward",
        file="forward.npz",
        samples=len(outputs),
        loss=loss and loss(outputs, feed.labels(0)),
        layers=[],
        unknown="a twin's layers",
    )
    if not trains:
        return
    for stage, start in (("step", initial), ("moved", [moved(value) for value in initial])):
        twin.build(start)
        twin.compile(example.OPTIMIZER)
        for step in range(1, max(spec["parity"]["steps"]) + 1):
            batch = feed.batch(step - 1)
            reported = twin.train_function(batch.model_inputs(), batch.model_targets())
            if step == 1:
                name = "reported" if stage == "step" else "moved_reported"
                events.write("parity", stage=name, loss=float(reported[0]))
            if step in spec["parity"]["steps"]:
                write_step(twin, "%s_%d" % (stage, step), folder, example, events, loss(predicted(), feed.labels(0)))


def write_step(twin, stage, folder, example, events, loss):
    """An .npz file with the weights, and its event with the loss that the first batch has now."""
    kept, layers = {}, []
    for number, (kind, values) in enumerate(twin.by_layer(), 1):
        about = {"name": "%s %d" % (kind, number), "class": kind, "weights": []}
        for value in values:
            name = "weight_%03d" % len(kept)
            kept[name] = drawn_numbers(value)
            about["weights"].append({"values": name, "size": int(value.size)})
        layers.append(about)
    np.savez(os.path.join(folder, stage + ".npz"), **kept)
    optimizer = example.OPTIMIZER["class_name"]
    events.write("parity", stage=stage, file=stage + ".npz", loss=loss, layers=layers, optimizer=optimizer)
