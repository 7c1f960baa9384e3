"""What a parity run trains and keeps: large arrays in part, and weights that are moved by the least that can be."""

import os
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple, Union

import numpy as np

if TYPE_CHECKING:
    from kbench_guest.protocol import Events

KEPT_OUTPUTS = 1 << 22  # of the model's outputs
KEPT_WEIGHTS = 1 << 18  # numbers of a weight that are kept, drawn from all of it


def at_most(outputs: Any) -> np.ndarray:
    """All numbers of the outputs, or the first ones."""
    found = np.asarray(outputs, "float32")
    return found if found.size <= KEPT_OUTPUTS else found.reshape(-1)[:KEPT_OUTPUTS]


def drawn_numbers(value: Any, most: int = KEPT_WEIGHTS) -> np.ndarray:
    """All numbers of an array, or many of them, drawn alike on every backend."""
    flat = np.ascontiguousarray(value, "float32").reshape(-1)
    if flat.size <= most:
        return flat
    return flat[np.random.RandomState(0).randint(0, flat.size, most)]


def take_steps(
    steps: Sequence[int],
    stage: str,
    batch: Callable[[int], Any],
    train: Callable[..., Any],
    write: Callable[[str], None],
    events: Union["Events", "OfSite"],
) -> None:
    """Train, each step on the next batch, and have `write(stage and number)` keep what is there after some `steps`.

    stage: "step", or "moved" if the weights were moved before. batch(number): a batch, the first is 0. train(batch)
    returns what the backend reports.
    """
    for step in range(1, max(steps) + 1):
        reported = train(batch(step - 1))
        if step == 1:
            name = "reported" if stage == "step" else "moved_reported"
            events.write("parity", stage=name, loss=float(np.ravel(reported)[0]))
        if step in steps:
            write(f"{stage}_{step}")


def write_step(
    folder: str,
    stage: str,
    layers: Iterable[Tuple[str, str, List[Any], List[Dict[str, Any]]]],
    loss: Optional[float],
    optimizer: str,
    events: Union["Events", "OfSite"],
) -> None:
    """An .npz file with the weights of [(name, class, weights, what each is)], and its event with the first batch's
    loss. What a weight is: {"name", "trained"}, as far as it is known.
    """
    kept: Dict[str, Any] = {}
    described: List[Dict[str, Any]] = []
    for name, kind, values, roles in layers:
        about: Dict[str, Any] = {"name": name, "class": kind, "weights": []}
        for value, role in zip(values, roles):
            of_weight = f"weight_{len(kept):03}"
            kept[of_weight] = drawn_numbers(value)
            about["weights"].append(dict(role, values=of_weight, size=int(value.size)))
        described.append(about)
    np.savez(os.path.join(folder, stage + ".npz"), **kept)
    events.write("parity", stage=stage, file=stage + ".npz", loss=loss, layers=described, optimizer=optimizer)


class OfSite:
    """Events whose parity is that of a line of the program."""

    def __init__(self, events: "Events", more: Dict[str, Any]) -> None:
        self._events = events
        self._more = more
        self.phase = events.phase

    def write(self, event: str, **values: Any) -> None:
        self._events.write(event, **(dict(values, **self._more) if event == "parity" else values))
