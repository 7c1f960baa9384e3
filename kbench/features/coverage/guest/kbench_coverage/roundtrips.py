"""Whether a layer, a loss, an optimizer, ... comes back as it went: of its configuration, a copy, a pickle."""

import copy
import json
import pickle
from typing import Any, Callable, Dict, Iterator, Tuple

import numpy as np

PLAIN = (bool, int, float, str, type(None))
DEPTH = 4  # of what holds what: a Bidirectional an LSTM, that a cell, that an activation's settings
# Not a setting: what a name or a number is made up for, and what Keras remembers of how it was made.
OWN = ("name", "_name", "_path", "_build_shapes_dict", "_auto_config", "_initial_seed", "_tracked")
ROUNDED = 1e-7  # of a number, in float32
MOST = 5  # settings that are named


def of_configuration(module: Any, value: Any) -> Any:
    """The same out of its configuration, as in a file of JSON."""
    return module.deserialize(json.loads(json.dumps(module.serialize(value))))


def copied(value: Any) -> Any:
    return pickle.loads(pickle.dumps(copy.deepcopy(value)))


def changed(make: Callable[[], Any], back: Callable[[Any], Any]) -> str:
    """Which plain values of what `make` gives are others when it comes back, in words; empty if none is."""
    made = make()
    before, after, again = (dict(_settings(one)) for one in (made, back(made), make()))
    kept = [name for name, one in before.items() if name in again and _alike(one, again[name])]
    found = [
        f"{name} {after[name]} instead of {before[name]}"
        for name in kept
        if name in after and not _alike(before[name], after[name])
    ]
    return ", ".join(found[:MOST])


def _settings(value: Any, path: str = "", depth: int = 0) -> Iterator[Tuple[str, Any]]:
    """(path, plain value) of all attributes, also of what it holds of Keras."""
    for name, one in _held(value).items():
        where = path + str(name)
        if name in OWN or depth >= DEPTH:
            continue
        if isinstance(one, PLAIN) or (isinstance(one, (list, tuple)) and _is_plain(one)):
            yield where, one
        elif isinstance(one, np.ndarray):
            yield where, one.tolist()
        elif isinstance(one, dict) or type(one).__module__.partition(".")[0] in ("keras", "tf_keras"):
            yield from _settings(one, where + ".", depth + 1)


def _held(value: Any) -> Dict[str, Any]:
    return value if isinstance(value, dict) else getattr(value, "__dict__", {})


def _is_plain(value: Any) -> bool:
    return all(isinstance(one, PLAIN) or (isinstance(one, (list, tuple)) and _is_plain(one)) for one in value)


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(_alike(*pair) for pair in zip(one, other))
    if isinstance(one, float) and isinstance(other, float) and abs(one - other) <= ROUNDED * abs(one):
        return True
    return bool(one == other or (one != one and other != other))
