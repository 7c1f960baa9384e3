"""A model's layers and which layers feed each, read from its configuration in both generations of Keras."""

import collections
from typing import Any, Dict, List, Optional, Tuple

from kbench_guest.frameworks.layers import class_name

# inbound: names of the layers that feed it; channels_first: whether its output is an image in that layout; uses: how
# often the model calls it
Node = collections.namedtuple("Node", "name class_name config inbound channels_first uses")


def nodes(model: Any, images_channels_first: bool) -> Dict[str, Node]:
    """The nodes of the model's layers, inputs included, each after those that feed it.

    images_channels_first: whether an input of rank 4 is an image in that layout.
    A layer that is used more than once has `inbound` None: its output differs from use to use.
    """
    found: Dict[str, Node] = {}
    before: List[str] = []  # of a Sequential, which has no inbound nodes
    for layer in _layers(model.get_config()):
        own = layer["config"]
        name = own["name"]
        inbound = _inbound(layer["inbound_nodes"]) if "inbound_nodes" in layer else before
        first = _channels_first(layer, inbound, found, images_channels_first)
        call = _call(layer.get("inbound_nodes") or ())
        own = dict(own, call=call) if call else own
        found[name] = Node(name, kind(layer), own, inbound, first, max(1, len(layer.get("inbound_nodes", ()))))
        before = [name]
    return found


def kind(layer: Dict[str, Any]) -> str:
    """The layer's class by Keras's name; a wrapper's with what it wraps: "TimeDistributed(LSTM)"."""
    name = class_name(layer["class_name"])
    inner = layer["config"].get("layer")
    return f"{name}({kind(inner)})" if isinstance(inner, dict) and "class_name" in inner else name


def kind_of(layer: Any) -> str:
    """The same for a layer object."""
    inner = getattr(layer, "layer", getattr(layer, "forward_layer", None))  # of Bidirectional in Keras 3
    own = {} if inner is None else {"layer": {"class_name": inner.__class__.__name__, "config": {}}}
    return kind({"class_name": layer.__class__.__name__, "config": own})


def ends(model: Any) -> Tuple[List[str], List[str]]:
    """(names of the model's input layers in their order, names of the layers whose outputs are the model's)."""
    config = model.get_config()
    names = [layer["config"]["name"] for layer in _layers(config)]
    if "input_layers" not in config:
        return names[:1], names[-1:]
    return _names(config["input_layers"]), _names(config["output_layers"])


def _layers(config: Any) -> List[Dict[str, Any]]:
    return config["layers"] if isinstance(config, dict) else config  # early versions of Keras give a list


def _names(places: Any) -> List[str]:
    """Of ["a", 0, 0], of [["a", 0, 0], ...] and of deeper lists."""
    if places and isinstance(places[0], str):
        return [places[0]]
    return [name for place in places for name in _names(place)]


def _inbound(calls: Any) -> Optional[List[str]]:
    """Names out of Keras 2's [[["a", 0, 0, {}], ...]] or Keras 3's tensors with a `keras_history`."""
    if len(calls) > 1:
        return None
    return [name for call in calls for name in (_histories(call) if isinstance(call, dict) else _of_call(call))]


def _of_call(call: Any) -> List[str]:
    """Names out of one call in Keras 2: of the tensors that come first, and of those that are named."""
    found = [place[0] for place in call]
    for place in call:
        for value in place[3].values() if len(place) > 3 else ():
            if isinstance(value, list) and len(value) == 3 and isinstance(value[0], str):
                found.append(value[0])
    return found


def _call(calls: Any) -> Dict[str, Any]:
    """What the layer's only call was given besides tensors: `use_causal_mask`, or a `mask` that is a tensor."""
    if len(calls) != 1:
        return {}
    places = [calls[0]] if isinstance(calls[0], dict) else [place[3] for place in calls[0] if len(place) > 3]
    given: Dict[str, Any] = {}
    for place in places:
        given.update(place.get("kwargs", place))
    arrays = ("query", "value", "key", "inputs")
    return {name: plain for name, plain in given.items() if plain not in (None, False) and name not in arrays}


def _histories(value: Any) -> List[str]:
    if isinstance(value, dict):
        if "keras_history" in value:
            return [value["keras_history"][0]]
        value = list(value.values())
    return [name for one in value for name in _histories(one)] if isinstance(value, (list, tuple)) else []


def _channels_first(
    layer: Any, inbound: Optional[List[str]], found: Dict[str, Node], images_channels_first: bool
) -> bool:
    config = layer["config"]
    if layer["class_name"] in ("Flatten", "Reshape", "Permute"):  # Keras's Flatten puts channels last by itself
        return False
    if config.get("data_format"):
        return config["data_format"] == "channels_first"
    if not inbound:
        shape = config.get("batch_input_shape") or config.get("batch_shape") or ()
        return images_channels_first and (layer["class_name"] != "InputLayer" or len(shape) == 4)
    return any(name in found and found[name].channels_first for name in inbound)
