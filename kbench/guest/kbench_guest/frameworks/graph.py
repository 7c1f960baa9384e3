"""A model's layers and what each takes in, read from its configuration, in the words of both generations of Keras."""

import collections

from kbench_guest.frameworks.layers import class_name

# inbound: names of the layers whose outputs it takes; channels_first: whether its output is a picture in that layout
Node = collections.namedtuple("Node", "name class_name config inbound channels_first")


def nodes(model, pictures_channels_first):
    """The nodes of the model's layers, inputs included, each after those that it takes in.

    pictures_channels_first: whether an input of rank 4 is a picture in that layout.
    A layer that is used more than once has `inbound` None: what it computes depends on which use is meant.
    """
    config = model.get_config()
    layers = config["layers"] if isinstance(config, dict) else config
    found = {}
    before = []  # of a Sequential, which has no inbound nodes
    for layer in layers:
        own = layer["config"]
        name = own["name"]
        inbound = _inbound(layer["inbound_nodes"]) if "inbound_nodes" in layer else before
        first = _channels_first(layer, inbound, found, pictures_channels_first)
        found[name] = Node(name, kind(layer), own, inbound, first)
        before = [name]
    return found


def uses(model):
    """{layer's name: how often the model calls it}; a Sequential calls each entry of its list once."""
    config = model.get_config()
    layers = config["layers"] if isinstance(config, dict) else config
    return {layer["config"]["name"]: max(1, len(layer.get("inbound_nodes", ()))) for layer in layers}


def kind(layer):
    """The layer's class as people know it: forms of kbench's own by Keras's name, wrappers with what they wrap."""
    name = class_name(layer["class_name"])
    inner = layer["config"].get("layer")
    return "%s(%s)" % (name, kind(inner)) if isinstance(inner, dict) and "class_name" in inner else name


def kind_of(layer):
    """The same for a layer itself."""
    inner = getattr(layer, "layer", getattr(layer, "forward_layer", None))  # of Bidirectional in Keras 3
    own = {} if inner is None else {"layer": {"class_name": inner.__class__.__name__, "config": {}}}
    return kind({"class_name": layer.__class__.__name__, "config": own})


def ends(model):
    """(names of the layers that take the model's inputs, in their order; of those that give its outputs)."""
    config = model.get_config()
    layers = config["layers"] if isinstance(config, dict) else config
    names = [layer["config"]["name"] for layer in layers]
    if "input_layers" not in config:
        return names[:1], names[-1:]
    return _names(config["input_layers"]), _names(config["output_layers"])


def _names(places):
    """Of ["a", 0, 0], of [["a", 0, 0], ...] and of deeper lists."""
    if places and isinstance(places[0], str):
        return [places[0]]
    return [name for place in places for name in _names(place)]


def _inbound(calls):
    """Names out of Keras 2's [[["a", 0, 0, {}], ...]] or Keras 3's tensors with a `keras_history`."""
    if len(calls) > 1:
        return None
    names = []
    for call in calls:
        if isinstance(call, dict):
            names.extend(_histories(call))
        else:
            names.extend(tensor[0] for tensor in call)
    return names


def _histories(value):
    if isinstance(value, dict):
        if "keras_history" in value:
            yield value["keras_history"][0]
            return
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for entry in value:
            for name in _histories(entry):
                yield name


def _channels_first(layer, inbound, found, pictures_channels_first):
    config = layer["config"]
    if layer["class_name"] in ("Flatten", "Reshape", "Permute"):  # Keras's Flatten puts channels last by itself
        return False
    if config.get("data_format"):
        return config["data_format"] == "channels_first"
    if not inbound:
        shape = config.get("batch_input_shape") or config.get("batch_shape") or ()
        return pictures_channels_first and (layer["class_name"] != "InputLayer" or len(shape) == 4)
    return any(name in found and found[name].channels_first for name in inbound)
