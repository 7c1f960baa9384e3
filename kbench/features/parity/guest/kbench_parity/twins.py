"""What a twin computes on one batch: outputs, the loss, and its weights after one step and after ten.

Not of its layers, which kbench cannot read.
"""

import os
from typing import TYPE_CHECKING, Any, Dict, Iterable, List

import numpy as np

from kbench_guest.arrays import perturb_by_one_ulp
from kbench_parity import files

if TYPE_CHECKING:
    from kbench_guest.protocol import Events


def run(
    twin: Any, initial: List[np.ndarray], example: Any, spec: Dict[str, Any], feed: Any, events: "Events"
) -> None:
    """Compute and report; initial: its weights before the first step."""
    folder = os.path.dirname(spec["events"])
    trains = spec["task"] == "train"
    loss = feed.loss_of_first() if trains else None

    def predicted() -> np.ndarray:
        return twin.predict(feed.batch(0).model_inputs(), spec["batch_size"])

    with events.phase("forward"):
        outputs = predicted()
    np.savez(os.path.join(folder, "forward.npz"), outputs=files.at_most(outputs))
    fields = {"loss": loss and loss(outputs), "layers": [], "unknown": "a twin's layers"}
    events.write("parity", stage="forward", file="forward.npz", **fields)
    if not trains:
        return

    def step(batch: Any) -> float:
        return float(twin.train_function(batch.model_inputs(), batch.model_targets())[0])

    def write(stage: str) -> None:
        numbered = enumerate(twin.by_layer(), 1)
        layers: List[Any] = [
            (f"{kind} {number}", kind, list(named.values()), roles(named)) for number, (kind, named) in numbered
        ]
        after = loss and loss(predicted())
        files.write_step(folder, stage, layers, after, example.OPTIMIZER["class_name"], events)

    for stage, start in (("step", initial), ("moved", [perturb_by_one_ulp(value) for value in initial])):
        twin.build(start)
        twin.compile(example.OPTIMIZER, example.LOSS)
        files.take_steps(spec["part"]["steps"], stage, feed.batch, step, write, events)


def roles(names: Iterable[str]) -> List[Dict[str, Any]]:
    """[{"name", "trained"}] of the weights of these names: moving averages are not trained."""
    return [{"name": name, "trained": not name.startswith("moving")} for name in names]
