"""The outputs for the first batch, or all: numbers of each, drawn alike on every backend, and its scale."""

from typing import Any, Dict, List

import numpy as np

from kbench_guest import arrays
from kbench_guest.sketches import drawn


def sampled(model: Any, example: Any, spec: Dict[str, Any], outputs: Any) -> Dict[str, Any]:
    """{outputs: a list of numbers for each of the model's outputs, scales: the largest number of each}.

    Outputs are of one batch or more, of which spec["batch_size"] rows count; images are turned to channels_last.
    """
    found, scales = [], []
    for one, channels_first in zip(arrays.leaves(outputs), _channels_first(model, example, spec, outputs)):
        one = np.asarray(one[: spec["batch_size"]])
        numbers, scale = drawn(np.moveaxis(one, 1, -1) if channels_first and one.ndim > 2 else one)
        found.append(numbers)
        scales.append(scale)
    return {"outputs": found, "scales": scales}


def _channels_first(model: Any, example: Any, spec: Dict[str, Any], outputs: Any) -> List[bool]:
    """For each output whether it is an image in that layout."""
    images = getattr(example, "INPUT", "sequence") == "image" and spec["image_data_format"] == "channels_first"
    try:
        from kbench_guest.frameworks import graph

        nodes, names = graph.nodes(model, images), graph.ends(model)[1]
        found = [nodes[name].channels_first for name in names]
    except Exception:  # it is no graph of layers
        found = []
    leaves = arrays.leaves(outputs)
    return found if len(found) == len(leaves) else [images and np.ndim(one) > 3 for one in leaves]
