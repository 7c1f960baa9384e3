"""What the first backend of a program's parity keeps for the others: batches, weights, and what its model is."""

import json
import os
from typing import Any, Dict, Iterator, List, Optional, Tuple

import numpy as np

from kbench_guest import arrays
from kbench_guest.proof import weights
from kbench_parity import silent


def names(model: Any, x: Any) -> Optional[List[str]]:
    """The names of inputs in the model's order, or else in alphabetical order; None if they have none."""
    if not isinstance(x, dict):
        return None
    found = [str(one.name).split(":")[0] for one in getattr(model, "inputs", None) or ()]
    return found if set(found) == set(x) else sorted(x)


def path_in(spec: Dict[str, Any], number: str = "") -> str:
    """The file that all backends of a run share; number: of a line of the program."""
    folder = os.path.expanduser(spec["part"]["saved"])
    os.makedirs(folder, exist_ok=True)
    return os.path.join(folder, f"captured{number}.npz")


def write(path: str, description: Dict[str, Any], its_weights: List[Any], batches: List[Any]) -> None:
    """Keep what the other backends are given: JSON with the number of an array in each array's place."""
    kept = []

    def keep(array: Any) -> int:
        kept.append(array)
        return len(kept) - 1

    description = dict(description, batches=arrays.mapped(keep, batches))
    description["weights"] = {
        f"{name} {position}": keep(value)
        for name, values in weights.by_layer(its_weights)
        for position, value in enumerate(values)
    }
    with open(path + ".part", "wb") as file:
        np.savez(file, *kept, known=np.array(json.dumps(description)))
    os.replace(path + ".part", path)


def read(path: str) -> Dict[str, Any]:
    """{backend, facts, batches, weights: {layer and place: array}} that another backend kept."""
    with np.load(path, allow_pickle=False) as file:
        found = json.loads(str(file["known"]))
        for part in ("batches", "weights"):
            found[part] = arrays.mapped(lambda number: file[f"arr_{number}"], found[part])
    return found


def differences(own: Dict[str, Any], others: Dict[str, Any], backend: str) -> List[str]:
    """[what differs between two descriptions of a model, in words], apart from dropout, which is off."""
    found = []
    optimizers = own.get("optimizer") or {}, others.get("optimizer") or {}
    for name, mine, theirs in _unequal(*optimizers):
        found.append(f"its optimizer's {name} comes to {mine}, on {backend} to {theirs}")
    for mine, theirs in zip(own.get("layers") or (), others.get("layers") or ()):
        for name, own_value, other_value in _unequal(dict(_settings(mine[1])), dict(_settings(theirs[1]))):
            found.append(f"its {mine[0]} has {name} {own_value}, on {backend} {other_value}")
    return list(dict.fromkeys(found))


def _unequal(own: Dict[str, Any], other: Dict[str, Any]) -> Iterator[Tuple[str, Any, Any]]:
    """(name, own value, the other value) of the settings that differ."""
    for name in sorted((set(own) | set(other)) - silent.DROPPED):
        if own.get(name, "unset") != other.get(name, "unset"):
            yield name, own.get(name, "unset"), other.get(name, "unset")


def _settings(value: Any) -> Iterator[Tuple[str, Any]]:
    """(name, value) of a layer's settings, and of what it wraps."""
    if isinstance(value, dict):
        for name, one in value.items():
            if not isinstance(one, (dict, list, tuple)):
                yield name, one
            yield from _settings(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _settings(one)
