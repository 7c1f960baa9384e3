"""A model that was exported in the format of its backend's own framework, loaded again and run without Keras."""

import importlib
import os
from typing import Any, List, Sequence

import numpy as np

FORMATS = {"openvino": "model.xml", "tensorflow": "model", "torch": "model.pt2"}


def can_export() -> bool:
    """Whether the backend has a format for which its environment needs nothing more."""
    import keras

    return hasattr(keras, "ops") and keras.backend.backend() in FORMATS


def outputs(model: Any, given: Sequence[np.ndarray], folder: str) -> List[np.ndarray]:
    """What the model gives for these arrays when it comes back from a file in the folder."""
    import keras

    backend = keras.backend.backend()
    path = os.path.join(folder, FORMATS[backend])
    if backend == "tensorflow":
        import tensorflow

        model.export(path, verbose=False)
        loaded = tensorflow.saved_model.load(path)
        return [np.asarray(one) for one in tensorflow.nest.flatten(loaded.serve(list(given)))]
    if backend == "torch":
        import torch

        like = [keras.InputSpec(shape=one.shape, dtype=str(one.dtype)) for one in given]  # else of one sample
        model.export(path, format="torch", input_signature=[like], verbose=False)
        found = torch.export.load(path).module()([torch.from_numpy(one) for one in given])
        return [one.detach().numpy() for one in torch.utils._pytree.tree_leaves(found)]
    openvino = importlib.import_module("openvino")
    model.export(path, format="openvino", verbose=False)
    found = openvino.compile_model(openvino.Core().read_model(path), "CPU")(list(given))
    return [found[number] for number in range(len(found))]
