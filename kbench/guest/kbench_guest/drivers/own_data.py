"""The data that an example's load_data returns, written once for all backends."""

import os
from typing import TYPE_CHECKING, Any, Dict

import numpy as np

from kbench_guest.protocol import Refused

if TYPE_CHECKING:
    from kbench_guest.protocol import Events

FILE = "own_data.npz"
WANTED = "load_data of the example must return ((x_train, y_train), (x_val, y_val))"
ROLES = ("x", "y", "w")  # inputs, targets, weights of the samples


def run(spec: Dict[str, Any], events: "Events") -> None:
    """Write its arrays beside the events. Raises Refused if they cannot be used."""
    import keras

    from kbench_guest import downloads, frameworks
    from kbench_guest.training import example_file

    frameworks.load().seed(spec["seed"])
    example = example_file.load(spec["example"])
    load = spec["load"]
    downloads.share(keras, load["downloads"], load["files"], lambda text: events.write("note", text=text))
    found = named_arrays(example.load_data())
    np.savez(os.path.join(os.path.dirname(spec["events"]), FILE), **found)


def named_arrays(loaded: Any) -> Dict[str, Any]:
    """{"x_train": array, ...} of ((x, y), (x, y)), each with sample weights as a third if there are any.

    Several inputs or targets, a list or a dict of arrays, are x_train_0, x_train_1, ...; those of a dict in the order
    of their names, and x_names has these. Raises Refused.
    """
    if not isinstance(loaded, (tuple, list)) or len(loaded) != 2:
        raise Refused("example", WANTED)
    found: Dict[str, Any] = {}
    for part, values in zip(("train", "test"), loaded):
        if not isinstance(values, (tuple, list)) or len(values) not in (2, 3):
            raise Refused("example", WANTED + ", or (x, y, sample_weight) in place of (x, y)")
        for role, value in zip(ROLES, values):
            _add(found, role, part, value)
    return found


def _add(found: Dict[str, Any], role: str, part: str, value: Any) -> None:
    if isinstance(value, dict):
        names = sorted(value)
        if any(not isinstance(name, str) for name in names):
            raise Refused("example", "load_data of the example returns a dict whose keys are no names")
        found[role + "_names"] = np.array(names)
        value = [value[name] for name in names]
    several = isinstance(value, (list, tuple)) and all(hasattr(one, "shape") for one in value) and len(value)
    for number, one in enumerate(value if several else [value]):
        name = f"{role}_{part}"
        found[f"{name}_{number}" if several else name] = _array(one, name)


def _array(value: Any, name: str) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype.kind in "USO":
        what = "text" if array.dtype.kind in "US" or isinstance(array.flat[0], str) else "objects of Python"
        raise Refused("example", f"load_data of the example returns {what} as {name}: make it numbers there")
    return array.astype("float32") if array.dtype.kind == "f" else array
