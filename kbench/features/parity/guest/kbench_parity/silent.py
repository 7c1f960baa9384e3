"""A model without dropout and noise, so that its training is the same on every backend."""

import contextlib
from typing import Any

import keras

from kbench_guest.frameworks.layers import every_layer
from kbench_guest.proof.forms import layer_configs, own_layers

NOISE = {
    "Dropout", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D", "AlphaDropout", "GaussianDropout",
    "GaussianNoise",
}  # fmt: skip
OF_NOISE = ("rate", "stddev")  # their settings
WITHIN = ("dropout", "recurrent_dropout", "_dropout")  # of a recurrent layer, of attention
DROPPED = set(OF_NOISE + WITHIN)


def without_dropout(model: Any) -> Any:
    """The model without dropout and noise; rebuilt if it has any."""
    try:
        config = model.get_config()
    except NotImplementedError:  # it is Python code
        silence(model)
        return model
    changed = False
    for layer in layer_configs(config):
        for key in WITHIN + (OF_NOISE if layer["class_name"] in NOISE else ()):
            if layer["config"].get(key):
                layer["config"][key] = 0.0
                changed = True
    if not changed:
        return model
    own = dict(own_layers(model), Dropout=SilentDropout)  # which Keras 3 does not take for its own, and need not
    try:
        return type(model).from_config(config, custom_objects=own)
    except ValueError:  # Keras 3 makes no layer from the code of a lambda
        silence(model)
        return model


def silence(model: Any) -> None:
    """Turn dropout and noise off in place, for whatever is traced from now on."""
    for layer in [model, *every_layer(model)]:
        noisy = NOISE.intersection(one.__name__ for one in type(layer).__mro__)
        for name in WITHIN + (OF_NOISE if noisy else ()):
            if isinstance(getattr(layer, name, None), (int, float)):
                with contextlib.suppress(AttributeError):  # an LSTM's, which asks its cell
                    setattr(layer, name, 0.0)


class SilentDropout(keras.layers.Dropout):
    """Dropout that drops nothing: Keras's own would return its input, which keras-mxnet cannot copy."""

    def call(self, inputs: Any, training: Any = None) -> Any:
        return inputs * 1.0
