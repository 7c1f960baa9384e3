"""The form in which a model's recurrent layers run, chosen so that they compute what the example says.

Some backends' symbolic loops compute something else (see the backends' files); unrolled they are right. Some
need the batch size in the graph as well. The model is made anew from its configuration; its file stays as it is.
"""

import keras
from keras import backend as K

RECURRENT = ("LSTM", "GRU", "SimpleRNN")


def arrange(model, recurrent, fixed_batch, batch_size):
    """(model, form, fixed): the model in its right form, the form's name, and whether its batch size is fixed.

    recurrent: layer class -> 'unrolled', fixed_batch: layer classes, both as the backend's file declares them.
    form: '' for a model without recurrent layers, otherwise 'symbolic' or 'unrolled', with ', fixed batch'.
    """
    used = set(_class_names(model.get_config()))
    if not used.intersection(RECURRENT):
        return model, "", False
    unroll = used.intersection(recurrent)
    fixed = bool(used.intersection(fixed_batch))
    if not unroll and not fixed:
        return model, "symbolic", False
    config = model.get_config()
    for layer in _layers(config):
        if layer["class_name"] in unroll:
            layer["config"]["unroll"] = True
        if fixed and layer["config"].get("batch_input_shape"):
            layer["config"]["batch_input_shape"] = (batch_size,) + tuple(layer["config"]["batch_input_shape"][1:])
    custom = {"TimeDistributed": FoldedTimeDistributed} if fixed else None
    arranged = type(model).from_config(config, custom_objects=custom)
    form = "unrolled" if unroll else "symbolic"
    return arranged, form + (", fixed batch" if fixed else ""), fixed


class FoldedTimeDistributed(keras.layers.TimeDistributed):
    """TimeDistributed for a known batch size: the steps are folded into the batch by a reshape, and back.

    Keras's own takes a symbolic loop there, which fails on the backend that needs a fixed batch.
    """

    def call(self, inputs, training=None, mask=None):
        shape = K.int_shape(inputs)
        folded = self.layer.call(K.reshape(inputs, (shape[0] * shape[1],) + tuple(shape[2:])))
        return K.reshape(folded, self.compute_output_shape(shape))


def _layers(config):
    """Every dict of a nested configuration that describes a layer."""
    if isinstance(config, dict):
        if "class_name" in config and isinstance(config.get("config"), dict):
            yield config
        values = config.values()
    elif isinstance(config, (list, tuple)):
        values = config
    else:
        return
    for value in values:
        for layer in _layers(value):
            yield layer


def _class_names(config):
    return [layer["class_name"] for layer in _layers(config)]
