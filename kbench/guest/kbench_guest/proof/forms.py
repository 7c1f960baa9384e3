"""Rebuilds a model from its configuration in the form in which its recurrent layers compute what the example says.

Some backends' symbolic loops compute something else (see the backends' files). Unrolled over time they are right; one
is also right if the hidden state is the last of the loop's states. Some also need a fixed batch size.
"""

from typing import Any, Dict, Iterable, Iterator, Tuple, Type

import keras
from keras import backend as K

RECURRENT = ("LSTM", "GRU", "SimpleRNN")


def arrange(model: Any, recurrent: Dict[str, str], fixed_batch: Iterable[str], batch_size: int) -> Tuple[Any, str]:
    """(model, form): the model in its right form, and the form's name.

    recurrent: layer class -> 'unrolled' or 'hidden state last', fixed_batch: layer classes, both as the backend's
    file declares them.
    form: '' for a model without recurrent layers, otherwise 'symbolic', 'unrolled' or 'symbolic, hidden state last',
    with ', fixed batch' if it has one.
    """
    try:
        config = model.get_config()
    except NotImplementedError:  # it is Python code
        return model, ""
    used = {layer["class_name"] for layer in layer_configs(config)}
    if not used.intersection(RECURRENT):
        return model, ""
    fixed = bool(used.intersection(fixed_batch))
    if not used.intersection(recurrent) and not fixed:
        return model, "symbolic"
    forms, custom = set(), own_layers(model)
    for layer in layer_configs(config):
        form = recurrent.get(layer["class_name"])
        if form == "hidden state last" and not layer["config"].get("return_state"):
            custom["LSTM"] = ReorderedLSTM
            forms.add("symbolic, hidden state last")
        elif form:
            layer["config"]["unroll"] = True
            forms.add("unrolled")
        if fixed and layer["config"].get("batch_input_shape"):
            layer["config"]["batch_input_shape"] = (batch_size,) + tuple(layer["config"]["batch_input_shape"][1:])
    if fixed:
        custom["TimeDistributed"] = FoldedTimeDistributed
    arranged = type(model).from_config(config, custom_objects=custom)
    return arranged, " and ".join(sorted(forms) or ["symbolic"]) + (", fixed batch" if fixed else "")


def own_layers(model: Any) -> Dict[str, Type[Any]]:
    """{class name: class} of the model's layers, to rebuild a model with layers of the example's own."""
    return {layer.__class__.__name__: layer.__class__ for layer in model.layers}


class ReorderedLSTM(keras.layers.LSTM):
    """LSTM with the hidden state as the last of its states, for a loop that returns the last one as its output.

    The arithmetic, the weights and their order are Keras's own.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.cell.__class__ = ReorderedLSTMCell


class ReorderedLSTMCell(keras.layers.LSTMCell):
    """LSTMCell whose states are (c, h) instead of (h, c); both have the same size."""

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
        output, (hidden, carry) = super().call(inputs, (states[1], states[0]), training)
        return output, [carry, hidden]


class FoldedTimeDistributed(keras.layers.TimeDistributed):
    """TimeDistributed for a fixed batch size: reshapes time steps into the batch, and back.

    Keras's own uses a symbolic loop there, which fails on the backend that needs a fixed batch.
    """

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        shape = K.int_shape(inputs)
        folded = self.layer.call(K.reshape(inputs, (shape[0] * shape[1],) + tuple(shape[2:])))
        return K.reshape(folded, self.compute_output_shape(shape))


def layer_configs(config: Any) -> Iterator[Dict[str, Any]]:
    """Every dict of a nested configuration that describes a layer."""
    if isinstance(config, dict):
        if "class_name" in config and isinstance(config.get("config"), dict):
            yield config
        values: Iterable[Any] = config.values()
    elif isinstance(config, (list, tuple)):
        values = config
    else:
        return
    for value in values:
        yield from layer_configs(value)
